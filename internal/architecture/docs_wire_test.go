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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"custody/internal/command"
	"custody/internal/inbox"
	"custody/internal/producer"
	"custody/internal/signature"
	"custody/internal/webhook"
)

const contract = "docs/wire-contract.md"

// example is one line of a scheme's worked example.
func example(t *testing.T, section, name string) string {
	t.Helper()
	_, block, _ := strings.Cut(section, "\n```text\n")
	block, _, _ = strings.Cut(block, "```")
	m := regexp.MustCompile(`(?m)^` + name + ` +(.+)$`).FindStringSubmatch(block)
	if m == nil {
		t.Fatalf("the example has no line %q:\n%s", name, block)
	}
	return m[1]
}

// The digits are made by hand first: the examples are for those who do not have our code.
func TestDocsWorkedExamplesAreTrue(t *testing.T) {
	t.Parallel()
	sections := sectionsOf(t, contract, "The schemes")
	if diff := cmp.Diff(slices.Sorted(slices.Values(signature.SchemeNames())), slices.Sorted(maps.Keys(sections))); diff != "" {
		t.Fatalf("schemes (-code +docs):\n%s", diff)
	}
	const at, id, secret = "1790000000", "d-2026-09-20", "correct horse battery staple"
	for name, section := range sections {
		scheme, err := signature.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		key, body := example(t, section, "key"), example(t, section, "body")
		message := map[string]string{
			signature.SchemeTimestamped: at + "." + body, signature.SchemeStandardWebhooks: id + "." + at + "." + body, signature.SchemeBody: body,
		}[name]
		mac := hmac.New(sha256.New, []byte(secret))
		fmt.Fprint(mac, message)
		header := map[string]string{
			signature.SchemeTimestamped:      "X-Delivery-Signature: sha256=" + hex.EncodeToString(mac.Sum(nil)),
			signature.SchemeStandardWebhooks: "webhook-signature: v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
			signature.SchemeBody:             "X-App-Signature: " + hex.EncodeToString(mac.Sum(nil)),
		}[name]
		want := map[string]string{"key": secret, "message": message, "header": header, "timestamp": at, "id": id}
		switch name {
		case signature.SchemeStandardWebhooks:
			want["key"] = "whsec_" + base64.StdEncoding.EncodeToString([]byte(secret))
		case signature.SchemeTimestamped:
			delete(want, "id")
		case signature.SchemeBody:
			delete(want, "id")
			delete(want, "timestamp")
		}
		got := map[string]string{}
		for line := range want {
			got[line] = example(t, section, line)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("example of %s (-by hand +docs):\n%s", name, diff)
		}
		if said := fmt.Sprintf("has %d bytes", len(body)); !strings.Contains(readRoot(t, contract), said) {
			t.Errorf("the page does not say that the body of %s %s", name, said)
		}
		signedName, value, _ := strings.Cut(header, ": ")
		ours := scheme.Sign(signature.NewKey("k1", key, time.Time{}), id, time.Unix(1_790_000_000, 0), []byte(body))
		if ours[signedName] != value {
			t.Errorf("%s itself signs with %s", name, ours[signedName])
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(ours)), headersOf(section)); diff != "" {
			t.Errorf("headers of %s (-code +docs):\n%s", name, diff)
		}
	}
}

// headersOf are the names in a section's table of headers.
func headersOf(section string) []string {
	var names []string
	for line := range strings.Lines(section) {
		if cells := cellsOf(line); cells != nil && cells[0] != "header" && !strings.HasPrefix(cells[0], "---") {
			names = append(names, cells[0])
		}
	}
	slices.Sort(names)
	return names
}

