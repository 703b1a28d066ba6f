package architecture_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"custody/internal/cleanup"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	localdynamodb "custody/internal/localaws/dynamodb"
	locals3 "custody/internal/localaws/s3"
	"custody/internal/localaws/steady"
	"custody/internal/retention"
	"custody/internal/s3report"
	"custody/internal/s3versions"
)

// The example in "What it costs" is measured and not reckoned: slices work it with the adapters that the function has, and what
// they ask of S3 and DynamoDB is counted where it arrives.
func TestDocsCountTheRequestsOfTheirExample(t *testing.T) {
	t.Parallel()
	m := startMeter(t)
	m.put(t, "wh-17", 500, 3)
	m.put(t, "wh-19", 500, 1)
	hold := retention.Hold{Scope: "warehouse:wh-19", ID: "all", Prefix: "pod/wh-19/", Reason: retention.ReasonLegalHold}
	if there, err := m.holds.Put(t.Context(), retention.Row{Hold: hold}, m.now()); err != nil || there != nil {
		t.Fatal(there, err)
	}
	dry := m.work(t, "warehouse:dry", "wh-17") // a scope that may not delete, over the same versions
	goes := m.work(t, "warehouse:wh-17", "wh-17")
	held := m.work(t, "warehouse:wh-19", "wh-19")

	want := map[string][]string{}
	for column, counts := range []map[string]int{goes, dry, held} {
		for request, n := range counts {
			if want[request] == nil {
				want[request] = []string{"0", "0", "0"}
			}
			want[request][column] = strconv.Itoa(n)
		}
	}
	got := map[string][]string{}
	for _, row := range tableOf(t, "docs/operations.md", "request of the example", "goes", "dry run", "held") {
		got[row[0]] = row[1:]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-measured +docs):\n%s", diff)
	}
}

const (
	meteredBucket  = "objects"
	meteredReports = "reports"
	meteredAccount = "000000000000" // the local engine's
)

// meter counts what the cleanup asks of the local engines.
type meter struct {
	worker  *cleanup.Worker
	store   *dynamostore.Store
	holds   *dynamostore.Holds
	objects *s3.Client
	began   time.Time

	mu     sync.Mutex
	counts map[string]int
}

// now stands still: on a slow machine holds would grow too old otherwise, and a batch is then decided and counted again.
func (m *meter) now() time.Time { return m.began }

func startMeter(t *testing.T) *meter {
	t.Helper()
	m := &meter{counts: map[string]int{}, began: time.Now()}
	past := func() time.Time { return m.began.Add(-48 * time.Hour) }
	key := credentials.NewStaticCredentialsProvider("test", "test", "")
	db := dynamodb.New(dynamodb.Options{Region: "us-east-1", Credentials: key, HTTPClient: steady.Client{},
		BaseEndpoint: m.serve(t, localdynamodb.New(localdynamodb.Options{}), nameDynamoDB)})
	m.objects = s3.New(s3.Options{Region: "us-east-1", Credentials: key, HTTPClient: steady.Client{}, UsePathStyle: true,
		BaseEndpoint: m.serve(t, locals3.New(locals3.Options{Now: past}), nameS3)})
	if err := (localaws.Tables{Inbox: "inbox", Holds: "holds"}).Make(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{meteredBucket, meteredReports} {
		if _, err := m.objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.objects.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
			Bucket: &name, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
		}); err != nil {
			t.Fatal(err)
		}
	}
	m.store = dynamostore.New(db, "inbox")
	m.holds = dynamostore.NewHolds(db, "holds", slog.New(slog.DiscardHandler))
	// The requests' own clock is behind that of the holds, so that none is too late.
	m.worker = cleanup.New(m.store, m.holds, s3versions.New(m.objects, meteredAccount, past), cleanup.Settings{
		DeleteScopes: []string{"warehouse:wh-17", "warehouse:wh-19"}, CheckTags: true, DeleteConcurrency: 4,
		SliceBudget: time.Hour, LeaseDuration: time.Hour, ScanCeiling: 10, AttemptCeiling: 12, Retention: 24 * time.Hour,
	}, m.now, rand.Text)
	m.worker.Reports = s3report.New(m.objects, meteredReports, meteredAccount)
	return m
}

