package webhook_test

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/webhook"
)

var (
	accepted  = answer{204, inbox.OutcomeAccepted}
	already   = answer{204, inbox.OutcomeAlreadyProcessed}
	conflict  = answer{409, inbox.OutcomeConflict}
	retryable = answer{503, inbox.OutcomeRetryableFailure}
)

func rejected(status int) answer { return answer{status, inbox.OutcomeRejected} }

func TestFirstDeliveryIsClaimedWhole(t *testing.T) {
	t.Parallel()
	f := open(t)
	got, resp, sum := f.send(t, sample(t, "delivery.json"))
	if got != accepted {
		t.Fatalf("answer %v: %s", got, sum.Problem)
	}
	wantResp := events.LambdaFunctionURLResponse{StatusCode: 204, Headers: map[string]string{"Custody-Outcome": "accepted"}}
	if diff := cmp.Diff(wantResp, resp); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}

	at := receipt().Add(250 * time.Millisecond)
	due := time.Date(2026, 8, 31, 0, 0, 0, 0, time.UTC)
	wantDelivery := inbox.Delivery{
		ID: "d-1001", CommandType: "cleanup.run", RunKey: "r-2026-09-20", Outcome: inbox.OutcomeAccepted,
		// printf '%s' '<body>' | sha256sum
		BodySHA256: "92098c84b58e9928e7cfad22472f62d4ff57491542a8b2bab79d446e7b2c1821",
		ReceivedAt: at, TTL: 1_790_000_000 + 90*24*3600,
	}
	run := inbox.RunKey{Type: "cleanup.run", Key: "r-2026-09-20"}
	wantRun := inbox.NewRun(run, "warehouse:wh-17", inbox.Selection{
		Bucket: "pods", Prefixes: []string{"pod/wh-17/", "labels/wh-17/"}, Cutoff: time.Date(2026, 8, 30, 0, 0, 0, 0, time.UTC),
	}, f.Inbox.runs[run].CommandHash, "d-1001", at).Start("wake-1")
	if diff := cmp.Diff(map[string]inbox.Delivery{"d-1001": wantDelivery}, f.Inbox.deliveries); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[inbox.RunKey]inbox.Run{run: wantRun}, f.Inbox.runs); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	wantSum := inbox.DeliverySummary{
		DeliveryID: "d-1001", KeyID: "k1", CommandType: "cleanup.run", RunKey: "r-2026-09-20", Scope: "warehouse:wh-17",
		Outcome: inbox.OutcomeAccepted, Status: 204, Signature: "valid", BodyBytes: len(samplePayload),
		Age: at.Sub(due), AckLatency: 750 * time.Millisecond,
	}
	if diff := cmp.Diff(wantSum, sum); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestRecordOnlyStageClaimsWithoutAWake(t *testing.T) {
	t.Parallel()
	f := open(t, func(h *webhook.Handler) { h.Settings.RecordOnly = true })
	if got, _, _ := f.send(t, sample(t, "delivery.json")); got != accepted {
		t.Fatalf("answer %v", got)
	}
	for _, r := range f.Inbox.runs {
		if r.State != inbox.StateRecorded || r.Wake != "" || r.Open != "recorded" {
			t.Errorf("run %s, wake %q, index %q; want recorded without a wake", r.State, r.Wake, r.Open)
		}
	}
	if got, _, _ := f.send(t, sample(t, "duplicate.json")); got != already {
		t.Errorf("copy: answer %v", got)
	}
}

func TestSampleEvents(t *testing.T) {
	t.Parallel()
	f := open(t)
	for _, c := range []struct {
		name    string
		want    answer
		written [2]int
	}{
		{"get.json", rejected(405), [2]int{0, 0}},
		{"tampered.json", rejected(401), [2]int{0, 0}},
		{"delivery.json", accepted, [2]int{1, 1}},
		{"duplicate.json", already, [2]int{1, 1}},
		{"base64.json", accepted, [2]int{2, 2}},
		{"base64.json", already, [2]int{2, 2}},
	} {
		got, _, sum := f.send(t, sample(t, c.name))
		if got != c.want || f.Inbox.written() != c.written {
			t.Errorf("%s: answer %v, want %v; written %v, want %v; %s", c.name, got, c.want, f.Inbox.written(), c.written, sum.Problem)
		}
	}
}

