package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// secretOf gives the bytes of a key as a scheme understands its text; an error, which never holds the text, where it cannot.
type secretOf func(Key) ([]byte, error)

// utf8Text takes a key's text as it stands: nothing is decoded or trimmed.
func utf8Text(k Key) ([]byte, error) {
	if k.Blank() {
		return nil, errBlank
	}
	return []byte(k.text()), nil
}

// mac is HMAC-SHA-256 over the parts, one behind the other.
func mac(secret []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, secret)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// parseHexMAC decodes to exactly 32 bytes. hex.DecodeString takes both cases and nothing else, spaces and commas included.
func parseHexMAC(digits string) ([]byte, bool) {
	if len(digits) != hex.EncodedLen(sha256.Size) {
		return nil, false
	}
	sum, err := hex.DecodeString(digits)
	return sum, err == nil
}

// attempt is one verification: what was sent, and what a key would have signed.
type attempt struct {
	header string   // names the signature's header in the errors
	form   string   // says what the header must hold
	sent   [][]byte // MACs of 32 bytes each; none where the header is malformed
	parts  [][]byte // what the MAC covers
	secret secretOf
}

// verify gives the id of the first key that made one of the sent MACs. The order of the refusals is that of all schemes: a
// stack without a key is known before anything of the request, and a malformed signature before its key's name.
func (a attempt) verify(keyID string, active Keys) (string, error) {
	usable := a.secretsOf(active)
	if len(usable) == 0 {
		return "", NoKey("no signing key is active")
	}
	if len(a.sent) == 0 {
		return "", unauthorized(ReasonMalformed, a.header+" must be "+a.form)
	}
	known := false
	for _, k := range usable {
		if keyID != "" && keyID != k.id {
			continue
		}
		known = true
		if a.madeWith(k.secret) {
			return k.id, nil
		}
	}
	if !known {
		return "", unauthorized(ReasonUnknownKey, HeaderKeyID+" must name an active key, or be left out")
	}
	return "", unauthorized(ReasonInvalid, a.header+" was made over other bytes or with another key")
}

type namedSecret struct {
	id     string
	secret []byte
}

// secretsOf leaves out what the scheme cannot use, wherever it came from.
func (a attempt) secretsOf(keys Keys) []namedSecret {
	var usable []namedSecret
	for _, k := range keys {
		if secret, err := a.secret(k); err == nil {
			usable = append(usable, namedSecret{k.id, secret})
		}
	}
	return usable
}

// madeWith compares in constant time.
func (a attempt) madeWith(secret []byte) bool {
	sum := mac(secret, a.parts...)
	for _, sent := range a.sent {
		if hmac.Equal(sum, sent) {
			return true
		}
	}
	return false
}
