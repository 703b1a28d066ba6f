package producer

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"custody/internal/signature"
)

// Delivery is what is sent: the same id and the same bytes with every try.
type Delivery struct {
	ID   string
	Body []byte
}

// NewID makes a delivery id that every scheme takes: Standard Webhooks allows no full stop.
func NewID() string { return "d-" + strings.ToLower(rand.Text()) }

// Signer signs as one stack expects it.
type Signer struct {
	Scheme signature.Scheme
	Key    signature.Key
}

// Headers are those of one try, the content type included. An error names what the receiver would not take, before anything
// is sent: the key, the delivery id, or a time outside of ten digits.
func (s Signer) Headers(d Delivery, at time.Time) (map[string]string, error) {
	if err := s.Scheme.CheckKey(s.Key); err != nil {
		return nil, &KeyError{err}
	}
	headers := s.Scheme.Sign(s.Key, d.ID, at, d.Body)
	if _, err := s.Scheme.Read(func(name string) (string, bool) { v, ok := headers[name]; return v, ok }); err != nil {
		return nil, fmt.Errorf("sign delivery %q: %w", d.ID, err)
	}
	headers["Content-Type"] = ContentType(d.Body)
	return headers, nil
}

// KeyError is a key that the scheme cannot use. It says what a key must be and nothing of this one.
type KeyError struct{ err error }

func (e *KeyError) Error() string { return "the signing key " + e.err.Error() }

// Unwrap is the scheme's own error.
func (e *KeyError) Unwrap() error { return e.err }

// ContentType is that of a body. Lambda hands a text body to the function as text, and one that is no UTF-8 would arrive
// changed; under a binary content type it takes any bytes on unchanged.
func ContentType(body []byte) string {
	if utf8.Valid(body) {
		return "application/json"
	}
	return "application/octet-stream"
}