// A body is its bytes: what was signed is what is verified, hashed and read, however the event carries it.
func TestBytesStayBytes(t *testing.T) {
	t.Parallel()
	crlf := strings.ReplaceAll(payload("r-1", "wh-1"), ",", ",\r\n") + "\n"
	for sentence, c := range map[string]struct {
		body string
		want answer
	}{
		"an emoji":                {strings.Replace(payload("r-1", "wh-1"), "{", `{"note":"🚚",`, 1), accepted},
		"CRLF and a last newline": {crlf, accepted},
		"leading whitespace":      {" \n" + payload("r-1", "wh-1"), accepted},
		"invalid UTF-8":           {"{\"note\":\"\xff\xfe\"," + payload("r-1", "wh-1")[1:], rejected(422)},
		"NUL bytes":               {payload("r-1", "wh-1") + "\x00", rejected(422)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			plain := signed(t, "d-1", c.body)
			flagged := plain
			flagged.Body, flagged.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(c.body)), true
			f := open(t)
			got, _, sum := f.send(t, flagged)
			if got != c.want || sum.Signature != "valid" || sum.BodyBytes != len(c.body) {
				t.Errorf("answer %v, want %v; signature %s, %d bytes", got, c.want, sum.Signature, sum.BodyBytes)
			}
			if c.want == accepted { // the same bytes, carried otherwise, are the same delivery
				if got, _, _ := f.send(t, plain); got != already {
					t.Errorf("the same bytes as text: answer %v", got)
				}
			}
			flagged.Body = base64.StdEncoding.EncodeToString([]byte(c.body + " "))
			if got, _, _ := f.send(t, flagged); got != rejected(401) {
				t.Errorf("one byte more than was signed: answer %v", got)
			}
		})
	}
}

func TestCopiesAliasesAndConflicts(t *testing.T) {
	t.Parallel()
	first := signed(t, "d-1", payload("r-1", "wh-1"))
	spaced := strings.ReplaceAll(payload("r-1", "wh-1"), ",", ", ")
	for sentence, c := range map[string]struct {
		second  events.LambdaFunctionURLRequest
		want    answer
		written [2]int
	}{
		"the same delivery again":                       {first, already, [2]int{1, 1}},
		"the same delivery, signed a minute later":      {later(t, "d-1", payload("r-1", "wh-1")), already, [2]int{1, 1}},
		"the same id with another run":                  {signed(t, "d-1", payload("r-2", "wh-1")), conflict, [2]int{1, 1}},
		"the same id with other bytes, the same fields": {signed(t, "d-1", spaced), conflict, [2]int{1, 1}},
		"the same run under another id":                 {signed(t, "d-2", payload("r-1", "wh-1")), already, [2]int{2, 1}},
		"the same run under another id, other bytes":    {signed(t, "d-2", spaced), already, [2]int{2, 1}},
		"the same run for another warehouse":            {signed(t, "d-2", payload("r-1", "wh-2")), conflict, [2]int{1, 1}},
		"another run for the same warehouse":            {signed(t, "d-2", payload("r-2", "wh-1")), accepted, [2]int{2, 2}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			if got, _, _ := f.send(t, first); got != accepted {
				t.Fatalf("first: answer %v", got)
			}
			for range 3 { // an answer does not change by asking again
				if got, _, sum := f.send(t, c.second); got != c.want && (c.want != accepted || got != already) {
					t.Errorf("answer %v, want %v: %s", got, c.want, sum.Problem)
				}
			}
			if f.Inbox.written() != c.written {
				t.Errorf("written %v, want %v", f.Inbox.written(), c.written)
			}
			if r := f.Inbox.runs[inbox.RunKey{Type: "cleanup.run", Key: "r-1"}]; r.DeliveryID != "d-1" || r.Scope != "warehouse:wh-1" {
				t.Errorf("the first run became %s of delivery %s", r.Scope, r.DeliveryID)
			}
		})
	}
}

