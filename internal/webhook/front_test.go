package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/command"
	"custody/internal/inbox"
	"custody/internal/signature"
	"custody/internal/webhook"
)

// sampleKey signed the events in testdata, with another HMAC than ours.
const sampleKey = "sample key, of no real stack"

// receipt is when the sample delivery was received, to the second; its timeEpoch is a quarter of a second later.
func receipt() time.Time { return time.Unix(1_790_000_000, 0).UTC() }

// samplePayload is the body of the sample delivery.
const samplePayload = `{"type":"cleanup.run","run_id":"r-2026-09-20","warehouse_id":"wh-17","expired_before":"2026-08-30T00:00:00Z"}`

// sample decodes an event of testdata as Lambda's runtime does.
func sample(t testing.TB, name string) events.LambdaFunctionURLRequest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var req events.LambdaFunctionURLRequest
	if err := json.Unmarshal(text, &req); err != nil {
		t.Fatal(err)
	}
	return req
}

// front is the front door with everything behind it in memory.
type front struct {
	Inbox   *memory
	Keys    *ring
	Handler *webhook.Handler
}

// settings are those of the template.
func settings() webhook.Settings {
	return webhook.Settings{
		Path: "/", MaxBodyBytes: 262144, ReplayWindow: 300 * time.Second, AckTimeout: 5 * time.Second, Retention: 90 * 24 * time.Hour,
	}
}

func commands(t testing.TB) *command.Decoder {
	t.Helper()
	d, err := command.NewDecoder(command.Settings{
		Accepted: []string{command.CleanupRun}, Bucket: "pods", MinObjectAge: 24 * time.Hour,
		WarehousePrefixes: []string{"pod/{warehouse_id}/", "labels/{warehouse_id}/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func open(t testing.TB, change ...func(*webhook.Handler)) front {
	t.Helper()
	f := front{Inbox: &memory{}, Keys: &ring{keys: signature.Keys{signature.NewKey("k1", sampleKey, time.Time{})}}}
	h := webhook.Handler{
		Settings: settings(), Scheme: signature.Timestamped{}, Keys: f.Keys, Commands: commands(t), Store: f.Inbox,
		Now: func() time.Time { return receipt().Add(time.Second) }, Wake: func() string { return "wake-1" },
	}
	for _, c := range change {
		c(&h)
	}
	handler, err := webhook.New(h)
	if err != nil {
		t.Fatal(err)
	}
	f.Handler = handler
	return f
}

// answer is what a sender sees, and what stands in the summary of it.
type answer struct {
	Status  int
	Outcome inbox.Outcome
}

func (f front) send(t testing.TB, req events.LambdaFunctionURLRequest) (answer, events.LambdaFunctionURLResponse, inbox.DeliverySummary) {
	t.Helper()
	resp, sum := f.Handler.Handle(t.Context(), req)
	a := answer{resp.StatusCode, inbox.Outcome(resp.Headers[webhook.HeaderOutcome])}
	if (a != answer{sum.Status, sum.Outcome}) {
		t.Errorf("answered %v, summary says %d %s", a, sum.Status, sum.Outcome)
	}
	return a, resp, sum
}

// signed is the sample delivery with another id and body, signed at the receipt.
func signed(t testing.TB, id, body string) events.LambdaFunctionURLRequest {
	t.Helper()
	return resign(sample(t, "delivery.json"), id, body, receipt())
}

func resign(req events.LambdaFunctionURLRequest, id, body string, at time.Time) events.LambdaFunctionURLRequest {
	req.Headers = maps.Clone(req.Headers)
	key := signature.NewKey("", sampleKey, time.Time{})
	for name, value := range (signature.Timestamped{}).Sign(key, id, at, []byte(body)) {
		req.Headers[strings.ToLower(name)] = value
	}
	req.Body = body
	return req
}

func payload(run, warehouse string) string {
	return fmt.Sprintf(`{"run_id":%q,"warehouse_id":%q,"expired_before":"2026-08-30T00:00:00Z"}`, run, warehouse)
}

// memory keeps what was written, under the promises of the store. Each fault is asked before the write it names.
type memory struct {
	mu         sync.Mutex
	deliveries map[string]inbox.Delivery
	runs       map[inbox.RunKey]inbox.Run
	calls      int

	beforeClaim func(context.Context) error // the claim is not written
	afterClaim  func(context.Context) error // the claim is written, and its answer lost
	beforeAlias func(*memory) error
}

func (m *memory) Claim(ctx context.Context, c inbox.Claim) (*inbox.Existing, error) {
	m.mu.Lock()
	m.calls++
	before, after := m.beforeClaim, m.afterClaim
	m.mu.Unlock()
	if before != nil {
		if err := before(ctx); err != nil {
			return nil, err
		}
	}
	existing := m.write(c)
	if after != nil {
		if err := after(ctx); err != nil {
			return nil, err
		}
	}
	return existing, nil
}

func (m *memory) write(c inbox.Claim) *inbox.Existing {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, hasDelivery := m.deliveries[c.Delivery.ID]
	r, hasRun := m.runs[c.Run.RunKey()]
	if !hasDelivery && !hasRun {
		m.put(c.Delivery)
		if m.runs == nil {
			m.runs = map[inbox.RunKey]inbox.Run{}
		}
		m.runs[c.Run.RunKey()] = c.Run
		return nil
	}
	e := new(inbox.Existing)
	if hasDelivery {
		e.Delivery = &d
	}
	if hasRun {
		e.Run = &r
	}
	return e
}

func (m *memory) put(d inbox.Delivery) {
	if m.deliveries == nil {
		m.deliveries = map[string]inbox.Delivery{}
	}
	m.deliveries[d.ID] = d
}

func (m *memory) Alias(_ context.Context, d inbox.Delivery) (*inbox.Delivery, error) {
	if m.beforeAlias != nil {
		if err := m.beforeAlias(m); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if there, exists := m.deliveries[d.ID]; exists {
		return &there, nil
	}
	m.put(d)
	return nil, nil
}

// written are the numbers of deliveries and runs.
func (m *memory) written() [2]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return [2]int{len(m.deliveries), len(m.runs)}
}

// ring is a source of keys that remembers what it was asked for.
type ring struct {
	mu    sync.Mutex
	keys  signature.Keys
	err   error
	asked []string
	fault func(context.Context)

	atHand bool // nobody has to be asked
}

// Cached is none, as a rule: this source may always hang.
func (r *ring) Cached(_ string, at time.Time) (signature.Keys, bool) {
	return r.keys.Active(at), r.atHand
}

func (r *ring) Active(ctx context.Context, id string, at time.Time) (signature.Keys, error) {
	r.mu.Lock()
	r.asked = append(r.asked, id)
	fault := r.fault
	r.mu.Unlock()
	if fault != nil {
		fault(ctx)
	}
	return r.keys.Active(at), r.err
}

// heal ends all faults for the calls to come; those that hang stay where they are.
func (f front) heal() {
	f.Inbox.mu.Lock()
	defer f.Inbox.mu.Unlock()
	f.Keys.mu.Lock()
	defer f.Keys.mu.Unlock()
	f.Inbox.beforeClaim, f.Inbox.afterClaim, f.Keys.fault = nil, nil, nil
}