func TestDocsHaveTheFieldsOfEveryCommand(t *testing.T) {
	t.Parallel()
	sections := sectionsOf(t, contract, "The commands")
	if diff := cmp.Diff(command.Types(), slices.Sorted(maps.Keys(sections))); diff != "" {
		t.Errorf("commands (-code +docs):\n%s", diff)
	}
	commands := everyCommand(t)
	for name, section := range sections {
		var want [][]string
		for _, f := range producer.Fields(name) {
			want = append(want, []string{f.Name, string(f.Form), f.Means})
		}
		if diff := cmp.Diff(want, tableOf(t, contract, name, "form", "meaning")); diff != "" {
			t.Errorf("fields of %s (-code +docs):\n%s", name, diff)
		}
		_, example, _ := strings.Cut(section, "```json\n")
		example, _, _ = strings.Cut(example, "\n```")
		if c, err := commands.Decode([]byte(example)); err != nil || c.Type != name {
			t.Errorf("the example of %s is read as %q: %v", name, c.Type, err)
		}
	}
}

func TestDocsHaveEveryScheme(t *testing.T) {
	t.Parallel()
	var want [][]string
	for _, name := range signature.SchemeNames() {
		scheme, err := signature.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		window, key := "yes", "the text itself"
		headers := scheme.Sign(signature.NewKey("", "whsec_eA==", time.Time{}), "d-1", received, []byte("{}"))
		e, err := scheme.Read(func(name string) (string, bool) { v, ok := headers[name]; return v, ok })
		if err != nil {
			t.Fatal(err)
		}
		if e.Fresh(received.Add(time.Hour), time.Minute) == nil {
			window = "none"
		}
		if scheme.CheckKey(signature.NewKey("", "plain", time.Time{})) != nil {
			key = "whsec_ and base64"
		}
		want = append(want, []string{name, window, key})
	}
	var got [][]string
	for _, row := range tableOf(t, contract, "scheme", "what is signed") {
		got = append(got, []string{row[0], row[2], row[3]})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schemes (-code +docs):\n%s", diff)
	}
}

// The tool and the page have one table. Whether it is true is the next test's.
func TestDocsHaveTheAnswersThatTheToolExplains(t *testing.T) {
	t.Parallel()
	var want [][]string
	for _, a := range producer.Answers() {
		want = append(want, []string{fmt.Sprint(a.Status), or(string(a.Outcome), "none"), a.Means, a.Do})
	}
	if diff := cmp.Diff(want, tableOf(t, contract, "status", "outcome", "meaning")); diff != "" {
		t.Errorf("answers (-tool +docs):\n%s", diff)
	}
}

// front is the webhook in front of a store that says what the case wants.
type front struct {
	existing *inbox.Existing
	err      error
	crash    bool
	notHeld  bool // the reservation
	record   bool // the stage is record-only
}

func (f front) Expire(context.Context, inbox.Delivery, inbox.Expiry) (*inbox.ExpiryRefused, error) {
	if f.notHeld {
		return &inbox.ExpiryRefused{Reservation: true}, nil
	}
	return nil, f.err
}

func (f front) Decline(context.Context, inbox.Delivery, inbox.Expiry) (*inbox.ExpiryRefused, error) {
	return nil, f.err
}

func (f front) Claim(context.Context, inbox.Claim) (*inbox.Existing, error) {
	if f.crash {
		panic("a defect")
	}
	return f.existing, f.err
}

func (f front) Alias(context.Context, inbox.Delivery) (*inbox.Delivery, error) { return nil, f.err }

func (f front) Cached(string, time.Time) (signature.Keys, bool) { return nil, false }
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