// later is a delivery that was signed and received a minute behind the others.
func later(t *testing.T, id, body string) events.LambdaFunctionURLRequest {
	req := resign(sample(t, "delivery.json"), id, body, receipt().Add(time.Minute))
	req.RequestContext.TimeEpoch = receipt().Add(time.Minute).UnixMilli()
	return req
}

func TestAliasIsRecordedAsSuch(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.send(t, signed(t, "d-1", payload("r-1", "wh-1")))
	f.send(t, signed(t, "d-2", payload("r-1", "wh-1")))
	if d := f.Inbox.deliveries["d-2"]; d.Outcome != inbox.OutcomeAlreadyProcessed || d.RunKey != "r-1" || d.TTL == 0 {
		t.Errorf("alias %+v", d)
	}
}

// Between the claim that met the run and the write of the alias, another delivery may take the id.
func TestRefusedAliasIsClassifiedAgain(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		takenBy string
		want    answer
	}{
		"by its own copy":    {payload("r-1", "wh-1"), already},
		"by another command": {payload("r-7", "wh-7"), conflict},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			f.send(t, signed(t, "d-1", payload("r-1", "wh-1")))
			other := open(t)
			other.send(t, signed(t, "d-2", c.takenBy))
			f.Inbox.beforeAlias = func(m *memory) error {
				m.put(other.Inbox.deliveries["d-2"])
				return nil
			}
			if got, _, _ := f.send(t, signed(t, "d-2", payload("r-1", "wh-1"))); got != c.want {
				t.Errorf("answer %v, want %v", got, c.want)
			}
		})
	}
}

func TestManyCopiesAtOnceMakeOneRun(t *testing.T) {
	t.Parallel()
	f := open(t)
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		seen = map[answer]int{}
	)
	for range 40 {
		wg.Go(func() {
			resp, sum := f.Handler.Handle(t.Context(), sample(t, "delivery.json"))
			mu.Lock()
			defer mu.Unlock()
			seen[answer{resp.StatusCode, sum.Outcome}]++
		})
	}
	wg.Wait()
	want := map[answer]int{accepted: 1, already: 39}
	if diff := cmp.Diff(want, seen); diff != "" || f.Inbox.written() != [2]int{1, 1} {
		t.Errorf("written %v; answers (-want +got):\n%s", f.Inbox.written(), diff)
	}
}

func TestRandomRunsGetDifferentWakes(t *testing.T) {
	t.Parallel()
	f := open(t, func(h *webhook.Handler) { h.Wake = nil })
	f.send(t, signed(t, "d-1", payload("r-1", "wh-1")))
	f.send(t, signed(t, "d-2", payload("r-2", "wh-1")))
	wakes := map[string]bool{}
	for _, r := range f.Inbox.runs {
		wakes[r.Wake] = true
	}
	if len(wakes) != 2 || wakes[""] {
		t.Errorf("wakes %v", wakes)
	}
}

func TestStoreThatFails(t *testing.T) {
	t.Parallel()
	unavailable := inbox.Failed(inbox.CategoryThrottled, inbox.ErrUnavailable)
	for sentence, c := range map[string]struct {
		err  error
		want answer
	}{
		"unavailable":             {unavailable, retryable},
		"an error nobody knows":   {errors.New("boom"), retryable},
		"an item that is too big": {inbox.ErrTooLarge, rejected(422)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			f.Inbox.beforeClaim = func(context.Context) error { return c.err }
			got, resp, _ := f.send(t, sample(t, "delivery.json"))
			if got != c.want || f.Inbox.written() != [2]int{} {
				t.Errorf("answer %v, want %v; written %v", got, c.want, f.Inbox.written())
			}
			if wait := resp.Headers["Retry-After"]; (wait != "") != (c.want == retryable) {
				t.Errorf("Retry-After %q", wait)
			}
		})
	}
}

