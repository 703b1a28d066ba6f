package signature_test

import (
	"strings"
	"testing"

	"custody/internal/signature"
)

// fixed is a signature that openssl made, not this package:
//
//	printf '1790000000.{"run_id":"r-1"}' | openssl dgst -sha256 -hmac 'correct horse battery staple'
const fixed = "2e859f73ee1a1574c857525e20334c3dfaf931e071dd097d817a6b6cb9d11ddb"

func TestSignatureOfAnotherToolVerifies(t *testing.T) {
	t.Parallel()
	for sentence, sig := range map[string]string{
		"with the prefix": "sha256=" + fixed, "bare": fixed, "in upper case": "sha256=" + strings.ToUpper(fixed),
		"in mixed case": strings.ToUpper(fixed[:31]) + fixed[31:],
	} {
		headers := map[string]string{
			"x-delivery-id": "d-1", "X-DELIVERY-TIMESTAMP": "1790000000", "X-Delivery-Signature": sig,
		}
		keys := signature.Keys{key("k", current)}
		if _, err := timestamped().check(headers, []byte(`{"run_id":"r-1"}`), keys, received()); err != nil {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

func TestTimestampIsSigned(t *testing.T) {
	t.Parallel()
	if got := timestamped().refused(set(signature.HeaderTimestamp, "1790000001")); got != invalid {
		t.Errorf("another second than was signed: %v", got)
	}
	// The delivery id is not part of the MAC. The unique keys of the inbox answer a replay under another id.
	if got := timestamped().refused(set(signature.HeaderDeliveryID, "d-2")); got != accepted {
		t.Errorf("another delivery id: %v", got)
	}
}
