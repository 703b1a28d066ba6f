package signature

import (
	"strconv"
	"strings"
	"time"
)

// Headers looks up a header of a request by its name in any case; false when the request does not carry it.
type Headers func(name string) (value string, present bool)

// The headers that more than one scheme has.
const (
	HeaderDeliveryID = "X-Delivery-ID"
	HeaderKeyID      = "X-Delivery-Key-ID"
)

// all gives the values of the required headers. They are all asked for before the form of any is judged.
func (h Headers) all(names ...string) ([]string, error) {
	values := make([]string, len(names))
	for i, name := range names {
		v, present := h(name)
		if !present {
			return nil, missing(name)
		}
		values[i] = v
	}
	return values, nil
}

// keyID is the key id of a request: "" for one that sends none. What cannot be the id of a key (an empty one included) stays
// a name that no key has: it must not fall back to "every key", and its text must not travel on into a log.
func (h Headers) keyID() string {
	switch id, named := h(HeaderKeyID); {
	case !named:
		return ""
	case ValidID(id):
		return id
	}
	return unnameable
}

// shortestSecret is how long the least secret of Standard Webhooks is, 24 bytes in base64.
const shortestSecret = 32

// MayBeSecret reports whether what stands in the place of a key id is long enough to be the key itself, put there by mistake. It
// is shown to nobody before a key is found to have that id.
func MayBeSecret(id string) bool { return len(id) >= shortestSecret }

// nameKey adds the header that names the key, where it has a name.
func nameKey(headers map[string]string, k Key) {
	if k.id != "" {
		headers[HeaderKeyID] = k.id
	}
}

// unnameable is no ValidID, so no key of a keyring has it.
const unnameable = "(malformed)"

// timestampDigits are those of Unix seconds from 2001-09-09 to 2286-11-20; other lengths are milliseconds or padding.
const timestampDigits = 10

// parseTimestamp reads exactly ten ASCII digits. strconv alone would take a sign.
func parseTimestamp(header, s string) (time.Time, error) {
	if len(s) == timestampDigits && strings.Trim(s, "0123456789") == "" {
		if sec, err := strconv.ParseInt(s, 10, 64); err == nil {
			return time.Unix(sec, 0).UTC(), nil
		}
	}
	return time.Time{}, malformedHeader(header + " must be Unix seconds in 10 digits")
}

func formatTimestamp(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

func checkDeliveryID(header, id string) error {
	if !ValidID(id) {
		return malformedHeader(header + " must be " + IDRule)
	}
	return nil
}