func TestAliasThatFailsIsNoSuccess(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.send(t, signed(t, "d-1", payload("r-1", "wh-1")))
	f.Inbox.beforeAlias = func(*memory) error { return inbox.ErrUnavailable }
	if got, _, _ := f.send(t, signed(t, "d-2", payload("r-1", "wh-1"))); got != retryable {
		t.Errorf("answer %v", got)
	}
}

func TestAnswerLostAfterTheCommitIsFoundByTheRedelivery(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.Inbox.afterClaim = func(context.Context) error { return inbox.ErrUnavailable }
	if got, _, _ := f.send(t, sample(t, "delivery.json")); got != retryable {
		t.Fatalf("answer %v", got)
	}
	f.Inbox.afterClaim = nil
	if got, _, _ := f.send(t, sample(t, "duplicate.json")); got != already || f.Inbox.written() != [2]int{1, 1} {
		t.Errorf("redelivery: answer %v, written %v", got, f.Inbox.written())
	}
}

func TestDueTime(t *testing.T) {
	t.Parallel()
	// Received at .25 of the second; due a day behind expired_before.
	cutoffDueIn := func(d time.Duration) string {
		at := receipt().Add(250*time.Millisecond + d - 24*time.Hour)
		return `{"run_id":"r-1","warehouse_id":"wh-1","expired_before":"` + at.Format(time.RFC3339Nano) + `"}`
	}
	notDue := answer{503, inbox.OutcomeNotDue}
	for dueIn, c := range map[time.Duration]struct {
		want       answer
		retryAfter string
	}{
		-time.Hour:                {accepted, ""},
		0:                         {accepted, ""},
		time.Nanosecond:           {notDue, "1"},
		time.Second:               {notDue, "1"},
		1001 * time.Millisecond:   {notDue, "2"},
		300 * time.Second:         {notDue, "300"},
		300*time.Second + 1:       {rejected(422), ""},
		24 * 365 * 50 * time.Hour: {rejected(422), ""},
	} {
		f := open(t)
		got, resp, sum := f.send(t, signed(t, "d-1", cutoffDueIn(dueIn)))
		if got != c.want || resp.Headers["Retry-After"] != c.retryAfter || (f.Inbox.calls == 1) != (c.want == accepted) {
			t.Errorf("due in %s: answer %v, want %v; Retry-After %q, want %q; %d store calls; %s",
				dueIn, got, c.want, resp.Headers["Retry-After"], c.retryAfter, f.Inbox.calls, sum.Problem)
		}
	}
}

func TestHeaderNamesInAnyCase(t *testing.T) {
	t.Parallel()
	req := sample(t, "delivery.json")
	shouted := map[string]string{}
	for name, value := range req.Headers {
		shouted[strings.ToUpper(name)] = value
	}
	req.Headers = shouted
	f := open(t)
	if got, _, sum := f.send(t, req); got != accepted {
		t.Errorf("answer %v: %s", got, sum.Problem)
	}
	for _, name := range []string{"x-delivery-id", "x-delivery-signature", "x-delivery-timestamp", "x-delivery-key-id", "host"} {
		both := maps.Clone(shouted)
		both[name] = shouted[strings.ToUpper(name)]
		req.Headers = both
		f := open(t)
		if got, _, sum := f.send(t, req); got != rejected(400) || sum.Signature != "malformed" || f.Inbox.calls+len(f.Keys.asked) > 0 {
			t.Errorf("%s in both cases: answer %v, signature %s", name, got, sum.Signature)
		}
	}
}
