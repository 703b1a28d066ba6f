package signature

import (
	"encoding/hex"
	"time"
)

// HeaderAppSignature is the signature's header of the body scheme.
const HeaderAppSignature = "X-App-Signature"

// Body is HMAC-SHA-256 over the exact body bytes and nothing else, for senders that can do no more. It has no timestamp and
// so no replay window, and the delivery id is not signed: whoever captured a request can send it again, also under another
// id, for as long as the key is active. That makes no second run while the run's item exists. A key's bytes are its text in
// UTF-8.
type Body struct{}

// Read takes delivery id, signature and key id from the headers. The signature's form belongs to Verify.
func (Body) Read(h Headers) (Envelope, error) {
	values, err := h.all(HeaderDeliveryID, HeaderAppSignature)
	if err != nil {
		return Envelope{}, err
	}
	if err := checkDeliveryID(HeaderDeliveryID, values[0]); err != nil {
		return Envelope{}, err
	}
	return Envelope{DeliveryID: values[0], KeyID: h.keyID(), signature: values[1]}, nil
}

// Verify tries every active key, or the one that the request names. A prefix such as sha256= is not part of this scheme.
func (Body) Verify(e Envelope, body []byte, active Keys) (string, error) {
	a := attempt{header: HeaderAppSignature, form: "64 hex digits", parts: [][]byte{body}, secret: utf8Text}
	if sum, ok := parseHexMAC(e.signature); ok {
		a.sent = [][]byte{sum}
	}
	return a.verify(e.KeyID, active)
}

// CheckKey takes every text but a blank one, as Timestamped does.
func (Body) CheckKey(k Key) error {
	_, err := utf8Text(k)
	return err
}

// Sign makes the headers as a sender does. The time is not used: this scheme has none.
func (Body) Sign(k Key, deliveryID string, _ time.Time, body []byte) map[string]string {
	headers := map[string]string{
		HeaderDeliveryID:   deliveryID,
		HeaderAppSignature: hex.EncodeToString(mac([]byte(k.text()), body)),
	}
	nameKey(headers, k)
	return headers
}
