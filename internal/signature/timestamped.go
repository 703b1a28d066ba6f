package signature

import (
	"encoding/hex"
	"strings"
	"time"
)

// The headers of the timestamped scheme alone.
const (
	HeaderTimestamp = "X-Delivery-Timestamp"
	HeaderSignature = "X-Delivery-Signature"
)

// Timestamped is HMAC-SHA-256 over the timestamp header's exact text, one full stop, and the exact body bytes. A key's
// bytes are its text in UTF-8.
type Timestamped struct{}

const macPrefix = "sha256="

// Read takes delivery id, timestamp, signature and key id from the headers. The signature's form belongs to Verify, since
// its answer is 401.
func (Timestamped) Read(h Headers) (Envelope, error) {
	values, err := h.all(HeaderDeliveryID, HeaderTimestamp, HeaderSignature)
	if err != nil {
		return Envelope{}, err
	}
	if err := checkDeliveryID(HeaderDeliveryID, values[0]); err != nil {
		return Envelope{}, err
	}
	at, err := parseTimestamp(HeaderTimestamp, values[1])
	if err != nil {
		return Envelope{}, err
	}
	return Envelope{
		DeliveryID: values[0], Timestamp: at, KeyID: h.keyID(), signedTimestamp: values[1], signature: values[2],
	}, nil
}

// Verify tries every active key, or the one that the request names.
func (Timestamped) Verify(e Envelope, body []byte, active Keys) (string, error) {
	a := attempt{
		header: HeaderSignature, form: "sha256= and 64 hex digits, or the digits alone",
		parts: timestampedParts(e.signedTimestamp, body), secret: utf8Text,
	}
	if sum, ok := parseHexMAC(strings.TrimPrefix(e.signature, macPrefix)); ok {
		a.sent = [][]byte{sum}
	}
	return a.verify(e.KeyID, active)
}

func timestampedParts(timestamp string, body []byte) [][]byte {
	return [][]byte{[]byte(timestamp), []byte("."), body}
}

// CheckKey takes every text but a blank one. Whitespace is part of it: a stored line break at the end signs as well.
func (Timestamped) CheckKey(k Key) error {
	_, err := utf8Text(k)
	return err
}

// Sign makes the headers as a sender does. The time is written in whole Unix seconds.
func (Timestamped) Sign(k Key, deliveryID string, at time.Time, body []byte) map[string]string {
	timestamp := formatTimestamp(at)
	headers := map[string]string{
		HeaderDeliveryID: deliveryID,
		HeaderTimestamp:  timestamp,
		HeaderSignature:  macPrefix + hex.EncodeToString(mac([]byte(k.text()), timestampedParts(timestamp, body)...)),
	}
	nameKey(headers, k)
	return headers
}
