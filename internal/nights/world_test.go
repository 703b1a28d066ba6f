package nights_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"custody/internal/command"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	"custody/internal/localaws/lambda"
	"custody/internal/producer"
	"custody/internal/signature"
)

// stackName is that of every night's stack, as in the commands of the runbook.
const stackName = "custody"

// world is the local stack of one night with what stands around it: the operator's shell, the producer, a clock of S3's own, gates in
// front of the engines, and what the functions have logged.
type world struct {
	stack  *localaws.Stack
	shell  *shell
	cloud  *cloud
	s3, db gate
	clock  atomic.Int64 // of S3's LastModified, in Unix seconds; 0 is the true time

	mu        sync.Mutex
	logged    []logLine
	published []datum // by AWS itself
}

// logLine is a line of a function.
type logLine struct {
	at       time.Time
	function string
	text     string
}

// gate stands in front of an engine.
type gate struct{ do atomic.Pointer[interceptor] }

// interceptor sees a request and the engine behind it; true means that it has answered.
type interceptor func(w http.ResponseWriter, r *http.Request, engine http.Handler) bool

func (g *gate) set(do interceptor) { g.do.Store(&do) }
func (g *gate) open()              { g.do.Store(nil) }

func (g *gate) wrap(engine http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if do := g.do.Load(); do != nil && (*do)(w, r, engine) {
			return
		}
		engine.ServeHTTP(w, r)
	})
}

// by reports whether the request is one of this function.
func by(r *http.Request, function string) bool {
	return strings.Contains(r.UserAgent(), "app/"+function)
}

// begin starts a night's stack. functions is a folder with the functions, or empty for those that were built.
func begin(t *testing.T, n night) *world {
	t.Helper()
	w := &world{}
	w.cloud = newCloud(t, w)
	settings := map[string]string{"CUSTODY_STACK": stackName}
	for name, value := range n.settings {
		settings[name] = value
	}
	folder := built()
	if n.functions != nil {
		folder = n.functions(t, w)
	}
	stack, err := localaws.Start(t.Context(), localaws.Options{
		Settings: settings, Functions: folder, Now: w.now, WrapS3: w.s3.wrap, WrapDynamoDB: w.db.wrap, Output: w.log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	})
	w.stack = stack
	w.shell = openShell(t, append(stack.Env(), cloudAddress+"="+w.cloud.url))
	return w
}

func (w *world) now() time.Time {
	if at := w.clock.Load(); at != 0 {
		return time.Unix(at, 0)
	}
	return time.Now()
}

// day is the beginning of a day, such as 2026-06-01, in UTC.
func day(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func (w *world) log(p lambda.Process, line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logged = append(w.logged, logLine{time.Now(), p.Function, line})
}

// lines are those that a function has logged from a time on.
func (w *world) lines(function string, from time.Time) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for _, l := range w.logged {
		if l.function == function && !l.at.Before(from) {
			lines = append(lines, l.text)
		}
	}
	return lines
}

// put puts objects, each a version, as if it were that day.
func (w *world) put(t *testing.T, on string, keys ...string) {
	t.Helper()
	w.clock.Store(day(t, on).Unix())
	defer w.clock.Store(0)
	for _, key := range keys {
		_, err := w.stack.S3().PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: aws.String(w.stack.Setting("CUSTODY_BUCKET")), Key: &key, Body: strings.NewReader("x"),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// numbered are n keys with the prefix, by number.
func numbered(prefix string, n int) []string {
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf("%s%03d", prefix, i+1))
	}
	return keys
}

// left compares the bucket's versions, by key, with what must be left.
func (w *world) left(t *testing.T, want ...string) {
	t.Helper()
	pages := s3.NewListObjectVersionsPaginator(w.stack.S3(), &s3.ListObjectVersionsInput{Bucket: aws.String(w.stack.Setting("CUSTODY_BUCKET"))})
	var got []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range page.Versions {
			got = append(got, *v.Key)
		}
		for _, m := range page.DeleteMarkers {
			got = append(got, *m.Key+" (delete marker)")
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions in the bucket (-want +got):\n%s", diff)
	}
}

// delivers is the producer: it sends a cleanup of warehouse wh-17 once, under a delivery id, signed by the key, and gives the status.
func (w *world) delivers(t *testing.T, deliveryID, runID, cutoff, keyID, key string) int {
	t.Helper()
	body, err := producer.Payload(command.CleanupRun, map[string]string{"run_id": runID, "warehouse_id": "wh-17", "expired_before": cutoff})
	if err != nil {
		t.Fatal(err)
	}
	scheme, err := signature.Named(signature.SchemeTimestamped)
	if err != nil {
		t.Fatal(err)
	}
	sender := producer.Sender{
		Signer: producer.Signer{Scheme: scheme, Key: signature.NewKey(keyID, key, time.Time{})},
		URL:    w.stack.URL(), Tries: 1, Within: time.Minute, Patience: 10 * time.Second,
	}
	result, err := sender.Send(t.Context(), producer.Delivery{ID: deliveryID, Body: body})
	if err != nil || result.Err != nil {
		t.Fatalf("send %s: %v, %v", deliveryID, err, result.Err)
	}
	return result.Status
}

// accepted is the producer with the key that the stack has, whose delivery must be acknowledged.
func (w *world) accepted(t *testing.T, deliveryID, runID, cutoff string) {
	t.Helper()
	id, key := w.stack.SigningKey()
	if status := w.delivers(t, deliveryID, runID, cutoff, id, key); status != http.StatusNoContent {
		t.Fatalf("delivery %s was answered %d", deliveryID, status)
	}
}

// until asks for a cleanup run's item until it is so. The test's deadline bounds it, and soon does soon.
func (w *world) until(t *testing.T, runID, what string, is func(inbox.Run) bool) inbox.Run {
	t.Helper()
	store := dynamostore.New(w.stack.DynamoDB(), w.stack.Setting("CUSTODY_TABLE"))
	var run inbox.Run
	soon(t, "run "+runID+" "+what, func() bool {
		item, err := store.Run(t.Context(), inbox.RunKey{Type: command.CleanupRun, Key: runID})
		if err != nil {
			t.Fatal(err)
		}
		if item != nil {
			run = *item
		}
		return item != nil && is(run)
	})
	return run
}

func in(state inbox.State) func(inbox.Run) bool {
	return func(r inbox.Run) bool { return r.State == state }
}

// patience is how long a night waits for one thing on a machine that is busy.
const patience = 2 * time.Minute

// soon waits until a condition holds.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("within %s it was never so: %s", patience, what)
		case <-t.Context().Done():
			t.Fatalf("%v, and it is not so: %s", t.Context().Err(), what)
		}
	}
}

// kill ends a function's processes as kill -9 does, and waits until that is known: Lambda starts others for the next events.
func (w *world) kill(t *testing.T, function string) {
	t.Helper()
	pids := w.stack.Function(function).Processes()
	for _, pid := range pids {
		p, err := os.FindProcess(pid)
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			t.Logf("kill %s %d: %v", function, pid, err) // it has just ended by itself
		}
	}
	soon(t, function+" has ended", func() bool {
		return !slices.ContainsFunc(w.stack.Function(function).Processes(), func(pid int) bool { return slices.Contains(pids, pid) })
	})
}
