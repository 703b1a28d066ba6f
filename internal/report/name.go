package report

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Root is what the names of all report objects begin with. A selection that reaches below it, in the report's bucket, would
// delete the audit trail.
const Root = "custody/"

// Kind is what the lines of an object say.
type Kind string

const (
	// KindSelection is an object that was written before the request: the decision about each version.
	KindSelection Kind = "selection"
	// KindOutcome is an object that was written after it: what S3 answered.
	KindOutcome Kind = "outcome"
)

// Name is what the name of an object says: which run, and which try of which batch.
type Name struct {
	Kind        Kind   `json:"kind"`
	CommandType string `json:"command_type"`
	RunKey      string `json:"run_key"`
	Slice       int    `json:"slice"` // the run's slice number, as acquire counted it
	LeaseToken  string `json:"lease_token"`
	Scan        int    `json:"scan"`
	Batch       int    `json:"batch"` // within the slice
	Try         int    `json:"try"`   // within the batch; each is decided anew, and may be sent
}

// Digits of the numbers in a name. They are padded to this many, so that names sort as the numbers do.
const (
	sliceDigits = 6
	scanDigits  = 4
	batchDigits = 6
	tryDigits   = 2
)

// Longest parts of a name, in bytes. The longest run key of a known command is 163: "listing-", an id of 128, ":expiry-" and
// 19 digits. S3 allows a name 1,024.
const (
	maxTypeLength  = 64
	maxKeyLength   = 256
	maxTokenLength = 128
)

const suffix = ".jsonl.gz"

// ErrForeign is an object below a run's prefix that Custody did not name.
var ErrForeign = errors.New("not the name of a report object")

// Prefix is what the names of a run's objects begin with; no other run's do.
func Prefix(commandType, runKey string) (string, error) {
	if err := checkWord("command_type", commandType, maxTypeLength); err != nil {
		return "", err
	}
	if err := checkWord("run_key", runKey, maxKeyLength); err != nil {
		return "", err
	}
	return Root + commandType + "/" + runKey + "/", nil
}

// Object is the name of the object. It is an error when a part cannot stand in a name.
func (n Name) Object() (string, error) {
	try, err := n.tryName()
	if err != nil {
		return "", err
	}
	if n.Kind != KindSelection && n.Kind != KindOutcome {
		return "", fmt.Errorf("kind %q must be %s or %s", n.Kind, KindSelection, KindOutcome)
	}
	return try + "-" + string(n.Kind) + suffix, nil
}

// tryName is what the names of a try's two objects share.
func (n Name) tryName() (string, error) {
	prefix, err := Prefix(n.CommandType, n.RunKey)
	if err != nil {
		return "", err
	}
	if err := checkWord("lease_token", n.LeaseToken, maxTokenLength); err != nil {
		return "", err
	}
	var padded [4]string
	for i, part := range []struct {
		field         string
		value, digits int
	}{
		{"slice", n.Slice, sliceDigits}, {"scan", n.Scan, scanDigits}, {"batch", n.Batch, batchDigits}, {"try", n.Try, tryDigits},
	} {
		padded[i] = fmt.Sprintf("%0*d", part.digits, part.value)
		if part.value < 0 || len(padded[i]) > part.digits {
			return "", fmt.Errorf("%s %d must be 0 or more and have at most %d digits", part.field, part.value, part.digits)
		}
	}
	return prefix + padded[0] + "-" + n.LeaseToken + "/" + padded[1] + "-" + padded[2] + "-" + padded[3], nil
}

// ParseName reads the name of an object. Only what Object makes is one: the error wraps ErrForeign for any other.
func ParseName(object string) (Name, error) {
	n, ok := splitName(object)
	if ok {
		again, err := n.Object()
		ok = err == nil && again == object
	}
	if !ok {
		return Name{}, fmt.Errorf("%q: %w", object, ErrForeign)
	}
	return n, nil
}

func splitName(object string) (n Name, ok bool) {
	parts := strings.Split(object, "/")
	if len(parts) != 5 {
		return n, false
	}
	slice, token, hasToken := strings.Cut(parts[3], "-")
	file := strings.Split(strings.TrimSuffix(parts[4], suffix), "-")
	if !hasToken || len(file) != 4 {
		return n, false
	}
	n = Name{Kind: Kind(file[3]), CommandType: parts[1], RunKey: parts[2], LeaseToken: token}
	for _, number := range []struct {
		into *int
		text string
	}{{&n.Slice, slice}, {&n.Scan, file[0]}, {&n.Batch, file[1]}, {&n.Try, file[2]}} {
		value, err := strconv.Atoi(number.text)
		if err != nil {
			return n, false
		}
		*number.into = value
	}
	return n, true
}

// checkWord holds one part of a name to the alphabet of ids. It has no '/', and its first character keeps "." and ".." out,
// which some tools take for folders.
func checkWord(field, word string, longest int) error {
	ok := word != "" && len(word) <= longest && alphanumeric(word[0])
	for i := range len(word) {
		ok = ok && (alphanumeric(word[i]) || strings.IndexByte("._:-", word[i]) >= 0)
	}
	if !ok {
		return fmt.Errorf("%s %q must be 1 to %d characters of A-Z a-z 0-9 . _ : -, starting with a letter or digit", field, word, longest)
	}
	return nil
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
