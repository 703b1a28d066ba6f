package signature

import (
	"fmt"
	"strings"
	"time"
)

// Headers looks up a header of a request by its name in any case; false when the request does not carry it.
type Headers func(name string) (value string, present bool)

// Scheme is one way of signing a delivery. A stack has exactly one; nothing in a request chooses it.
type Scheme interface {
	// Read takes what the request says about itself from its headers, before anything is proved. Its errors are of
	// ClassBadRequest: a required header is missing, or the delivery id or timestamp is malformed.
	Read(h Headers) (Envelope, error)
	// Verify gives the id of the key that made the signature over exactly these body bytes. Only keys that are in force
	// may be handed in; without any the error is of ReasonNoKey. Every other error is of ClassUnauthorized.
	Verify(e Envelope, body []byte, active Keys) (keyID string, err error)
	// Sign makes the headers of a delivery, as a sender does. A key without an id is not named.
	Sign(k Key, deliveryID string, at time.Time, body []byte) map[string]string
}

// Envelope is what a request says about itself. Only after Verify, and after Fresh, is any of it true.
type Envelope struct {
	DeliveryID string
	Timestamp  time.Time // zero where the scheme has none, and so no window
	KeyID      string    // the key that the request names; "" for every active key

	signedTimestamp string // the header's exact text, which the MAC covers
	signature       string // the header's exact text
}

// Fresh checks that the timestamp lies within the window around the time of receipt, in both directions, edges included.
// Timestamps are whole seconds, so the receipt is taken down to its second as well: otherwise the two edges would differ
// by the fraction. A window that is not positive lets nothing through.
func (e Envelope) Fresh(receivedAt time.Time, window time.Duration) error {
	if e.Timestamp.IsZero() {
		return nil
	}
	off := e.Timestamp.Sub(receivedAt.Truncate(time.Second)).Abs()
	if window <= 0 || off > window {
		return unauthorized(ReasonStale, fmt.Sprintf("timestamp is %s from the receipt, at most %s is allowed", off, window))
	}
	return nil
}

// The names of the schemes, as the setting SignatureScheme has them.
const SchemeTimestamped = "timestamped"

// schemes is the registry: a new scheme is a file and a line here.
func schemes() map[string]Scheme {
	return map[string]Scheme{SchemeTimestamped: Timestamped{}}
}

// SchemeNames lists the names that a setting may have, the default first.
func SchemeNames() []string { return []string{SchemeTimestamped} }

// Named gives the scheme of a stack; an error that lists what is allowed.
func Named(name string) (Scheme, error) {
	if s, known := schemes()[name]; known {
		return s, nil
	}
	return nil, fmt.Errorf("signature scheme %q: must be one of %s", name, strings.Join(SchemeNames(), ", "))
}
