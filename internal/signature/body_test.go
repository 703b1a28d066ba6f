package signature_test

import (
	"strings"
	"testing"
	"time"

	"custody/internal/signature"
)

// fixedBody is a signature that openssl made, not this package:
//
//	printf '{"run_id":"r-1"}' | openssl dgst -sha256 -hmac 'correct horse battery staple'
const fixedBody = "3e2fdc2a12a5b695336f2d9a69515741eee1781ecd3ea64e0a046b78d78dd878"

func TestBodySignatureOfAnotherToolVerifies(t *testing.T) {
	t.Parallel()
	keys := signature.Keys{key("k", current)}
	for sentence, c := range map[string]struct {
		sig  string
		want verdict
	}{
		"in lower case":   {fixedBody, accepted},
		"in upper case":   {strings.ToUpper(fixedBody), accepted},
		"in mixed case":   {strings.ToUpper(fixedBody[:31]) + fixedBody[31:], accepted},
		"with a prefix":   {"sha256=" + fixedBody, badSignature},
		"of a timestamp":  {fixed, invalid},
		"sent twice":      {fixedBody + "," + fixedBody, badSignature},
		"with two halves": {fixedBody[:32] + "," + fixedBody[32:], badSignature},
	} {
		headers := map[string]string{"x-delivery-id": "d-1", "x-app-signature": c.sig}
		if _, err := bodyAlone().check(headers, []byte(`{"run_id":"r-1"}`), keys, received()); verdictOf(err) != c.want {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

func TestBodyHasNoWindow(t *testing.T) {
	t.Parallel()
	d := bodyAlone()
	headers := d.signed(d.key("", current), set(signature.HeaderTimestamp, "1"), set(signature.HeaderWebhookTimestamp, "no time"))
	for _, years := range []int{-50, 0, 50} {
		if _, err := d.check(headers, body, signature.Keys{d.key("k", current)}, received().AddDate(years, 0, 0)); err != nil {
			t.Errorf("%d years later: %v", years, err)
		}
	}
	e, err := d.scheme.Read(headersOf(headers))
	if err != nil || !e.Timestamp.IsZero() {
		t.Errorf("timestamp %s, error %v, want none", e.Timestamp, err)
	}
	if err := e.Fresh(received(), -time.Second); err != nil {
		t.Errorf("a scheme without a window has one: %v", err)
	}
}

// What the docs warn of, so that nobody believes otherwise: the id is not signed.
func TestBodyDoesNotSignTheID(t *testing.T) {
	t.Parallel()
	if got := bodyAlone().refused(set(signature.HeaderDeliveryID, "d-2")); got != accepted {
		t.Errorf("another delivery id: %v", got)
	}
}
