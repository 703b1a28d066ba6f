package keyring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"custody/internal/signature"
)

// ErrMalformed is a keyring that cannot be read. What is wrong with it stands beside it.
var ErrMalformed = errors.New("malformed keyring")

// Parse reads a keyring: a JSON object from key id to key, where a key that ends has the longer form
//
//	{"k2": "new key", "k1": {"key": "old key", "not_after": "2026-12-31T00:00:00Z"}}
//
// It is strict, since a misspelt `not_after` would keep a key alive for ever. A blank key is no error, and no key either:
// the others still work. The errors name a key by its place in the object: where id and key were swapped, the name is the secret.
func Parse(text []byte) (signature.Keys, error) {
	var members map[string]jsontext.Value
	if jsontext.Value(text).Kind() != '{' {
		return nil, malformed("must be a JSON object from key id to key")
	}
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, malformed(syntax(err))
	}
	keys := make(signature.Keys, 0, len(members))
	for place, id := range inOrder(text) {
		k, problem := parseKey(id, members[id])
		if problem != "" {
			return nil, malformed(fmt.Sprintf("key %d: %s", place+1, problem))
		}
		keys = append(keys, k)
	}
	return keys, nil
}

func malformed(problem string) error { return fmt.Errorf("%w: %s", ErrMalformed, problem) }

// syntax tells what is broken without the library's own text, which quotes the input.
func syntax(err error) string {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return "must not name a key twice"
	}
	if at, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Sprintf("must be one JSON object in valid UTF-8, but is broken behind byte %d", at.ByteOffset)
	}
	return "must be a JSON object from key id to key"
}

// inOrder lists the ids of a valid keyring as they stand in it: the first key is tried first.
func inOrder(text []byte) []string {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	var ids []string
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		ids = append(ids, name.String())
		if err := dec.SkipValue(); err != nil {
			return nil
		}
	}
	return ids
}

// longForm is a key that ends. Both members are pointers, so that a missing one is told from an empty one.
type longForm struct {
	Key      *string        `json:"key"`
	NotAfter jsontext.Value `json:"not_after"`
}

func parseKey(id string, value jsontext.Value) (k signature.Key, problem string) {
	if !signature.ValidID(id) {
		return k, "its id must be " + signature.IDRule
	}
	if strings.HasPrefix(id, signature.SecretPrefix) {
		return k, "its id must not be a secret of Standard Webhooks: are id and key swapped?"
	}
	switch value.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return k, "must be a string"
		}
		return signature.NewKey(id, string(text), time.Time{}), ""
	case '{':
		return parseLongForm(id, value)
	}
	return k, `must be a string or an object with "key" and "not_after"`
}

func parseLongForm(id string, value jsontext.Value) (k signature.Key, problem string) {
	var form longForm
	if err := json.Unmarshal(value, &form, json.RejectUnknownMembers(true)); err != nil || form.Key == nil {
		return k, `must have a string "key", an optional "not_after", and nothing else`
	}
	if form.NotAfter == nil {
		return signature.NewKey(id, *form.Key, time.Time{}), ""
	}
	var end time.Time
	// The JSON library is strict about RFC 3339, UnmarshalText is not (golang/go#54580).
	if form.NotAfter.Kind() != '"' || json.Unmarshal(form.NotAfter, &end) != nil {
		return k, `"not_after" must be an RFC 3339 time with an offset, such as 2026-12-31T00:00:00Z`
	}
	return signature.NewKey(id, *form.Key, end), ""
}

// Static is a keyring that was given as text. Local work has it.
type Static struct {
	keys    signature.Keys
	problem error // of keys that the scheme cannot use
}

// NewStatic parses the text once, so that a malformed one fails the start. Keys that the scheme cannot use fail nothing;
// Active reports them.
func NewStatic(text string, scheme signature.Scheme) (*Static, error) {
	all, err := Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	keys, problem := usableBy(scheme, all)
	return &Static{keys: keys, problem: problem}, nil
}

// Cached gives the keys that are in force at the given time; false where some are ErrUnusable, which Active says.
func (s *Static) Cached(_ string, at time.Time) (signature.Keys, bool) {
	return s.keys.Active(at), s.problem == nil
}

// Active gives the keys that are in force at the given time, and ErrUnusable beside them for the others. It asks nobody.
func (s *Static) Active(_ context.Context, _ string, at time.Time) (signature.Keys, error) {
	return s.keys.Active(at), s.problem
}
