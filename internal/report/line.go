package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"
)

// Decision is what the rules said about a version.
type Decision string

const (
	// DecisionDelete is a version that is selected: it goes with the next request, or would if this were no dry run.
	DecisionDelete Decision = "delete"
	// DecisionKeep is a version that stays, for a reason.
	DecisionKeep Decision = "keep"
)

// Selection is one line of a selection object.
type Selection struct {
	Key          string    `json:"-"` // exact bytes; see keyFields for the JSON
	VersionID    string    `json:"version_id"`
	LastModified time.Time `json:"last_modified,omitzero"` // zero where the listing named none
	Size         int64     `json:"size"`                   // bytes; 0 for a delete marker
	DeleteMarker bool      `json:"delete_marker"`
	Decision     Decision  `json:"decision"`
	Reason       string    `json:"reason,omitempty"` // why it is kept: a reason of package retention
	At           time.Time `json:"at"`               // when it was decided, to the microsecond
}

// Fate is what became of a selected version.
type Fate string

// Fates that an outcome line may have.
const (
	// FateDeleted is confirmed: the version is gone.
	FateDeleted Fate = "deleted"
	// FateAbsent is a version that was gone before.
	FateAbsent Fate = "absent"
	// FateLocked is a refusal that the version's Object Lock explains: it stays.
	FateLocked Fate = "locked"
	// FateRefused is any other refusal, with S3's code. CodeNotMentioned means that the answer was silent.
	FateRefused Fate = "refused"
	// FateTransient is a version that S3 asked to send again, or that was not sent in time.
	FateTransient Fate = "transient"
	// FateUnanswered is a request without an answer: it may have been done.
	FateUnanswered Fate = "unanswered"
)

// Fates that are concluded and never written.
const (
	// FateUnknown is a selection without an outcome: the process died in the middle, or the outcome could not be written.
	FateUnknown Fate = "unknown"
	// FateDryRun is a selection of a dry run: nothing was sent.
	FateDryRun Fate = "dry_run"
)

// CodeNotMentioned is the code of a version that S3's answer did not mention; package s3versions writes it.
const CodeNotMentioned = "NotMentioned"

func writtenFates() []Fate {
	return []Fate{FateDeleted, FateAbsent, FateLocked, FateRefused, FateTransient, FateUnanswered}
}

// Outcome is one line of an outcome object.
type Outcome struct {
	Key       string    `json:"-"` // exact bytes; see keyFields for the JSON
	VersionID string    `json:"version_id"`
	Fate      Fate      `json:"fate"`
	Code      string    `json:"code,omitempty"` // S3's error code, where it gave one
	At        time.Time `json:"at"`             // when it was known, to the microsecond
}

// keyFields is how a key stands in JSON: as text where it is valid UTF-8, else as base64 of its bytes under another name. JSON
// cannot carry other bytes, and a key that was made to fit would name another object.
type keyFields struct {
	Key       string `json:"key,omitempty"`
	KeyBase64 []byte `json:"key_base64,omitempty"`
}

func fieldsOf(key string) keyFields {
	if utf8.ValidString(key) {
		return keyFields{Key: key}
	}
	return keyFields{KeyBase64: []byte(key)}
}

// exact is the key; "" where there is neither.
func (f keyFields) exact() (string, error) {
	switch {
	case f.Key == "":
		return string(f.KeyBase64), nil
	case len(f.KeyBase64) > 0:
		return "", errors.New("key and key_base64 must not both be there")
	}
	return f.Key, nil
}

// The lines as JSON has them. The plain types leave the exported ones' MarshalJSON behind, which would take over the whole.
type (
	plainSelection Selection
	plainOutcome   Outcome

	selectionLine struct {
		keyFields
		plainSelection
	}
	outcomeLine struct {
		keyFields
		plainOutcome
	}
)

// MarshalJSON is the line as the object has it.
func (s Selection) MarshalJSON() ([]byte, error) { return json.Marshal(s.line()) }

// MarshalJSON is the line as the object has it.
func (o Outcome) MarshalJSON() ([]byte, error) { return json.Marshal(o.line()) }

func (s Selection) line() selectionLine {
	s.LastModified, s.At = stamp(s.LastModified), stamp(s.At)
	return selectionLine{fieldsOf(s.Key), plainSelection(s)}
}

func (o Outcome) line() outcomeLine {
	o.At = stamp(o.At)
	return outcomeLine{fieldsOf(o.Key), plainOutcome(o)}
}

// stamp cuts a time to what lines carry. Microseconds are what int64 holds for any year, which keeps History small.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func readSelection(text []byte) (Selection, error) {
	var line selectionLine
	if err := json.Unmarshal(text, &line); err != nil {
		return Selection{}, err
	}
	key, err := line.exact()
	if err != nil {
		return Selection{}, err
	}
	s := Selection(line.plainSelection)
	s.Key = key
	s.LastModified, s.At = stamp(s.LastModified), stamp(s.At)
	return s, s.check()
}

func readOutcome(text []byte) (Outcome, error) {
	var line outcomeLine
	if err := json.Unmarshal(text, &line); err != nil {
		return Outcome{}, err
	}
	key, err := line.exact()
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome(line.plainOutcome)
	o.Key = key
	o.At = stamp(o.At)
	return o, o.check()
}

// check names the first field that cannot be right. What is selected has a version id: nothing is deleted without one.
func (s Selection) check() error {
	switch {
	case s.Key == "":
		return errors.New("key must not be empty")
	case !utf8.ValidString(s.VersionID):
		return errors.New("version_id must be UTF-8")
	case s.Decision != DecisionDelete && s.Decision != DecisionKeep:
		return fmt.Errorf("decision %q must be %s or %s", s.Decision, DecisionDelete, DecisionKeep)
	case s.Decision == DecisionDelete && s.VersionID == "":
		return errors.New("version_id of a selected version must not be empty")
	case s.Decision == DecisionKeep && s.Reason == "":
		return errors.New("reason of a kept version must not be empty")
	case s.Decision == DecisionDelete && s.Reason != "":
		return fmt.Errorf("reason %q must be empty: the version is selected", s.Reason)
	case s.At.IsZero():
		return errors.New("at must be a time")
	}
	return nil
}

func (o Outcome) check() error {
	switch {
	case o.Key == "":
		return errors.New("key must not be empty")
	case o.VersionID == "" || !utf8.ValidString(o.VersionID):
		return errors.New("version_id must be UTF-8 and not empty")
	case !slices.Contains(writtenFates(), o.Fate):
		return fmt.Errorf("fate %q must be one of %q", o.Fate, writtenFates())
	case o.At.IsZero():
		return errors.New("at must be a time")
	}
	return nil
}
