package cleanup_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"custody/internal/cleanup"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	localdb "custody/internal/localaws/dynamodb"
	locals3 "custody/internal/localaws/s3"
	"custody/internal/localaws/steady"
	"custody/internal/retention"
	"custody/internal/s3versions"
)

const (
	bucket = "objects"
	scope  = "warehouse:wh-17"
)

// day is the time of the world when it begins; versions are written at the clock's time.
var day = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

var key = inbox.RunKey{Type: "cleanup.run", Key: "r-1"}

// world is a worker over the local engines, reached through the real SDK, with a clock that the test sets.
type world struct {
	t       *testing.T
	now     atomic.Int64 // Unix nanoseconds
	ids     atomic.Int64
	db      *dynamodb.Client
	s3      *s3.Client // what the worker uses
	direct  *s3.Client // past the observers
	store   *dynamostore.Store
	set     cleanup.Settings
	key     inbox.RunKey                      // of the run that claims and events name
	reports cleanup.Reports                   // nil: no report is written
	jitter  func(time.Duration) time.Duration // nil: the worker's own

	mu       sync.Mutex
	objects  http.Handler     // the S3 engine itself, unobserved
	onS3     http.HandlerFunc // in front of the engine, which it calls itself through objects
	onDB     func(w http.ResponseWriter, r *http.Request, next http.Handler)
	requests []string // what S3 was asked, as "METHOD operation"
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOver(t, func(h http.Handler) (string, s3.HTTPClient) {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return server.URL, steady.Client{}
	})
}

// newSocketless is a world for those who make a hundred of them: requests go from the SDK to the engines without a network.
func newSocketless(t *testing.T) *world {
	t.Helper()
	return newWorldOver(t, func(h http.Handler) (string, s3.HTTPClient) { return "http://local", straight{h} })
}

func newWorldOver(t *testing.T, reach func(http.Handler) (endpoint string, client s3.HTTPClient)) *world {
	t.Helper()
	w := &world{t: t, key: key, set: cleanup.Settings{
		DeleteScopes: []string{"*"}, DeleteConcurrency: 4, SliceBudget: time.Hour, LeaseDuration: 90 * time.Second,
		ScanCeiling: 10, AttemptCeiling: 12, Retention: 24 * time.Hour,
	}}
	w.now.Store(day.UnixNano())
	objects := locals3.New(locals3.Options{Now: w.clock})
	w.objects = objects
	s3URL, s3Client := reach(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.requests = append(w.requests, r.Method+" "+operation(r))
		hook := w.onS3
		w.mu.Unlock()
		if hook != nil {
			hook(rw, r)
			return
		}
		objects.ServeHTTP(rw, r)
	}))
	tables := localdb.New(localdb.Options{Now: w.clock})
	dbURL, dbClient := reach(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		hook := w.onDB
		w.mu.Unlock()
		if hook != nil {
			hook(rw, r, tables)
			return
		}
		tables.ServeHTTP(rw, r)
	}))
	who := credentials.NewStaticCredentialsProvider("test", "test", "")
	w.db = dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: &dbURL, Credentials: who, HTTPClient: dbClient})
	w.s3 = s3.New(s3.Options{Region: "us-east-1", BaseEndpoint: &s3URL, UsePathStyle: true, Credentials: who, HTTPClient: s3Client})
	w.direct = s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: &s3URL, UsePathStyle: true, Credentials: who,
		HTTPClient: straight{objects},
	})
	w.store = dynamostore.New(w.db, "inbox")
	w.must(localaws.Tables{Inbox: "inbox", Holds: "holds"}.Make(t.Context(), w.db))
	w.must(localaws.MakeBucket(t.Context(), w.direct, bucket))
	return w
}

// straight answers from the handler without a network.
type straight struct{ h http.Handler }

func (s straight) Do(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	answer := httptest.NewRecorder()
	s.h.ServeHTTP(answer, r)
	response := answer.Result()
	response.Request = r
	return response, nil
}

func operation(r *http.Request) string {
	for _, sub := range []string{"versions", "delete", "versioning"} {
		if r.URL.Query().Has(sub) {
			return sub
		}
	}
	return "object"
}

func (w *world) clock() time.Time { return time.Unix(0, w.now.Load()).UTC() }
func (w *world) at(t time.Time)   { w.now.Store(t.UnixNano()) }

func (w *world) newID() string { return fmt.Sprintf("id-%d", w.ids.Add(1)) }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) versioning(status types.BucketVersioningStatus) {
	w.t.Helper()
	_, err := w.direct.PutBucketVersioning(context.WithoutCancel(w.t.Context()), &s3.PutBucketVersioningInput{
		Bucket: aws.String(bucket), VersioningConfiguration: &types.VersioningConfiguration{Status: status},
	})
	w.must(err)
}

// put writes one version and returns its id.
func (w *world) put(key string) string {
	w.t.Helper()
	out, err := w.direct.PutObject(context.WithoutCancel(w.t.Context()), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &key, Body: strings.NewReader("x")})
	w.must(err)
	return aws.ToString(out.VersionId)
}

// mark writes a delete marker and returns its id.
func (w *world) mark(key string) string {
	w.t.Helper()
	out, err := w.direct.DeleteObject(context.WithoutCancel(w.t.Context()), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: &key})
	w.must(err)
	return aws.ToString(out.VersionId)
}

