package invariants

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/cleanup"
	"custody/internal/localaws"
	localdb "custody/internal/localaws/dynamodb"
	locals3 "custody/internal/localaws/s3"
	"custody/internal/s3versions"
)

// What the world is made of.
const (
	Bucket       = "objects"
	reportBucket = "reports"
	inboxTable   = "inbox"
	holdsTable   = "holds"
	owner        = "000000000000" // of the bucket, as the local S3 has it
)

// Options say how a world differs from a healthy one.
type Options struct {
	Seed   uint64                  // of the latencies
	Fault  func(Call) Fault        // nil: nothing fails; called for every attempt
	Stream func(n int) StreamFault // nil: nothing fails; called for every record that starts a slice
	// Skew is how far the clock of a process runs ahead; nil: all clocks are right.
	Skew func(process string) time.Duration
	// Crash says whether an invocation, counted from 1 for each function, dies before the function does anything; nil: none does.
	Crash    func(function string, n int) bool
	PageSize int                      // most entries of a page of a listing; 0: as many as were asked for
	Latency  func(Call) time.Duration // one way, on top of some milliseconds; nil: none
	Settings func(*cleanup.Settings)  // changes to the cleanup function's settings
	Locks    bool                     // the bucket has Object Lock
	// Reports and Versions stand between the worker and its adapters, to plant what the observer must see; nil: nothing does.
	Reports  func(client *s3.Client, next cleanup.Reports) cleanup.Reports
	Versions func(next *s3versions.Client) Versions
	// Refuse answers for one version of a delete request in S3's place: with an error of the code, or, where it is Unmentioned, not
	// at all. n counts the versions of the key from 1; "" lets S3 answer. It is called with the world's lock held.
	Refuse func(key string, n int) string
	// Trace is told of each request as it leaves and as it is served, in words; nil: nobody is. It is called with the world's lock held.
	Trace func(line string)
	// Before is called when a request has reached its engine and is not yet served, and may write to the world.
	Before func(w *World, c Call)
}

// World is the product with its engines. All of it must live and end in one bubble of testing/synctest.
type World struct {
	options Options
	ctx     context.Context
	stop    context.CancelFunc
	set     cleanup.Settings
	flights sync.WaitGroup // requests on their way and handlers at work
	outside sync.WaitGroup // producers, writers, operators
	loops   sync.WaitGroup // the stream mapping and the schedule
	mapping *mapping

	mu       sync.Mutex // guards the engines, so that one request at a time is seen with what it changed, and what follows
	tables   *localdb.Engine
	objects  *locals3.Engine
	started  map[string]int // processes of each function
	invoked  map[string]int // invocations of each function
	idle     map[string][]*process
	calls    []Call
	observer observer
	paused   bool // the schedule stands still
}

// epoch is when a bubble's clock has Unix seconds of ten digits, which the timestamped scheme asks for.
const epoch = 1_000_000_000

// New makes a world with empty tables and an empty bucket with versioning. Nothing runs before Start, or after the end of ctx.
func New(ctx context.Context, o Options) (*World, error) {
	time.Sleep(time.Until(time.Unix(epoch, 0)))
	w := &World{
		options: o, tables: localdb.New(localdb.Options{}), objects: locals3.New(locals3.Options{}),
		started: map[string]int{}, invoked: map[string]int{}, idle: map[string][]*process{},
		set: cleanup.Settings{
			DeleteScopes: []string{"*"}, DeleteConcurrency: 1, SliceBudget: 240 * time.Second, LeaseDuration: 90 * time.Second,
			ScanCeiling: 10, AttemptCeiling: 12, Retention: 90 * 24 * time.Hour, CheckTags: true,
		},
	}
	w.ctx, w.stop = context.WithCancel(ctx)
	w.observer = newObserver(w)
	if o.Settings != nil {
		o.Settings(&w.set)
	}
	for _, table := range (localaws.Tables{Inbox: inboxTable, Holds: holdsTable}).All() {
		if *table.Input.TableName != "" {
			if err := w.createTable(table); err != nil {
				return nil, err
			}
		}
	}
	for _, bucket := range []string{Bucket, reportBucket} {
		if err := w.makeBucket(bucket, o.Locks && bucket == Bucket); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// makeBucket makes a bucket with versioning.
func (w *World) makeBucket(bucket string, locks bool) error {
	for _, step := range []struct {
		query, body string
		wanted      bool
	}{
		{"", "", true},
		{"versioning", "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>", true},
		{"object-lock", "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>", locks},
	} {
		if !step.wanted {
			continue
		}
		if a := w.s3(http.MethodPut, bucket, "", step.query, step.body); !a.ok() {
			return fmt.Errorf("make the bucket %s: %s", bucket, a.body.String())
		}
	}
	return nil
}

// createTable says to the engine what the stack's own definition says, without the SDK's waiter.
func (w *World) createTable(t localaws.Table) error {
	text, err := json.Marshal(t.Input)
	if err != nil {
		return err
	}
	var in map[string]any
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	prune(in)
	return w.db("DynamoDB_20120810.CreateTable", in, &struct{}{})
}

// prune takes out what the SDK's type has and was not set.
func prune(m map[string]any) {
	for name, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, name)
		case string:
			if v == "" {
				delete(m, name)
			}
		case map[string]any:
			prune(v)
		case []any:
			for _, e := range v {
				if inner, ok := e.(map[string]any); ok {
					prune(inner)
				}
			}
		}
	}
}

