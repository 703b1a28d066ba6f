package signature

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Scheme is one way of signing a delivery. A stack has exactly one; nothing in a request chooses it.
type Scheme interface {
	// Read takes what the request says about itself from its headers, before anything is proved. Its errors are of
	// ClassBadRequest: a required header is missing, or the delivery id or timestamp is malformed.
	Read(h Headers) (Envelope, error)
	// Verify gives the id of the key that made the signature over exactly these body bytes. Only keys that are in force
	// may be handed in; those that CheckKey refuses verify nothing. Without any left the error is of ReasonNoKey. Every
	// other error is of ClassUnauthorized.
	Verify(e Envelope, body []byte, active Keys) (keyID string, err error)
	// CheckKey says why the scheme cannot use the key, nil where it can. The error says what a key must be and holds
	// nothing of this one.
	CheckKey(k Key) error
	// Sign makes the headers of a delivery, as a sender does, with a key that CheckKey takes: what it makes with another
	// is refused by Verify. A key without an id is not named.
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

// Format keeps the signature out of whatever an envelope is printed into.
func (e Envelope) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte("delivery " + e.DeliveryID)) }

// LogValue keeps the signature out of log/slog.
func (e Envelope) LogValue() slog.Value { return slog.StringValue("delivery " + e.DeliveryID) }

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
const (
	SchemeTimestamped      = "timestamped"
	SchemeStandardWebhooks = "standard-webhooks"
	SchemeBody             = "body"
)

// schemes is the registry: a new scheme is a file, a line here and one in SchemeNames.
func schemes() map[string]Scheme {
	return map[string]Scheme{
		SchemeTimestamped: Timestamped{}, SchemeStandardWebhooks: StandardWebhooks{}, SchemeBody: Body{},
	}
}

// SchemeNames lists the names that a setting may have, the default first.
func SchemeNames() []string { return []string{SchemeTimestamped, SchemeStandardWebhooks, SchemeBody} }

// Named gives the scheme of a stack; an error that lists what is allowed.
func Named(name string) (Scheme, error) {
	if s, known := schemes()[name]; known {
		return s, nil
	}
	return nil, fmt.Errorf("signature scheme %q: must be one of %s", name, strings.Join(SchemeNames(), ", "))
}
