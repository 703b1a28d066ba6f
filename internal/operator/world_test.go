package operator_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	localdb "custody/internal/localaws/dynamodb"
	"custody/internal/localaws/steady"
	"custody/internal/operator"
)

const (
	inboxTable = "inbox"
	holdsTable = "holds"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

var key = inbox.RunKey{Type: "cleanup.run", Key: "r-1"}

// world is an operator over the local engine, so that what refuses is the store itself.
type world struct {
	*operator.Operator
	store *dynamostore.Store
	db    *dynamodb.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := httptest.NewServer(localdb.New(localdb.Options{}))
	t.Cleanup(server.Close)
	db := dynamodb.New(dynamodb.Options{
		HTTPClient: steady.Client{},
		Region:     "us-east-1", BaseEndpoint: &server.URL, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	if err := (localaws.Tables{Inbox: inboxTable, Holds: holdsTable}).Make(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	store := dynamostore.New(db, inboxTable)
	return &world{store: store, db: db, Operator: &operator.Operator{
		Inbox: store, Holds: dynamostore.NewHolds(db, holdsTable, slog.New(slog.DiscardHandler)),
		Types: []string{"cleanup.run", "listing.expire"}, Retention: 90 * 24 * time.Hour,
		Now: func() time.Time { return now }, NewID: func() string { return "wake-2" },
	}}
}

// runIn is a run in the state, with the attributes that go with it.
func runIn(state inbox.State) inbox.Run {
	sel := inbox.Selection{Bucket: "objects", Prefixes: []string{"pod/wh-17/"}, Cutoff: now.Add(-time.Hour)}
	run := inbox.NewRun(key, "warehouse:wh-17", sel, "hash", "d-1", now.Add(-3*time.Hour))
	run.State, run.Open = state, state.OpenIndex()
	if run.Open == "" {
		run.OpenSince, run.EndedAt, run.TTL = time.Time{}, now.Add(-time.Minute), 7
	}
	return run
}

func (w *world) has(t *testing.T, runs ...inbox.Run) {
	t.Helper()
	for _, run := range runs {
		w.claims(t, inbox.Claim{Run: run, Delivery: inbox.Delivery{
			ID: run.DeliveryID, CommandType: run.Type, RunKey: run.Key, Outcome: inbox.OutcomeAccepted, ReceivedAt: run.ReceivedAt,
		}})
	}
}

func (w *world) claims(t *testing.T, c inbox.Claim) {
	t.Helper()
	if existing, err := w.store.Claim(t.Context(), c); err != nil || existing != nil {
		t.Fatalf("claim: %+v, %v", existing, err)
	}
}

func (w *world) stored(t *testing.T) inbox.Run {
	t.Helper()
	run, err := w.store.Run(context.WithoutCancel(t.Context()), key)
	if err != nil || run == nil {
		t.Fatalf("read the run: %+v, %v", run, err)
	}
	return *run
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
