package signature

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Key is one signing key with its id. Its text cannot be printed, logged or marshalled: it sits in a closure, which even
// reflection (as fmt uses for unexported fields) shows as an address only. The zero Key is blank and never matches.
type Key struct {
	id       string
	notAfter time.Time
	reveal   func() string
}

// NewKey makes a key from its text. A zero notAfter means that the key does not end. Whitespace belongs to the text: a
// secret that was stored with a trailing newline signs with that newline.
func NewKey(id, text string, notAfter time.Time) Key {
	return Key{id: id, notAfter: notAfter, reveal: func() string { return text }}
}

// ID names the key. It is not secret.
func (k Key) ID() string { return k.id }

// text is the key's secret text, for the schemes alone.
func (k Key) text() string {
	if k.reveal == nil {
		return ""
	}
	return k.reveal()
}

// Blank reports whether the key holds nothing that could be seen: whitespace, NUL and other invisible characters at most.
// Such a key is never a key, in no scheme: HMAC takes an empty one without complaint, and everybody knows it. HMAC also fills
// a short key up with NULs (RFC 2104, section 2), so one of NULs alone is the empty key.
func (k Key) Blank() bool { return !strings.ContainsFunc(k.text(), visible) }

func visible(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }

var errBlank = errors.New("must not be blank")

// active reports whether the key may verify at the given time: not_after itself still counts.
func (k Key) active(at time.Time) bool {
	ended := !k.notAfter.IsZero() && at.After(k.notAfter)
	return !ended && !k.Blank()
}

// String hides the key and names it.
func (k Key) String() string { return "signing key " + k.id }

// GoString hides the key from %#v.
func (k Key) GoString() string { return k.String() }

// Format hides the key from every verb.
func (k Key) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(k.String())) }

// LogValue hides the key from log/slog.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

var errHidden = errors.New("a signing key is never marshalled")

// MarshalJSON refuses: a key that was written somewhere is no secret any more.
func (k Key) MarshalJSON() ([]byte, error) { return nil, errHidden }

// MarshalText refuses, as MarshalJSON does.
func (k Key) MarshalText() ([]byte, error) { return nil, errHidden }

// Keys are the keys that a request may be verified with, each with its own id.
type Keys []Key

// Active are the keys that are in force at the given time.
func (ks Keys) Active(at time.Time) Keys {
	var in Keys
	for _, k := range ks {
		if k.active(at) {
			in = append(in, k)
		}
	}
	return in
}

// Has reports whether a key has the id.
func (ks Keys) Has(id string) bool {
	return slices.ContainsFunc(ks, func(k Key) bool { return k.id == id })
}
