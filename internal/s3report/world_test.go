package s3report_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	locals3 "custody/internal/localaws/s3"
	"custody/internal/localaws/steady"
	"custody/internal/report"
)

const (
	bucket = "reports"
	owner  = "000000000000" // the local engine's account
)

// clientOf makes an SDK client of the handler. It repeats as the SDK does, without the pauses.
func clientOf(t *testing.T, h http.Handler) *s3.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, UsePathStyle: true, HTTPClient: steady.Client{},
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		}),
	})
}

// gate stands before the local engine and can answer in its place.
type gate struct {
	engine http.Handler
	mu     sync.Mutex
	seen   []*http.Request
	open   int // requests that are at the engine now, and the most there ever were
	most   int
	before func(n int, w http.ResponseWriter, r *http.Request) bool // true: answered, the engine does not see it
	after  func(n int, w http.ResponseWriter, r *http.Request, answer *httptest.ResponseRecorder) bool
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.seen = append(g.seen, r)
	n, before, after := len(g.seen), g.before, g.after
	g.open++
	g.most = max(g.most, g.open)
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.open--
		g.mu.Unlock()
	}()
	if before != nil && before(n, w, r) {
		return
	}
	answer := httptest.NewRecorder()
	g.engine.ServeHTTP(answer, r)
	if after != nil && after(n, w, r, answer) {
		return
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// from counts the requests anew and lets the functions answer.
func (g *gate) from(before func(int, http.ResponseWriter, *http.Request) bool, after func(int, http.ResponseWriter, *http.Request, *httptest.ResponseRecorder) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen, g.most, g.before, g.after = nil, 0, before, after
}

func (g *gate) requests() []*http.Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.seen)
}

// world is the local engine with a report bucket, behind a gate.
func world(t *testing.T) (*s3.Client, *gate) {
	t.Helper()
	g := &gate{engine: locals3.New(locals3.Options{})}
	c := clientOf(t, g)
	if _, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(bucket)}); err != nil {
		t.Fatal(err)
	}
	g.from(nil, nil)
	return c, g
}

// hangUp ends the connection without an answer.
func hangUp() { panic(http.ErrAbortHandler) }

// refuse answers as S3 does.
func refuse(w http.ResponseWriter, status int, code string) bool {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>m</Message></Error>`, code)
	return true
}

// object is the n-th selection object of a run, with one line.
func object(t *testing.T, runKey string, n int) report.Stored {
	t.Helper()
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	name, data, err := new(report.Encoder).Selection(report.Header{
		Name:  report.Name{CommandType: "cleanup.run", RunKey: runKey, Slice: 1, LeaseToken: "T", Scan: 1, Batch: n, Try: 1},
		Scope: "warehouse:wh-17", Mode: report.ModeDelete, Bucket: "objects", Prefixes: []string{"pod/"}, Cutoff: now, HoldsReadAt: now,
	}, slices.Values([]report.Selection{{Key: fmt.Sprintf("pod/%d", n), VersionID: "v", Decision: report.DecisionDelete, At: now}}))
	if err != nil {
		t.Fatal(err)
	}
	return report.Stored{Name: name, Data: data}
}
