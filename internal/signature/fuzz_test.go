package signature_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"custody/internal/signature"
)

// FuzzTimestamped holds the verifier against the definition: what it accepts carries, in hex, the MAC over the very text of
// the timestamp, a full stop and the body, with one of the keys.
func FuzzTimestamped(f *testing.F) {
	good := signed(key("k2", current), received())
	f.Add("d-1", good[signature.HeaderTimestamp], good[signature.HeaderSignature], "k2", true, body)
	f.Add("d-1", good[signature.HeaderTimestamp], good[signature.HeaderSignature], "", false, body)
	f.Add("", "+179000000", "sha256=", "k9", true, []byte(nil))
	f.Add("d,d", "1790000000,1790000000", strings.Repeat("0a", 32)+",", "k1", true, []byte("\x00"))

	f.Fuzz(func(t *testing.T, id, timestamp, sig, keyID string, named bool, body []byte) {
		headers := map[string]string{
			signature.HeaderDeliveryID: id, signature.HeaderTimestamp: timestamp, signature.HeaderSignature: sig,
		}
		if named {
			headers[signature.HeaderKeyID] = keyID
		}
		keys := signature.Keys{key("k2", current), key("k1", previous), key("k3", "")}
		got, err := check(headers, body, keys, received())
		if err != nil {
			if (verdictOf(err) == verdict{}) {
				t.Fatalf("an error without a reason: %v", err)
			}
			return
		}
		text := map[string]string{"k2": current, "k1": previous}[got]
		h := hmac.New(sha256.New, []byte(text))
		h.Write([]byte(timestamp + "." + string(body)))
		if text == "" || !strings.EqualFold(strings.TrimPrefix(sig, "sha256="), hex.EncodeToString(h.Sum(nil))) {
			t.Fatalf("accepted what %q did not sign", got)
		}
		if named && keyID != got || !signature.ValidID(id) || len(timestamp) != 10 {
			t.Fatalf("accepted key id %q for %q, delivery id %q, timestamp %q", keyID, got, id, timestamp)
		}
	})
}