// remove deletes one version by its id.
func (w *world) remove(key, id string) {
	w.t.Helper()
	_, err := w.direct.DeleteObject(context.WithoutCancel(w.t.Context()), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: &key, VersionId: &id})
	w.must(err)
}

// wake makes the sweeper's move; false when it was refused.
func (w *world) wake(now time.Time) bool {
	w.t.Helper()
	return w.wakeOf(now, key)
}

func (w *world) wakeOf(now time.Time, key inbox.RunKey) bool {
	w.t.Helper()
	_, err := w.store.Move(w.t.Context(), key, inbox.Wake(), inbox.Change{Now: now, NewWake: w.newID(), WakeBefore: now.Add(-time.Minute)})
	if _, refused := errors.AsType[*inbox.Refused](err); refused {
		return false
	}
	w.must(err)
	return true
}

// hold writes a row of the holds table; each value is a string, or a number.
func (w *world) hold(row map[string]any) {
	w.t.Helper()
	item := map[string]dbtypes.AttributeValue{}
	for name, v := range row {
		switch v := v.(type) {
		case string:
			item[name] = &dbtypes.AttributeValueMemberS{Value: v}
		case int64:
			item[name] = &dbtypes.AttributeValueMemberN{Value: fmt.Sprint(v)}
		}
	}
	_, err := w.db.PutItem(context.WithoutCancel(w.t.Context()), &dynamodb.PutItemInput{TableName: aws.String("holds"), Item: item})
	w.must(err)
}

// left lists what the bucket holds, as "key id" with a mark for what is current.
func (w *world) left() []string {
	w.t.Helper()
	out := []string{}
	for _, v := range w.listing() {
		out = append(out, v.Key+" "+v.ID)
	}
	return out
}

// listing asks the engine itself, past the observers.
func (w *world) listing() []retention.Version {
	w.t.Helper()
	c := s3versions.New(w.direct, "", w.clock)
	var all []retention.Version
	after := retention.Marker{}
	for {
		page, err := c.Page(context.WithoutCancel(w.t.Context()), bucket, "", after)
		w.must(err)
		all = append(all, page.Versions...)
		if after = page.Next; after == (retention.Marker{}) {
			return all
		}
	}
}

// claim claims a run over the prefixes with the cutoff, and returns its wake.
func (w *world) claim(cutoff time.Time, prefixes ...string) string {
	w.t.Helper()
	sel := inbox.Selection{Bucket: bucket, Prefixes: prefixes, Cutoff: cutoff}
	wake := w.newID()
	run := inbox.NewRun(w.key, scope, sel, "hash", "d-"+w.key.Key, w.clock()).Start(wake)
	existing, err := w.store.Claim(w.t.Context(), inbox.Claim{
		Delivery: inbox.Delivery{ID: "d-" + w.key.Key, BodySHA256: "b", RunKey: w.key.String(), ReceivedAt: w.clock(), TTL: 1}, Run: run,
	})
	w.must(err)
	if existing != nil {
		w.t.Fatalf("the claim was refused by %+v", existing)
	}
	return wake
}

func (w *world) run() inbox.Run {
	w.t.Helper()
	run, err := w.store.Run(context.WithoutCancel(w.t.Context()), w.key)
	w.must(err)
	if run == nil {
		w.t.Fatal("there is no run")
	}
	return *run
}

func (w *world) worker() *cleanup.Worker {
	worker := cleanup.New(w.store, dynamostore.NewHolds(w.db, "holds", slog.New(slog.DiscardHandler)),
		s3versions.New(w.s3, "", w.clock), w.set, w.clock, w.newID)
	worker.Reports = w.reports
	if w.jitter != nil {
		worker.Jitter = w.jitter
	}
	return worker
}

// deliver hands the wake to a worker as the stream does, and returns what became of it.
func (w *world) deliver(ctx context.Context, record, wake string) inbox.SliceSummary {
	w.t.Helper()
	response, done := w.worker().Handle(ctx, wakeEventOf(w.t, w.key, record, wake))
	if len(done) != 1 {
		w.t.Fatalf("%d summaries, want 1", len(done))
	}
	failed := len(response.BatchItemFailures) > 0
	if unwritten := done[0].Outcome == inbox.SliceUnwritten; failed != unwritten {
		w.t.Errorf("record reported as failed: %v, outcome %s", failed, done[0].Outcome)
	}
	return done[0]
}

func wakeEvent(t *testing.T, record, wake string) events.DynamoDBEvent {
	t.Helper()
	return wakeEventOf(t, key, record, wake)
}

func wakeEventOf(t *testing.T, key inbox.RunKey, record, wake string) events.DynamoDBEvent {
	t.Helper()
	return decodeEvent(t, fmt.Sprintf(`{"Records":[{"eventID":%q,"eventName":"MODIFY","eventSource":"aws:dynamodb","dynamodb":{
		"Keys":{"pk":{"S":%q}},"NewImage":{"pk":{"S":%q},"wake":{"S":%q},"scope":{"S":%q}},"SequenceNumber":"100"}}]}`,
		record, key.ItemKey(), key.ItemKey(), wake, scope))
}

func decodeEvent(t *testing.T, text string) events.DynamoDBEvent {
	t.Helper()
	var e events.DynamoDBEvent
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	return e
}
