package s3_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"custody/internal/localaws/s3"
	"custody/internal/localaws/steady"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// testClock is a clock that a test sets.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// store is the engine under test with a client of the real SDK in front.
type store struct {
	*sdk.Client
	endpoint string
	clock    *testClock // nil where the clock cannot be set
	wire     *recorder
}

// recorder keeps the last exchange, for what the SDK does not show.
type recorder struct {
	mu    sync.Mutex
	query url.Values
	body  []byte
}

func (r *recorder) Do(request *http.Request) (*http.Response, error) {
	response, err := (steady.Client{}).Do(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.query, r.body = request.URL.Query(), body
	return response, nil
}

// last is the query of the last request and the body of its answer.
func (r *recorder) last() (url.Values, []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.query, r.body
}

// openStore is a fresh local engine, or the engine that the environment names.
func openStore(t testing.TB) *store {
	t.Helper()
	if endpoint := os.Getenv(endpointVariable); endpoint != "" {
		return newStore(endpoint, nil)
	}
	return serveLocal(t)
}

// serveLocal is a fresh local engine whose clock stands still.
func serveLocal(t testing.TB) *store {
	t.Helper()
	clock := &testClock{now: time.Now().Truncate(time.Second)}
	server := httptest.NewServer(s3.New(s3.Options{Now: clock.Now}))
	t.Cleanup(server.Close)
	return newStore(server.URL, clock)
}

func newStore(endpoint string, clock *testClock) *store {
	wire := &recorder{}
	return &store{endpoint: endpoint, clock: clock, wire: wire, Client: newClient(endpoint, "us-east-1", wire)}
}

func newClient(endpoint, region string, wire sdk.HTTPClient) *sdk.Client {
	return sdk.New(sdk.Options{
		BaseEndpoint: aws.String(endpoint), UsePathStyle: true, Region: region, HTTPClient: wire,
		Credentials:      credentials.NewStaticCredentialsProvider("test", "test", ""),
		RetryMaxAttempts: 1,
		// What config.LoadDefaultConfig sets; a client made by hand would send fewer checksums.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	})
}

// buckets counts the buckets of this process.
var buckets atomic.Int64

// bucket makes a bucket whose versioning was never enabled.
func (s *store) bucket(t testing.TB) string {
	t.Helper()
	name := bucketName(t, int(buckets.Add(1)))
	_, err := s.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: &name})
	must(t, "create bucket", err)
	return name
}

// versioned makes a bucket with versioning enabled.
func (s *store) versioned(t testing.TB) string {
	t.Helper()
	name := s.bucket(t)
	s.setVersioning(t, name, types.BucketVersioningStatusEnabled)
	return name
}

func (s *store) setVersioning(t testing.TB, bucket string, status types.BucketVersioningStatus) {
	t.Helper()
	_, err := s.PutBucketVersioning(t.Context(), &sdk.PutBucketVersioningInput{
		Bucket: &bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: status},
	})
	must(t, "put versioning", err)
}

// put writes a version and returns its id; "" when the answer has none.
func (s *store) put(t testing.TB, bucket, key, body string) string {
	t.Helper()
	out, err := s.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader([]byte(body))})
	must(t, "put "+key, err)
	return aws.ToString(out.VersionId)
}

// mark deletes without a version id and returns the delete marker's id.
func (s *store) mark(t testing.TB, bucket, key string) string {
	t.Helper()
	out, err := s.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: &bucket, Key: &key})
	must(t, "delete "+key, err)
	return aws.ToString(out.VersionId)
}

// remove deletes one version.
func (s *store) remove(t testing.TB, bucket, key, id string) {
	t.Helper()
	_, err := s.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: &bucket, Key: &key, VersionId: &id})
	must(t, "delete "+key+" "+id, err)
}

// removeAll deletes versions with DeleteObjects and returns the answer.
func (s *store) removeAll(t testing.TB, bucket string, quiet bool, items ...item) (*sdk.DeleteObjectsOutput, error) {
	t.Helper()
	ids := make([]types.ObjectIdentifier, len(items))
	for i, v := range items {
		ids[i] = types.ObjectIdentifier{Key: aws.String(v.Key)}
		if v.ID != "" {
			ids[i].VersionId = aws.String(v.ID)
		}
	}
	return s.DeleteObjects(t.Context(), &sdk.DeleteObjectsInput{
		Bucket: &bucket, Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(quiet)},
	})
}

// body reads a version; an empty id is the current one.
func (s *store) body(ctx context.Context, bucket, key, id string) (string, error) {
	in := &sdk.GetObjectInput{Bucket: &bucket, Key: &key}
	if id != "" {
		in.VersionId = &id
	}
	out, err := s.GetObject(ctx, in)
	if err != nil {
		return "", err
	}
	defer func() { _ = out.Body.Close() }()
	data, err := io.ReadAll(out.Body)
	return string(data), err
}

// current is the body that a reader without a version id sees, or the error code.
func (s *store) current(t testing.TB, bucket, key string) string {
	t.Helper()
	body, err := s.body(t.Context(), bucket, key, "")
	if err != nil {
		return code(t, err)
	}
	return body
}

func must(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// documentItems reads the last answer as a listing in document order, which the SDK does not keep.
func (s *store) documentItems(t testing.TB) []item {
	t.Helper()
	_, body := s.wire.last()
	var doc struct {
		Entries []struct {
			XMLName        xml.Name
			Key, VersionId string
			IsLatest       bool
		} `xml:",any"`
	}
	must(t, "parse the listing", xml.Unmarshal(body, &doc))
	var items []item
	for _, e := range doc.Entries {
		if e.XMLName.Local == "Version" || e.XMLName.Local == "DeleteMarker" {
			items = append(items, item{Key: e.Key, ID: e.VersionId, Marker: e.XMLName.Local == "DeleteMarker", Latest: e.IsLatest})
		}
	}
	return items
}
