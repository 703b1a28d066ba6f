package architecture_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/command"
	"custody/internal/inbox"
	"custody/internal/signature"
	"custody/internal/webhook"
)

func TestDocsWorkedExampleIsTrue(t *testing.T) {
	t.Parallel()
	page := readRoot(t, "docs/wire-contract.md")
	_, page, _ = strings.Cut(page, "One worked example.")
	value := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + ` +(.+)$`).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("the example has no line %q", name)
		}
		return m[1]
	}
	key, timestamp, body := value("key"), value("timestamp"), value("body")
	if want := timestamp + "." + body; value("message") != want {
		t.Errorf("message %s, want %s", value("message"), want)
	}
	mac := hmac.New(sha256.New, []byte(key)) // by hand first: the example is for those who do not have our code
	fmt.Fprintf(mac, "%s.%s", timestamp, body)
	if want := "X-Delivery-Signature: sha256=" + hex.EncodeToString(mac.Sum(nil)); value("header") != want {
		t.Errorf("header %s, want %s", value("header"), want)
	}
	if want := fmt.Sprintf("it has %d bytes", len(body)); !strings.Contains(page, want) {
		t.Errorf("the page does not say %q", want)
	}

	at, err := time.Parse("20060102T150405Z", "20260921T141320Z") // 1790000000
	if err != nil || fmt.Sprint(at.Unix()) != timestamp {
		t.Fatalf("timestamp %s: %v", timestamp, err)
	}
	ours := signature.Timestamped{}.Sign(signature.NewKey("k1", key, time.Time{}), "d-1", at, []byte(body))
	if got := "X-Delivery-Signature: " + ours[signature.HeaderSignature]; got != value("header") {
		t.Errorf("the scheme itself signs with %s", got)
	}
}

// front is the webhook in front of a store that says what the case wants.
type front struct {
	existing *inbox.Existing
	err      error
	crash    bool
}

func (f front) Claim(context.Context, inbox.Claim) (*inbox.Existing, error) {
	if f.crash {
		panic("a defect")
	}
	return f.existing, f.err
}

func (f front) Alias(context.Context, inbox.Delivery) (*inbox.Delivery, error) { return nil, f.err }

func (f front) Active(_ context.Context, _ string, at time.Time) (signature.Keys, error) {
	return signature.Keys{signature.NewKey("k1", "a key", time.Time{})}.Active(at), nil
}

var received = time.Unix(1_790_000_000, 0).UTC()

func wireBody(expiredBefore time.Time) string {
	return fmt.Sprintf(`{"run_id":"r-1","warehouse_id":"wh-17","expired_before":%q}`, expiredBefore.Format(time.RFC3339))
}

func wireRequest(body string, at time.Time) events.LambdaFunctionURLRequest {
	req := events.LambdaFunctionURLRequest{RawPath: "/", Body: body}
	req.Headers = signature.Timestamped{}.Sign(signature.NewKey("k1", "a key", time.Time{}), "d-1", at, []byte(body))
	req.RequestContext.HTTP.Method, req.RequestContext.TimeEpoch = "POST", received.UnixMilli()
	return req
}

