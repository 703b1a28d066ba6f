package dynamostore_test

import (
	"context"
	"net/http"
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
)

const tableName = "inbox"

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

var key = inbox.RunKey{Type: "cleanup.run", Key: "r-1"}

// storeOver is a store over the local engine, reached through the real SDK. Behind a wrapper, which makes faults, the SDK does
// not repeat requests, so that the store's own repetitions are seen alone and nothing waits.
func storeOver(t *testing.T, wrap func(http.Handler) http.Handler) (*dynamostore.Store, *dynamodb.Client) {
	t.Helper()
	engine := http.Handler(localdb.New(localdb.Options{}))
	db := clientOf(t, engine, 1)
	if err := (localaws.Tables{Inbox: tableName, Holds: "holds"}).Make(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if wrap != nil {
		db = clientOf(t, wrap(engine), 1)
	}
	return dynamostore.New(db, tableName), db
}

func clientOf(t *testing.T, h http.Handler, tries int) *dynamodb.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return clientAt(server.URL, tries)
}

func clientAt(url string, tries int) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		HTTPClient: steady.Client{},
		Region:     "us-east-1", BaseEndpoint: &url, RetryMaxAttempts: tries,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

func newRun() inbox.Run {
	sel := inbox.Selection{Bucket: "objects", Prefixes: []string{"pod/wh-17/"}, Cutoff: now.Add(-time.Hour)}
	return inbox.NewRun(key, "warehouse:wh-17", sel, "hash", "d-1", now)
}

func newDelivery(id string) inbox.Delivery {
	return inbox.Delivery{
		ID: id, CommandType: "cleanup.run", BodySHA256: "body", RunKey: key.String(), Outcome: inbox.OutcomeAccepted,
		ReceivedAt: now, TTL: now.Add(time.Hour).Unix(),
	}
}

// has puts a run into the table, past every condition.
func has(t *testing.T, s *dynamostore.Store, run inbox.Run) {
	t.Helper()
	existing, err := s.Claim(context.WithoutCancel(t.Context()), inbox.Claim{Delivery: newDelivery("d-1"), Run: run})
	if err != nil || existing != nil {
		t.Fatalf("claim: %+v, %v", existing, err)
	}
}

func stored(t *testing.T, s *dynamostore.Store) inbox.Run {
	t.Helper()
	run, err := s.Run(t.Context(), key)
	if err != nil || run == nil {
		t.Fatalf("read the run: %+v, %v", run, err)
	}
	return *run
}
