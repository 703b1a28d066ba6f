package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"custody/internal/signature"
)

// Error is an authentic payload that is no valid command. Its text names each field and what is allowed, and never what was
// sent: it goes to the log, and a body does not.
type Error struct {
	Problems []Problem
}

// Problem is one thing that is wrong.
type Problem struct {
	Field   string // "" for the payload as a whole
	Allowed string
}

func (p Problem) String() string {
	if p.Field == "" {
		return "payload must be " + p.Allowed
	}
	return p.Field + " must be " + p.Allowed
}

func (e *Error) Error() string {
	words := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		words[i] = p.String()
	}
	return strings.Join(words, "; ")
}

func broken(allowed string) *Error { return &Error{Problems: []Problem{{Allowed: allowed}}} }

// fields are the members of a payload's object. The readers below leave in problems what is wrong, so that one answer
// names all of it.
type fields struct {
	members  map[string]jsontext.Value
	problems []Problem
}

// parse reads one JSON object, strictly: two readers of one payload must never see two commands. jsontext refuses duplicate
// names at any depth, invalid UTF-8 and lone surrogates; names that differ only in case and trailing data are refused here.
func parse(body []byte) (*fields, error) {
	if !startsObject(body) {
		return nil, broken("a JSON object")
	}
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	object, err := dec.ReadValue()
	if err != nil {
		return nil, broken(syntaxRule(err))
	}
	object = object.Clone()
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, broken(fmt.Sprintf("one JSON object and nothing behind it, but something follows byte %d", len(object)))
	}
	if err := refuseCaseTwins(object); err != nil {
		return nil, err
	}
	f := &fields{members: map[string]jsontext.Value{}}
	if err := json.Unmarshal(object, &f.members); err != nil {
		return nil, broken(syntaxRule(err))
	}
	return f, nil
}

func startsObject(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{"))
}

// syntaxRule tells what was broken without the library's own text, which quotes the payload.
func syntaxRule(err error) string {
	rule := "one JSON object in valid UTF-8"
	if errors.Is(err, jsontext.ErrDuplicateName) {
		rule = "a JSON object without duplicate names"
	}
	if at, ok := errors.AsType[*jsontext.SyntacticError](err); ok && at.ByteOffset > 0 {
		return fmt.Sprintf("%s, but is broken behind byte %d", rule, at.ByteOffset)
	}
	return rule
}

// refuseCaseTwins walks every object of a valid value for names that differ only in case: lenient readers take one for the
// other.
func refuseCaseTwins(object jsontext.Value) error {
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	seen := []map[string]bool{}
	for {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return broken(syntaxRule(err))
		}
		depth := dec.StackDepth()
		for len(seen) <= depth {
			seen = append(seen, nil)
		}
		switch tok.Kind() {
		case '{':
			seen[depth] = map[string]bool{}
		case '"':
			if !isName(dec) {
				continue
			}
			name := foldCase(tok.String())
			if seen[depth][name] {
				return broken("a JSON object without names that differ only in case")
			}
			seen[depth][name] = true
		}
	}
}

// isName reports whether the string just read is a member's name: they are the odd ones within an object.
func isName(dec *jsontext.Decoder) bool {
	kind, length := dec.StackIndex(dec.StackDepth())
	return kind == '{' && length%2 == 1
}

// foldCase maps all spellings of a name to one, by Unicode's simple folding: the Kelvin sign is a k here, too.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, s)
}

// refuseLookalikes finds names that are one of the expected ones but for their case. Ignored as extra fields, they would
// leave the sender to believe that they counted.
func (f *fields) refuseLookalikes(expected []string) {
	for _, name := range append([]string{"type"}, expected...) {
		for given := range f.members {
			if given != name && foldCase(given) == foldCase(name) {
				f.wrong(name, "written in exactly these letters, small and capital")
			}
		}
	}
}

// kindName is the payload's `type`, or the default where it has none.
func (f *fields) kindName(byDefault string) string {
	value, present := f.members["type"]
	if !present {
		return byDefault
	}
	name, _ := stringOf(value)
	return name
}

// id reads a required identifier; "" after a problem.
func (f *fields) id(name string) string {
	s, isString := stringOf(f.members[name])
	if !isString || !signature.ValidID(s) {
		f.wrong(name, "a string of "+signature.IDRule)
		return ""
	}
	return s
}

// time reads a required RFC 3339 time with an offset, in UTC; zero after a problem. The JSON library is strict here, which
// time.Parse and UnmarshalText are not: they take a comma before the fraction and hours of one digit (golang/go#54580).
func (f *fields) time(name string) time.Time {
	var t time.Time
	value := f.members[name]
	if value.Kind() != '"' || json.Unmarshal(value, &t) != nil || !storable(t.UTC().Year()) {
		f.wrong(name, "an RFC 3339 time with an offset, from 1970 to 9999 in UTC, such as 2026-08-30T00:00:00Z")
		return time.Time{}
	}
	return t.UTC()
}

// positive reads a required whole number from 1; 0 after a problem. It is taken in plain digits alone, and every one of them
// counts: a generation above 2^53, which a reader of floating-point numbers would round, would stand for its neighbour.
func (f *fields) positive(name string) int64 {
	n, err := strconv.ParseInt(string(f.members[name]), 10, 64) // of the JSON text: a string has its quotes, a missing field none
	if err != nil || n < 1 {
		f.wrong(name, "a whole number from 1 to 9223372036854775807, in digits alone")
		return 0
	}
	return n
}

// storable keeps out the years that no version can be from, and that an offset can push beyond four digits: a time that
// cannot be written down again would fail in the store, and look like an outage.
func storable(year int) bool { return 1970 <= year && year <= 9999 }

// stringOf is the text of a JSON string; false for every other value and for none.
func stringOf(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, v)
	return string(text), err == nil
}

func (f *fields) wrong(name, allowed string) {
	f.problems = append(f.problems, Problem{Field: name, Allowed: allowed})
}

// err is all problems in one, in a fixed order; nil without any.
func (f *fields) err() error {
	if len(f.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(f.problems, func(a, b Problem) int { return strings.Compare(a.Field, b.Field) })
	return &Error{Problems: f.problems}
}