func (f front) answer(t *testing.T, req events.LambdaFunctionURLRequest) string {
	t.Helper()
	commands, err := command.NewDecoder(command.Settings{
		Accepted: []string{"cleanup.run"}, Bucket: "b", MinObjectAge: 24 * time.Hour, WarehousePrefixes: []string{"pod/{warehouse_id}/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := webhook.New(webhook.Handler{
		Settings: webhook.Settings{Path: "/", MaxBodyBytes: 1000, ReplayWindow: 5 * time.Minute, AckTimeout: 5 * time.Second, Retention: time.Hour},
		Scheme:   signature.Timestamped{}, Keys: f, Store: f, Commands: commands, Now: func() time.Time { return received },
	})
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := h.Handle(t.Context(), req)
	_, retry := answer.Headers["Retry-After"]
	return fmt.Sprintf("%d %s, Retry-After %v", answer.StatusCode, answer.Headers[webhook.HeaderOutcome], retry)
}

// Every row of the table of answers is asked for, in each of the ways that it names.
func TestDocsHaveEveryAnswer(t *testing.T) {
	t.Parallel()
	body := wireBody(received.Add(-48 * time.Hour))
	good := wireRequest(body, received)
	change := func(f func(*events.LambdaFunctionURLRequest)) events.LambdaFunctionURLRequest {
		req := good
		req.Headers = maps.Clone(good.Headers)
		f(&req)
		return req
	}
	header := func(name, value string) events.LambdaFunctionURLRequest {
		return change(func(r *events.LambdaFunctionURLRequest) { r.Headers[name] = value })
	}
	hash := sha256.Sum256([]byte(body))
	copied := &inbox.Existing{Delivery: &inbox.Delivery{BodySHA256: hex.EncodeToString(hash[:])}}
	type try struct {
		store front
		req   events.LambdaFunctionURLRequest
	}
	simple := func(reqs ...events.LambdaFunctionURLRequest) (tries []try) {
		for _, req := range reqs {
			tries = append(tries, try{front{}, req})
		}
		return tries
	}
	early := func(by time.Duration) events.LambdaFunctionURLRequest {
		return wireRequest(wireBody(received.Add(by-24*time.Hour)), received)
	}
	cases := map[string][]try{
		"first valid delivery": simple(good),
		"a copy of a delivery, or the same command for the same run under another delivery id": {{front{existing: copied}, good}},
		"a header is missing, delivery id or timestamp is malformed, the body is empty": simple(
			change(func(r *events.LambdaFunctionURLRequest) { delete(r.Headers, signature.HeaderDeliveryID) }),
			header(signature.HeaderDeliveryID, "a/b"), header(signature.HeaderTimestamp, "1790000000000"),
			change(func(r *events.LambdaFunctionURLRequest) { r.Body = "" })),
		"the signature is malformed or not ours, the key id is unknown, or the timestamp is outside the window": simple(
			header(signature.HeaderSignature, "sha1=00"), header(signature.HeaderSignature, strings.Repeat("00", 32)),
			header(signature.HeaderKeyID, "k9"), wireRequest(body, received.Add(-301*time.Second))),
		"another path":             simple(change(func(r *events.LambdaFunctionURLRequest) { r.RawPath = "/x" })),
		"another method than POST": simple(change(func(r *events.LambdaFunctionURLRequest) { r.RequestContext.HTTP.Method = "PUT" })),
		"the delivery id stands for another body, or the run for another command": {
			{front{existing: &inbox.Existing{Delivery: &inbox.Delivery{}}}, good}, {front{existing: &inbox.Existing{Run: &inbox.Run{}}}, good}},
		"the body is too large": simple(change(func(r *events.LambdaFunctionURLRequest) {
			r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString(make([]byte, 1001)), true
		})),
		"a content encoding": simple(header("Content-Encoding", "gzip")),
		"signed, but no valid command: broken JSON, an unknown type, a bad field, or due later than the window": simple(
			wireRequest("{", received), wireRequest(`{"type":"x"}`, received),
			wireRequest(strings.Replace(body, "wh-17", "wh/17", 1), received), early(time.Hour)),
		"the function crashed":                                     {{front{crash: true}, good}},
		"due within the window, but not yet":                       simple(early(time.Minute)),
		"the store or the keys cannot be had, or the time ran out": {{front{err: inbox.ErrUnavailable}, good}},
	}
	for _, row := range tableOf(t, "docs/wire-contract.md", "case", "status", "outcome") {
		tries, known := cases[row[0]]
		if !known {
			t.Errorf("no test asks for %q", row[0])
		}
		delete(cases, row[0])
		want := fmt.Sprintf("%s %s, Retry-After %v", row[1], row[2], strings.Contains(row[3], "Retry-After"))
		for i, try := range tries {
			if got := try.store.answer(t, try.req); got != want {
				t.Errorf("%s, way %d: answered %s, the page says %s", row[0], i+1, got, want)
			}
		}
	}
	for sentence := range cases {
		t.Errorf("the page has no row %q", sentence)
	}
}
