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
	members  []member
	problems []Problem
}

type member struct {
	name  string
	value jsontext.Value
}

// value is the member's JSON text; nil where the payload has none of the name.
func (f *fields) value(name string) jsontext.Value {
	for _, m := range f.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// parse reads one JSON object, strictly: two readers of one payload must never see two commands. jsontext refuses duplicate
// names at any depth, invalid UTF-8 and lone surrogates; names that differ only in case and trailing data are refused here.
func parse(body []byte) (*fields, error) {
	if !startsObject(body) {
		return nil, broken("a JSON object")
	}
	p := payload{body: body}
	err := json.Unmarshal(body, &p) // rather than a decoder of our own: it has one at hand
	switch {
	case p.err != nil:
		return nil, broken(syntaxRule(p.err))
	case err != nil:
		return nil, broken(fmt.Sprintf("one JSON object and nothing behind it, but something follows byte %d", p.end))
	}
	f := &fields{members: p.members}
	if err := f.refuseCaseTwins(); err != nil {
		return nil, err
	}
	return f, nil
}

// payload is how the JSON library is handed what reads the members.
type payload struct {
	body    []byte
	members []member
	end     int64 // of the object
	err     error // in the object, as it was before the library wraps it
}

// usualMembers is room for what senders send: a list that does not grow costs a delivery less.
const usualMembers = 24

// UnmarshalJSONFrom reads the object that the decoder stands before. The values are parts of the body.
func (p *payload) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	p.err = p.read(dec)
	p.end = dec.InputOffset()
	return p.err
}

func (p *payload) read(dec *jsontext.Decoder) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	text := string(p.body) // for the names, all at once
	p.members = make([]member, 0, usualMembers)
	for dec.PeekKind() != '}' {
		quoted, err := dec.ReadValue()
		if err != nil {
			return err
		}
		end := int(dec.InputOffset())
		name := text[end-len(quoted)+1 : end-1]
		if strings.Contains(name, `\`) {
			name, _ = stringOf(quoted)
		}
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		end = int(dec.InputOffset())
		p.members = append(p.members, member{name, p.body[end-len(value) : end]})
	}
	_, err := dec.ReadToken()
	return err
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

var errCaseTwins = broken("a JSON object without names that differ only in case")

// refuseCaseTwins looks at every object of a valid payload for names that differ only in case: lenient readers take one for the
// other.
func (f *fields) refuseCaseTwins() error {
	// Names that are folded already have no twin among themselves, since no name comes twice.
	if slices.ContainsFunc(f.members, func(m member) bool { return foldCase(m.name) != m.name }) && f.hasCaseTwins() {
		return errCaseTwins
	}
	for _, m := range f.members {
		if kind := m.value.Kind(); kind == '{' || kind == '[' {
			if err := refuseCaseTwinsWithin(m.value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fields) hasCaseTwins() bool {
	seen := make(map[string]bool, len(f.members))
	for _, m := range f.members {
		seen[foldCase(m.name)] = true
	}
	return len(seen) < len(f.members)
}

func refuseCaseTwinsWithin(value jsontext.Value) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(value))
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
				return errCaseTwins
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

// foldCase maps all spellings of a name to one, by Unicode's simple folding: the Kelvin sign is a k here, too. Small letters of
// ASCII, and so the names that are expected, stay as they are.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || r == '_' {
			return r
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		if 'A' <= least && least <= 'Z' {
			least += 'a' - 'A'
		}
		return least
	}, s)
}

// refuseLookalikes finds names that are one of the expected ones but for their case. Ignored as extra fields, they would
// leave the sender to believe that they counted.
func (f *fields) refuseLookalikes(expected []string) {
	f.refuseLookalike("type")
	for _, name := range expected {
		f.refuseLookalike(name)
	}
}

func (f *fields) refuseLookalike(name string) {
	for _, m := range f.members {
		if m.name != name && strings.EqualFold(m.name, name) { // the folding of foldCase
			f.wrong(name, "written in exactly these letters, small and capital")
		}
	}
}

// kindName is the payload's `type`, or the default where it has none.
func (f *fields) kindName(byDefault string) string {
	value := f.value("type")
	if value == nil {
		return byDefault
	}
	name, _ := stringOf(value)
	return name
}

// id reads a required identifier; "" after a problem.
func (f *fields) id(name string) string {
	s, isString := stringOf(f.value(name))
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
	value := f.value(name)
	if value.Kind() != '"' || json.Unmarshal(value, &t) != nil || !storable(t.UTC().Year()) {
		f.wrong(name, "an RFC 3339 time with an offset, from 1970 to 9999 in UTC, such as 2026-08-30T00:00:00Z")
		return time.Time{}
	}
	return t.UTC()
}

// positive reads a required whole number from 1; 0 after a problem. It is taken in plain digits alone, and every one of them
// counts: a generation above 2^53, which a reader of floating-point numbers would round, would stand for its neighbour.
func (f *fields) positive(name string) int64 {
	n, err := strconv.ParseInt(string(f.value(name)), 10, 64) // of the JSON text: a string has its quotes, a missing field none
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
	var most [signature.MaxIDLength + 2]byte // of what is an id
	text, err := jsontext.AppendUnquote(most[:0], v)
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
