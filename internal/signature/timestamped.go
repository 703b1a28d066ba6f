package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// The headers of the timestamped scheme.
const (
	HeaderDeliveryID = "X-Delivery-ID"
	HeaderTimestamp  = "X-Delivery-Timestamp"
	HeaderSignature  = "X-Delivery-Signature"
	HeaderKeyID      = "X-Delivery-Key-ID"
)

// Timestamped is HMAC-SHA-256 over the timestamp header's exact text, one full stop, and the exact body bytes. A key's
// bytes are its text in UTF-8.
type Timestamped struct{}

const (
	macPrefix       = "sha256="
	timestampDigits = 10 // Unix seconds from 2001-09-09 to 2286-11-20; other lengths are milliseconds or padding
)

// Read takes delivery id, timestamp, signature and key id from the headers. All of the required ones are asked for before
// the form of any is judged. The signature's form belongs to Verify, since its answer is 401.
func (Timestamped) Read(h Headers) (Envelope, error) {
	var values [3]string
	for i, name := range []string{HeaderDeliveryID, HeaderTimestamp, HeaderSignature} {
		v, present := h(name)
		if !present {
			return Envelope{}, missing(name)
		}
		values[i] = v
	}
	if !ValidID(values[0]) {
		return Envelope{}, malformedHeader(HeaderDeliveryID + " must be " + IDRule)
	}
	at, ok := parseUnixSeconds(values[1])
	if !ok {
		return Envelope{}, malformedHeader(HeaderTimestamp + " must be Unix seconds in 10 digits")
	}
	e := Envelope{DeliveryID: values[0], Timestamp: at, signedTimestamp: values[1], signature: values[2]}
	if id, named := h(HeaderKeyID); named {
		e.KeyID = namedKey(id)
	}
	return e, nil
}

// namedKey is the key id of a request that sends one. What cannot be the id of a key (an empty one included) stays a name
// that no key has: it must not fall back to "every key", and its text must not travel on into a log.
func namedKey(header string) string {
	if ValidID(header) {
		return header
	}
	return unnameable
}

// unnameable is no ValidID, so no key of a keyring has it.
const unnameable = "(malformed)"

// parseUnixSeconds reads exactly ten ASCII digits. strconv alone would take a sign.
func parseUnixSeconds(s string) (time.Time, bool) {
	if len(s) != timestampDigits || strings.Trim(s, "0123456789") != "" {
		return time.Time{}, false
	}
	sec, err := strconv.ParseInt(s, 10, 64)
	return time.Unix(sec, 0).UTC(), err == nil
}

// Verify tries every active key, or the one that the request names.
func (Timestamped) Verify(e Envelope, body []byte, active Keys) (string, error) {
	if len(active) == 0 {
		return "", NoKey("no signing key is active")
	}
	sent, ok := parseMAC(e.signature)
	if !ok {
		return "", unauthorized(ReasonMalformed, HeaderSignature+" must be sha256= and 64 hex digits, or the digits alone")
	}
	candidates := active.named(e.KeyID)
	if len(candidates) == 0 {
		return "", unauthorized(ReasonUnknownKey, HeaderKeyID+" must name an active key, or be left out")
	}
	for _, k := range candidates {
		if matches(k, e.signedTimestamp, body, sent) {
			return k.id, nil
		}
	}
	return "", unauthorized(ReasonInvalid, HeaderSignature+" was made over other bytes or with another key")
}

// matches compares in constant time. A key that holds nothing matches nothing, wherever it came from.
func matches(k Key, timestamp string, body, sent []byte) bool {
	return strings.TrimSpace(k.text()) != "" && hmac.Equal(mac(k, timestamp, body), sent)
}

// parseMAC decodes to exactly 32 bytes. hex.DecodeString takes both cases and nothing else, spaces and commas included.
func parseMAC(header string) ([]byte, bool) {
	digits := strings.TrimPrefix(header, macPrefix)
	if len(digits) != hex.EncodedLen(sha256.Size) {
		return nil, false
	}
	sum, err := hex.DecodeString(digits)
	return sum, err == nil
}

func mac(k Key, timestamp string, body []byte) []byte {
	h := hmac.New(sha256.New, []byte(k.text()))
	h.Write([]byte(timestamp))
	h.Write([]byte("."))
	h.Write(body)
	return h.Sum(nil)
}

// Sign makes the headers as a sender does. The time is written in whole Unix seconds.
func (Timestamped) Sign(k Key, deliveryID string, at time.Time, body []byte) map[string]string {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	headers := map[string]string{
		HeaderDeliveryID: deliveryID,
		HeaderTimestamp:  timestamp,
		HeaderSignature:  macPrefix + hex.EncodeToString(mac(k, timestamp, body)),
	}
	if k.id != "" {
		headers[HeaderKeyID] = k.id
	}
	return headers
}
