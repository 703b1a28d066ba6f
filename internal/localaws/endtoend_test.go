package localaws_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
)

// These tests see the product as its users do: HTTP in front, the built functions as processes, the real SDK behind.

// gate stands in front of an engine; what it does can change while the stack runs.
type gate struct {
	mu    sync.Mutex
	do    func(w http.ResponseWriter, r *http.Request, body []byte, engine http.Handler) bool // true: it has answered
	calls []string                                                                            // operations, as they came
}

func (g *gate) wrap(engine http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		g.mu.Lock()
		_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		g.calls = append(g.calls, op)
		do := g.do
		g.mu.Unlock()
		if do != nil && do(w, r, body, engine) {
			return
		}
		engine.ServeHTTP(w, r)
	})
}

func (g *gate) set(do func(http.ResponseWriter, *http.Request, []byte, http.Handler) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.do = do
}

func (g *gate) count(op string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, c := range g.calls {
		if c == op {
			n++
		}
	}
	return n
}

// clockOf is a clock of S3 that starts long ago and can be set to now.
type clockOf struct{ back atomic.Int64 }

func longAgo() *clockOf {
	c := &clockOf{}
	c.back.Store(int64(48 * time.Hour))
	return c
}

func (c *clockOf) now() time.Time { return time.Now().Add(-time.Duration(c.back.Load())) }

func putObject(t *testing.T, client *s3.Client, bucket, key string) string {
	t.Helper()
	out, err := client.PutObject(context.WithoutCancel(t.Context()), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("x")})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(out.VersionId)
}

func yesterday() string { return time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339) }

// reaches polls a run's item until the condition holds. The test's own deadline bounds it.
func reaches(t *testing.T, stack *localaws.Stack, run string, holds func(inbox.Run) bool) inbox.Run {
	t.Helper()
	store := dynamostore.New(stack.DynamoDB(), stack.Setting("CUSTODY_TABLE"))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		item, err := store.Run(t.Context(), inbox.RunKey{Type: "cleanup.run", Key: run})
		if err != nil {
			t.Fatal(err)
		}
		if item != nil && holds(*item) {
			return *item
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("the run never got there, it is %+v", item)
		}
	}
}

func done(r inbox.Run) bool { return r.State == inbox.StateDone || r.State == inbox.StateFailed }

func TestTwoCopiesAtTheSameMomentAreOneRunAndTwoSuccesses(t *testing.T) {
	t.Parallel()
	g := &gate{}
	stack := start(t, localaws.Options{WrapDynamoDB: g.wrap})
	// The first claim waits in front of the table until the second one has arrived: they are really at once.
	var arrived atomic.Int32
	both := make(chan struct{})
	g.set(func(_ http.ResponseWriter, r *http.Request, _ []byte, _ http.Handler) bool {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
			if arrived.Add(1) == 2 {
				close(both)
			}
			select {
			case <-both:
			case <-r.Context().Done():
			}
		}
		return false
	})
	body := cleanupRun("r-1", yesterday())
	answers := make(chan string, 2)
	for range 2 {
		go func() { answers <- deliver(t, stack, "d-1", body) }()
	}
	got := map[string]int{<-answers: 1}
	got[<-answers]++
	if diff := cmp.Diff(map[string]int{"204 accepted": 1, "204 already_processed": 1}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if run := reaches(t, stack, "r-1", done); run.Slices != 1 || run.State != inbox.StateDone {
		t.Errorf("the run is %s after %d slices, want done after 1", run.State, run.Slices)
	}
}

func TestOneChangedByteIsRefusedWithoutAStoreCall(t *testing.T) {
	t.Parallel()
	g := &gate{}
	stack := start(t, localaws.Options{WrapDynamoDB: g.wrap})
	body := cleanupRun("r-1", yesterday())
	request := signedRequest(t, stack, "d-1", body)
	request.Body = io.NopCloser(strings.NewReader(strings.Replace(body, "wh-17", "wh-18", 1)))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got := answer.Header.Get("Custody-Outcome"); answer.StatusCode != http.StatusUnauthorized || got != "rejected" {
		t.Errorf("%d %s, want 401 rejected", answer.StatusCode, got)
	}
	if n := g.count("TransactWriteItems") + g.count("PutItem"); n > 0 {
		t.Errorf("%d store calls were made", n)
	}
}

