package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/cleanup"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	localdb "custody/internal/localaws/dynamodb"
	locals3 "custody/internal/localaws/s3"
	"custody/internal/retention"
	"custody/internal/s3report"
	"custody/internal/s3versions"
)

const (
	bucket       = "objects"
	reportBucket = "reports"
	scope        = "warehouse:wh-17"
)

// world is the cleanup feature over its real adapters, the real SDK and the local engines. Each request takes the time that the
// services take, so that what happens once a second happens as often as it does there. In a bubble of testing/synctest that
// costs no time, and every count is exact.
type world struct {
	t       testing.TB
	objects *locals3.Engine
	store   *dynamostore.Store
	worker  *cleanup.Worker
	onS3    counts
	onDB    counts
	ids     int
}

// What the services take for a request, in their own regions, as a rough middle: it decides how many checkpoints fall on a
// thousand versions, and nothing else here.
const (
	dynamoDBTakes = 5 * time.Millisecond
	s3Takes       = 50 * time.Millisecond
	deletingTakes = 500 * time.Millisecond // DeleteObjects with 1,000 entries
)

func s3Time(r *http.Request) time.Duration {
	if s3Operation(r) == "DeleteObjects" {
		return deletingTakes
	}
	return s3Takes
}

// settings are the defaults of the template, but that the scope may delete, and that no tags are read.
func settings() cleanup.Settings {
	return cleanup.Settings{
		DeleteScopes: []string{"*"}, DeleteConcurrency: 4, SliceBudget: 240 * time.Second, LeaseDuration: 90 * time.Second,
		ScanCeiling: 10, AttemptCeiling: 12, Retention: 90 * 24 * time.Hour,
	}
}

// newWorld makes a world whose versions were written a week ago.
func newWorld(t testing.TB, set cleanup.Settings) *world {
	t.Helper()
	w := &world{t: t}
	w.objects = locals3.New(locals3.Options{Now: weekAgo})
	past := s3Over(direct{handler: w.objects}, "http://local")
	must(t, localaws.MakeBucket(t.Context(), past, bucket))
	must(t, localaws.MakeBucket(t.Context(), past, reportBucket))
	w.work(set, w.objects, s3Time, func(*http.Request) time.Duration { return dynamoDBTakes })
	return w
}

func weekAgo() time.Time { return time.Now().Add(-7 * 24 * time.Hour) }

// work puts the worker together over an S3.
func (w *world) work(set cleanup.Settings, objects http.Handler, onS3, onDB func(*http.Request) time.Duration) {
	w.t.Helper()
	tables := localdb.New(localdb.Options{})
	must(w.t, (localaws.Tables{Inbox: "inbox", Holds: "holds"}).Make(w.t.Context(), dynamoDBOver(direct{handler: tables}, "http://local")))
	db := dynamoDBOver(direct{w.onDB.Behind(dynamoDBOperation, tables), onDB}, "http://local")
	s3 := s3Over(direct{w.onS3.Behind(s3Operation, objects), onS3}, "http://local")
	w.store = dynamostore.New(db, "inbox")
	w.worker = cleanup.New(w.store, dynamostore.NewHolds(db, "holds", slog.New(slog.DiscardHandler)),
		s3versions.New(s3, "", time.Now), set, time.Now, w.newID)
	w.worker.Reports = s3report.New(s3, reportBucket, "")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) newID() string {
	w.ids++
	return fmt.Sprintf("id-%d", w.ids)
}

const authorization = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=none"

// put writes a version, or a delete marker, past the SDK and past the counts.
func (w *world) put(key string, marker bool) {
	method := http.MethodPut
	if marker {
		method = http.MethodDelete
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://local/"+bucket+"/"+key, strings.NewReader("x"))
	must(w.t, err)
	r.Header.Set("Authorization", authorization)
	out, err := direct{handler: w.objects}.Do(r)
	must(w.t, err)
	if out.StatusCode >= 300 {
		w.t.Fatalf("%s %s: %s", method, key, out.Status)
	}
}

// run claims a run over the prefixes and works it to its end.
func (w *world) run(ctx context.Context, prefixes ...string) inbox.SliceSummary {
	w.t.Helper()
	key, wake, now := inbox.RunKey{Type: "cleanup.run", Key: "r-1"}, w.newID(), time.Now()
	sel := inbox.Selection{Bucket: bucket, Prefixes: prefixes, Cutoff: now.Add(-24 * time.Hour)}
	existing, err := w.store.Claim(ctx, inbox.Claim{
		Delivery: inbox.Delivery{ID: "d-1", BodySHA256: "b", RunKey: key.String(), ReceivedAt: now, TTL: now.Unix()},
		Run:      inbox.NewRun(key, scope, sel, "hash", "d-1", now).Start(wake),
	})
	must(w.t, err)
	if existing != nil {
		w.t.Fatalf("the claim was refused by %+v", existing)
	}
	w.onS3.Take()
	w.onDB.Take()
	_, done := w.worker.Handle(ctx, wakeEvent(w.t, key, wake))
	return done[0]
}

// wakeRecord is the record that the stream makes of a claim.
func wakeRecord(key inbox.RunKey, wake string) []byte {
	return fmt.Appendf(nil, `{"Records":[{"eventID":"record-1","eventName":"INSERT","dynamodb":{"SequenceNumber":"1",
		"Keys":{"pk":{"S":%q}},"NewImage":{"wake":{"S":%q},"scope":{"S":%q}}}}]}`, key.ItemKey(), wake, scope)
}

func wakeEvent(t testing.TB, key inbox.RunKey, wake string) events.DynamoDBEvent {
	t.Helper()
	var e events.DynamoDBEvent
	must(t, json.Unmarshal(wakeRecord(key, wake), &e))
	return e
}

// left is how many versions the bucket holds.
func (w *world) left() int {
	w.t.Helper()
	client, n, after := s3versions.New(s3Over(direct{handler: w.objects}, "http://local"), "", time.Now), 0, retention.Marker{}
	for {
		page, err := client.Page(w.t.Context(), bucket, "", after)
		must(w.t, err)
		n += len(page.Versions)
		if after = page.Next; after == (retention.Marker{}) {
			return n
		}
	}
}
