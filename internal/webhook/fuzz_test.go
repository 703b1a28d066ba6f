package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/inbox"
	"custody/internal/webhook"
)

// FuzzHandle feeds whole events. Whatever comes, there is a known status with an outcome, no panic, and nothing is written
// unless the key signed the bytes.
func FuzzHandle(f *testing.F) {
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) == 0 {
		f.Fatalf("no sample events: %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"headers":null,"requestContext":{"http":{"method":"POST"}},"rawPath":"/","body":"e30=","isBase64Encoded":true}`))
	known := map[int]bool{204: true, 400: true, 401: true, 404: true, 405: true, 409: true, 413: true, 415: true, 422: true, 503: true}

	f.Fuzz(func(t *testing.T, event []byte) {
		var req events.LambdaFunctionURLRequest
		if json.Unmarshal(event, &req) != nil {
			return
		}
		door := open(t)
		resp, sum := door.Handler.Handle(t.Context(), req)
		if !known[resp.StatusCode] || resp.Headers[webhook.HeaderOutcome] == "" || sum.Panicked {
			t.Fatalf("status %d, outcome %q: %s", resp.StatusCode, resp.Headers[webhook.HeaderOutcome], sum.Problem)
		}
		if (resp.Body == "") != (resp.StatusCode == 204) {
			t.Fatalf("status %d with a body of %d bytes", resp.StatusCode, len(resp.Body))
		}
		written := door.Inbox.written() != [2]int{}
		if written != (resp.StatusCode == 204) {
			t.Fatalf("status %d, written %v", resp.StatusCode, door.Inbox.written())
		}
		if written && !reallySigned(req, door) {
			t.Fatalf("accepted what nobody signed: %+v", req)
		}
	})
}

// reallySigned computes the MAC over what was stored, apart from the package under test.
func reallySigned(req events.LambdaFunctionURLRequest, f front) bool {
	header := func(want string) string {
		for name, value := range req.Headers {
			if strings.EqualFold(name, want) {
				return value
			}
		}
		return ""
	}
	body, err := decodeBody(req)
	sum := sha256.Sum256(body)
	if err != nil || f.Inbox.deliveries[header("x-delivery-id")].BodySHA256 != hex.EncodeToString(sum[:]) {
		return false
	}
	mac := hmac.New(sha256.New, []byte(sampleKey))
	mac.Write([]byte(header("x-delivery-timestamp") + "."))
	mac.Write(body)
	return strings.EqualFold(strings.TrimPrefix(header("x-delivery-signature"), "sha256="), hex.EncodeToString(mac.Sum(nil)))
}

func decodeBody(req events.LambdaFunctionURLRequest) ([]byte, error) {
	if !req.IsBase64Encoded {
		return []byte(req.Body), nil
	}
	return base64.StdEncoding.DecodeString(req.Body)
}

// FuzzRequest builds a request from its parts, and signs it where it is told to, so that the payload is reached as well.
func FuzzRequest(f *testing.F) {
	f.Add("POST", "/", "d-1", "1790000000", "sha256="+strings.Repeat("0a", 32), "k1", []byte(samplePayload), false, true, int64(0))
	f.Add("POST", "/", "d-1", "1790000000", "", "", []byte("\xff\x00"), true, true, int64(301))
	f.Add("GET", "/x", ",", "+1", "sha256=", "k9", []byte("{}"), true, false, int64(-301))
	f.Add("POST", "/", "d-1", "1790000000", "", "", []byte(`{"run_id":"r","run_id":"s"}`), false, true, int64(-300))

	f.Fuzz(func(t *testing.T, method, path, id, timestamp, sig, keyID string, body []byte, flagged, sign bool, off int64) {
		req := events.LambdaFunctionURLRequest{RawPath: path, Body: string(body), IsBase64Encoded: flagged}
		req.RequestContext.HTTP.Method, req.RequestContext.TimeEpoch = method, receipt().UnixMilli()
		req.Headers = map[string]string{
			"x-delivery-id": id, "x-delivery-timestamp": timestamp, "x-delivery-signature": sig, "x-delivery-key-id": keyID,
		}
		if sign {
			off %= 1_000_000_000
			req = resign(req, id, string(body), receipt().Add(time.Duration(off)*time.Second))
		}
		if flagged {
			req.Body = base64.StdEncoding.EncodeToString(body)
		}
		door := open(t)
		resp, sum := door.Handler.Handle(t.Context(), req)
		written := door.Inbox.written() != [2]int{}
		if sum.Panicked || written != (resp.StatusCode == 204) || written != (sum.Outcome == inbox.OutcomeAccepted) {
			t.Fatalf("status %d %s, written %t: %s", resp.StatusCode, sum.Outcome, written, sum.Problem)
		}
		if written && (!reallySigned(req, door) || max(off, -off) > 300 || method != "POST" || path != "/") {
			t.Fatalf("accepted %+v", req)
		}
	})
}