func (m *meter) serve(t *testing.T, engine http.Handler, name func(*http.Request, []byte) string) *string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		m.mu.Lock()
		m.counts[name(r, body)]++
		m.mu.Unlock()
		engine.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return &server.URL
}

// nameS3 tells the operation by what the API reference puts into its request line.
func nameS3(r *http.Request, _ []byte) string {
	if r.Method == http.MethodPut {
		return "PutObject"
	}
	for word, operation := range map[string]string{
		"versions": "ListObjectVersions", "delete": "DeleteObjects", "tagging": "GetObjectTagging", "versioning": "GetBucketVersioning",
		"object-lock": "GetObjectLockConfiguration", "legal-hold": "GetObjectLegalHold", "retention": "GetObjectRetention",
	} {
		if r.URL.Query().Has(word) {
			return operation
		}
	}
	return r.Method + " " + r.URL.String()
}

func nameDynamoDB(r *http.Request, body []byte) string {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var request struct{ TableName string }
	if err := json.Unmarshal(body, &request); err != nil {
		return err.Error()
	}
	return operation + " of the " + request.TableName
}

// put puts keys with so many versions each, 32 keys at a time.
func (m *meter) put(t *testing.T, warehouse string, keys, versions int) {
	t.Helper()
	bucket := meteredBucket
	var all errgroup.Group
	all.SetLimit(32)
	for i := range keys {
		all.Go(func() error {
			key := fmt.Sprintf("pod/%s/%04d.jpg", warehouse, i)
			for range versions {
				in := &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("x")}
				if _, err := m.objects.PutObject(t.Context(), in); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// work works one run of the scope over the warehouse's prefixes to its end, in one slice, and gives what that took.
func (m *meter) work(t *testing.T, scope, warehouse string) map[string]int {
	t.Helper()
	key := inbox.RunKey{Type: "cleanup.run", Key: scope}
	run := inbox.NewRun(key, scope, inbox.Selection{
		Bucket: meteredBucket, Prefixes: []string{"pod/" + warehouse + "/", "labels/" + warehouse + "/"}, Cutoff: m.now().Add(-24 * time.Hour),
	}, "hash", "d-"+scope, m.now()).Start("wake-" + scope)
	claim := inbox.Claim{Run: run, Delivery: inbox.Delivery{
		ID: run.DeliveryID, CommandType: key.Type, RunKey: key.Key, ReceivedAt: m.now(),
	}}
	if there, err := m.store.Claim(t.Context(), claim); err != nil || there != nil {
		t.Fatal(there, err)
	}
	m.mu.Lock()
	m.counts = map[string]int{}
	m.mu.Unlock()

	began := time.Now()
	_, slices := m.worker.Handle(t.Context(), events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{
		EventID: "record-" + scope, Change: events.DynamoDBStreamRecord{
			Keys: map[string]events.DynamoDBAttributeValue{"pk": events.NewStringAttribute(key.ItemKey())},
			NewImage: map[string]events.DynamoDBAttributeValue{
				"wake": events.NewStringAttribute(run.Wake), "scope": events.NewStringAttribute(run.Scope)},
		},
	}}})
	if len(slices) != 1 || slices[0].Outcome != inbox.SliceCompleted {
		t.Fatalf("%s: the example is of one slice that completes its run, these are %+v", scope, slices)
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	// Acquire, complete, and a checkpoint a second at most.
	const writes = "UpdateItem of the inbox"
	if n, most := m.counts[writes], 2+int(time.Since(began)/time.Second); n < 2 || n > most {
		t.Errorf("%s: %d times %s, want 2 to %d", scope, n, writes, most)
	}
	counts := m.counts
	m.counts = map[string]int{} // for what the test itself asks before the next run
	delete(counts, writes)
	return counts
}
