package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a value that hides itself from every way of printing: fmt, slog and the encoders show that it is there, never
// what it is.
type Secret struct{ value string }

// NewSecret hides the value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal is the value itself, for the one place that needs it.
func (s Secret) Reveal() string { return s.value }

// IsZero reports whether there is no secret at all.
func (s Secret) IsZero() bool { return s.value == "" }

// Equal compares two secrets, for tests; it takes no care about time.
func (s Secret) Equal(other Secret) bool { return s == other }

const hidden = "[secret]"

func (s Secret) String() string {
	if s.IsZero() {
		return "[no secret]"
	}
	return hidden
}

// Format hides the value from every verb, also from those that would look into the struct, such as %d and %#v.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue hides the value from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the value from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