// everyCommand decodes as a stack that takes every command, cleanup.run where a payload has no type.
func everyCommand(t *testing.T) *command.Decoder {
	t.Helper()
	d, err := command.NewDecoder(command.Settings{
		Accepted: command.Types(), Bucket: "b", MinObjectAge: 24 * time.Hour,
		WarehousePrefixes: []string{"pod/{warehouse_id}/"}, ListingPrefixes: []string{"search/{listing_id}/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (f front) answer(t *testing.T, req events.LambdaFunctionURLRequest) string {
	t.Helper()
	h, err := webhook.New(webhook.Handler{
		Settings: webhook.Settings{Path: "/", MaxBodyBytes: 1000, ReplayWindow: 5 * time.Minute, AckTimeout: 5 * time.Second, Retention: time.Hour,
			RecordOnly: f.record},
		Scheme: signature.Timestamped{}, Keys: f, Store: f, Reservations: f, Commands: everyCommand(t), Now: func() time.Time { return received },
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
	reservation := wireRequest(`{"type":"reservation.expire","reservationId":"r-1","titleId":"t-1","expiresAt":"2026-08-30T00:00:00Z"}`, received)
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
		"first valid delivery: the command is written down durably":                                          simple(good),
		"the reservation was held past its deadline, and has expired with this delivery":                     {{front{}, reservation}},
		"the reservation was paid, released, extended or expired before, or is missing: nothing was changed": {{front{notHeld: true}, reservation}},
		"a copy of a delivery, or the same command for the same run under another delivery id":               {{front{existing: copied}, good}},
		"a header is missing, delivery id or timestamp is malformed, the body is empty": simple(
			change(func(r *events.LambdaFunctionURLRequest) { delete(r.Headers, signature.HeaderDeliveryID) }),
			header(signature.HeaderDeliveryID, "a/b"), header(signature.HeaderTimestamp, "1790000000000"),
			change(func(r *events.LambdaFunctionURLRequest) { r.Body = "" })),
		"the signature is malformed or not ours, the key id is unknown, or the timestamp is outside the window": simple(
			header(signature.HeaderSignature, "sha1=00"), header(signature.HeaderSignature, strings.Repeat("00", 32)),
			header(signature.HeaderKeyID, "k9"), wireRequest(body, received.Add(-301*time.Second))),
		"the path is not the one that the stack takes": simple(change(func(r *events.LambdaFunctionURLRequest) { r.RawPath = "/x" })),
		"the method is not POST":                       simple(change(func(r *events.LambdaFunctionURLRequest) { r.RequestContext.HTTP.Method = "PUT" })),
		"the delivery id stands for another body, or the run for another command": {
			{front{existing: &inbox.Existing{Delivery: &inbox.Delivery{}}}, good}, {front{existing: &inbox.Existing{Run: &inbox.Run{}}}, good}},
		"the body is too large": simple(change(func(r *events.LambdaFunctionURLRequest) {
			r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString(make([]byte, 1001)), true
		})),
		"the body has a content encoding": simple(header("Content-Encoding", "gzip")),
		"signed, but no valid command: broken JSON, an unknown type, a bad field, or due later than the window": simple(
			wireRequest("{", received), wireRequest(`{"type":"x"}`, received),
			wireRequest(strings.Replace(body, "wh-17", "wh/17", 1), received), early(time.Hour)),
		"the function crashed":               {{front{crash: true}, good}},
		"due within the window, but not yet": simple(early(time.Minute)),
		"the store or the keys cannot be had, the time ran out, or a reservation cannot expire in the record-only stage": {
			{front{err: inbox.ErrUnavailable}, good}, {front{err: inbox.ErrUnavailable}, reservation}, {front{record: true}, reservation}},
	}
	for _, row := range tableOf(t, contract, "status", "outcome", "meaning") {
		if row[1] == "none" { // Lambda's own
			continue
		}
		tries, known := cases[row[2]]
		if !known {
			t.Errorf("no test asks for %q", row[2])
		}
		delete(cases, row[2])
		want := fmt.Sprintf("%s %s, Retry-After %v", row[0], row[1], strings.Contains(row[3], "Retry-After"))
		for i, try := range tries {
			if got := try.store.answer(t, try.req); got != want {
				t.Errorf("%s, way %d: answered %s, the page says %s", row[2], i+1, got, want)
			}
		}
	}
	for sentence := range cases {
		t.Errorf("the page has no row %q", sentence)
	}
}