func TestWithTheStoreDownNothingIsAcknowledgedAndNothingClaimed(t *testing.T) {
	t.Parallel()
	g := &gate{}
	stack := start(t, localaws.Options{WrapDynamoDB: g.wrap})
	g.set(func(w http.ResponseWriter, r *http.Request, _ []byte, _ http.Handler) bool {
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
			return false
		}
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	body := cleanupRun("r-1", yesterday())
	if got := deliver(t, stack, "d-1", body); got != "503 retryable_failure" {
		t.Errorf("with the store down: %s", got)
	}
	store := dynamostore.New(stack.DynamoDB(), stack.Setting("CUSTODY_TABLE"))
	if run, err := store.Run(t.Context(), inbox.RunKey{Type: "cleanup.run", Key: "r-1"}); err != nil || run != nil {
		t.Errorf("something was claimed: %+v, %v", run, err)
	}
	g.set(nil)
	if got := deliver(t, stack, "d-1", body); got != "204 accepted" {
		t.Errorf("the redelivery: %s", got)
	}
}

func TestAnAnswerThatIsLostBehindTheCommitIsFoundByTheRedelivery(t *testing.T) {
	t.Parallel()
	g := &gate{}
	stack := start(t, localaws.Options{WrapDynamoDB: g.wrap})
	g.set(func(w http.ResponseWriter, r *http.Request, body []byte, engine http.Handler) bool {
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
			return false
		}
		engine.ServeHTTP(httptest.NewRecorder(), r) // committed; no attempt of the SDK ever hears of it
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	body := cleanupRun("r-1", yesterday())
	if got := deliver(t, stack, "d-1", body); got != "503 retryable_failure" {
		t.Errorf("with every answer lost: %s", got)
	}
	g.set(nil)
	if got := deliver(t, stack, "d-1", body); got != "204 already_processed" {
		t.Errorf("the redelivery: %s", got)
	}
	if run := reaches(t, stack, "r-1", done); run.State != inbox.StateDone {
		t.Errorf("the run is %s", run.State)
	}
}

func TestANewerVersionWrittenWhileTheRunDeletesTheOlderSurvives(t *testing.T) {
	t.Parallel()
	clock := longAgo()
	deleting, proceed := make(chan struct{}), make(chan struct{})
	var first sync.Once
	stack := start(t, localaws.Options{Now: clock.now, WrapS3: func(engine http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.URL.Query().Has("delete") {
				first.Do(func() { close(deleting) })
				select {
				case <-proceed:
				case <-r.Context().Done():
				}
			}
			engine.ServeHTTP(w, r)
		})
	}})
	client, bucket := stack.S3(), stack.Setting("CUSTODY_BUCKET")
	putObject(t, client, bucket, "pod/wh-17/g")
	clock.back.Store(0)
	if got := deliver(t, stack, "d-1", cleanupRun("r-1", yesterday())); got != "204 accepted" {
		t.Fatal(got)
	}
	<-deleting
	g43 := putObject(t, client, bucket, "pod/wh-17/g")
	close(proceed)
	if run := reaches(t, stack, "r-1", done); run.State != inbox.StateDone || run.Counters.Deleted != 1 {
		t.Errorf("the run is %s with %+v", run.State, run.Counters)
	}
	left, err := client.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: &bucket})
	if err != nil {
		t.Fatal(err)
	}
	if len(left.Versions) != 1 || aws.ToString(left.Versions[0].VersionId) != g43 {
		t.Errorf("left are %d versions, want the newer one alone", len(left.Versions))
	}
}

func TestAKilledCleanupProcessIsFollowedAtOnceByOneThatGoesOnFromTheCheckpoint(t *testing.T) {
	t.Parallel()
	clock := longAgo()
	g := &gate{}
	// The second batch never answers, until the process that sent it is dead.
	var deletes atomic.Int32
	var resumedBehind atomic.Value
	sent, hang := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	killed := false
	stack := start(t, localaws.Options{
		Now: clock.now, WrapDynamoDB: g.wrap, Settings: map[string]string{"CUSTODY_DELETE_CONCURRENCY": "1"},
		WrapS3: func(engine http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				mu.Lock()
				dead := killed
				mu.Unlock()
				switch {
				case r.Method == http.MethodPost && q.Has("delete") && deletes.Add(1) == 2:
					close(sent)
					<-hang
					return
				case q.Has("versions") && dead:
					resumedBehind.CompareAndSwap(nil, q.Get("key-marker"))
				}
				engine.ServeHTTP(w, r)
			})
		},
	})
	client, bucket := stack.S3(), stack.Setting("CUSTODY_BUCKET")
	const n = 2200
	var wg sync.WaitGroup
	for part := range 8 {
		wg.Go(func() {
			for i := part; i < n; i += 8 {
				putObject(t, client, bucket, fmt.Sprintf("pod/wh-17/%04d", i))
			}
		})
	}
	wg.Wait()
	clock.back.Store(0)
	if got := deliver(t, stack, "d-1", cleanupRun("r-1", yesterday())); got != "204 accepted" {
		t.Fatal(got)
	}
	before := reaches(t, stack, "r-1", func(r inbox.Run) bool { return r.Counters.Deleted == 1000 })
	<-sent
	pids := stack.Function("cleanup").Processes()
	mu.Lock()
	killed = true
	mu.Unlock()
	for _, pid := range pids {
		p, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	close(hang)
	run := reaches(t, stack, "r-1", done)
	if run.State != inbox.StateDone || run.Place.Deleted || run.Slices != 2 || run.Counters.Deleted != n {
		t.Errorf("the run is %s after %d slices with %+v, want done by an empty scan after 2", run.State, run.Slices, run.Counters)
	}
	if got := resumedBehind.Load(); got != before.Place.Key {
		t.Errorf("the second slice began behind %v, want the checkpoint %q", got, before.Place.Key)
	}
	// The lease of 90 s was not waited for: the sweeper had nothing to heal.
	if waited := run.EndedAt.Sub(before.LeaseExpiresAt); waited >= 0 {
		t.Errorf("the run ended %s behind the dead process's lease", waited)
	}
}