// db asks the local DynamoDB past all observation.
func (w *World) db(target string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r := &http.Request{
		Method: http.MethodPost, URL: &url.URL{Scheme: "http", Host: "dynamodb.local", Path: "/"}, Host: "dynamodb.local",
		Header: http.Header{"X-Amz-Target": {target}, "Authorization": {authorization}},
	}
	a := serve(w.tables, r, body)
	if !a.ok() {
		return fmt.Errorf("%s: %s", target, a.body.String())
	}
	return json.NewDecoder(bytes.NewReader(a.body.Bytes())).Decode(out)
}

const authorization = "AWS4-HMAC-SHA256 Credential=test/20010909/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"

// s3 asks the local S3 past all observation.
func (w *World) s3(method, bucket, key, query, body string) *answer {
	u := url.URL{Scheme: "http", Host: "s3.local", Path: "/" + bucket, RawQuery: query}
	if key != "" {
		u.Path += "/" + key
	}
	r := &http.Request{Method: method, URL: &u, Header: http.Header{"Authorization": {authorization}}, Host: u.Host}
	return serve(w.objects, r, []byte(body))
}

// latency is a function of the call, so that no two calls arrive at one instant and a history can be repeated.
func (w *World) latency(c Call) time.Duration {
	h := fnv.New64a()
	fmt.Fprint(h, w.options.Seed, c)
	d := time.Millisecond + time.Duration(h.Sum64()%uint64(5*time.Millisecond))
	if w.options.Latency != nil {
		d += w.options.Latency(c)
	}
	return d
}

// handle is the moment at which a request is served.
func (w *World) handle(x exchange) *answer {
	if w.options.Before != nil {
		w.options.Before(w, x.call)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace("%s is served (%s)", x.call, x.task.run)
	if x.call.Service == ServiceS3 {
		return w.observer.object(x, func() *answer { return w.serveObjects(x) })
	}
	return w.observer.table(x, func() *answer { return serve(w.tables, x.request, x.body) })
}

func (w *World) trace(format string, args ...any) {
	if w.options.Trace != nil {
		w.options.Trace(fmt.Sprintf("%14s  ", time.Since(time.Unix(epoch, 0)).Round(time.Millisecond)) + fmt.Sprintf(format, args...))
	}
}

// paged makes the pages of a listing small.
func (w *World) paged(r *http.Request) *http.Request {
	q := r.URL.Query()
	if w.options.PageSize == 0 || !q.Has("max-keys") {
		return r
	}
	q.Set("max-keys", fmt.Sprint(w.options.PageSize))
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.URL.RawQuery = q.Encode()
	return r
}

// Start sets the stream mapping and the schedule going.
func (w *World) Start() error {
	m, err := newMapping(w)
	if err != nil {
		return err
	}
	w.mapping = m
	w.loops.Go(w.schedule)
	return nil
}

// Close ends everything and waits for it.
func (w *World) Close() {
	w.stop()
	w.outside.Wait()
	w.loops.Wait()
	w.flights.Wait()
}

// Calls lists what the functions asked for so far, in the order of sending, repetitions by the SDK included.
func (w *World) Calls() []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Call(nil), w.calls...)
}

// Violations lists what broke, in the order in which it was seen.
func (w *World) Violations() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.observer.violations...)
}
