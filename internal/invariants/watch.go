package invariants

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"custody/internal/cleanup"
	localdb "custody/internal/localaws/dynamodb"
	locals3 "custody/internal/localaws/s3"
)

// WatchOptions are the settings of the stack that is watched, and how far away its engines seem to be.
type WatchOptions struct {
	WakeAfter         time.Duration
	SliceBudget       time.Duration
	LeaseDuration     time.Duration
	DeleteConcurrency int
	AttemptCeiling    int
	// Latency is how long a request is on its way, and its answer; nil: no time. Called by many at once.
	Latency func(Call) time.Duration
	// Seen is told of each request of a function when it has come, and again when it was served and its answer leaves; nil: nobody is.
	// Called by many at once.
	Seen func(c Call, served bool)
}

// Watch is the observer in front of the engines of a real stack, whose functions are processes. It has the world's books and
// checks, and no part of the world itself: requests come through HTTP, in whatever order they come. Whose they are it reads from
// the header X-Amzn-Trace-Id, which the SDK sends on Lambda and which is another for each invocation.
type Watch struct {
	options WatchOptions
	world   *World // its engines and books; it never starts
	written atomic.Pointer[time.Time]

	// What follows is guarded by the world's lock.
	invocations map[string]*process
	wakes       map[string]task // by identity of the stream record that carries them
	counts      WatchCounts
}

// WatchCounts say what a watch has seen.
type WatchCounts struct {
	Requests      int // of the functions
	Invocations   map[string]int
	Versions      int // written, delete markers included
	Gone          int // of them
	Acquired      int // slices that began
	TakenOver     int // of them by the retry of a record whose process had died
	Yields, Parks int
	Wakes         int // by the sweeper
	Late          int // requests that were served when the lease they were sent under was gone
	MarksRead     int // of versions
	Reports       int // objects that are stored
}

// NewWatch makes a watch. Its stack is started with its Settings, WrapDynamoDB, WrapS3 and Now.
func NewWatch(o WatchOptions) *Watch {
	w := &Watch{
		options: o,
		world: &World{set: cleanup.Settings{
			DeleteConcurrency: o.DeleteConcurrency, AttemptCeiling: o.AttemptCeiling, CheckTags: true,
		}},
		invocations: map[string]*process{}, wakes: map[string]task{},
		counts: WatchCounts{Invocations: map[string]int{}},
	}
	w.world.observer = newObserver(w.world)
	w.world.observer.terms = terms{
		began: time.Now(), wakeAfter: o.WakeAfter, now: w.Now, record: w.record,
		blur: signedWithin,
	}
	return w
}

// Settings are the functions' variables.
func (w *Watch) Settings() map[string]string {
	return map[string]string{
		"CUSTODY_TABLE": inboxTable, "CUSTODY_HOLDS_TABLE": holdsTable, "CUSTODY_BUCKET": Bucket, "CUSTODY_BUCKET_OWNER": owner,
		"CUSTODY_SIGNING_KEYS":  fmt.Sprintf(`{%q:%q}`, signingKeyID, signingKey),
		"CUSTODY_REPORT_BUCKET": reportBucket, "CUSTODY_REPORT_BUCKET_OWNER": owner, "CUSTODY_CHECK_TAGS": "true",
		"CUSTODY_WAKE_AFTER":         w.options.WakeAfter.String(),
		"CUSTODY_SLICE_BUDGET":       w.options.SliceBudget.String(),
		"CUSTODY_LEASE_DURATION":     w.options.LeaseDuration.String(),
		"CUSTODY_DELETE_CONCURRENCY": fmt.Sprint(w.options.DeleteConcurrency),
		"CUSTODY_ATTEMPT_CEILING":    fmt.Sprint(w.options.AttemptCeiling),
	}
}

// Now is S3's clock: that of the write that is being made, so that the books know each version's time exactly.
func (w *Watch) Now() time.Time {
	if at := w.written.Load(); at != nil {
		return *at
	}
	return time.Now()
}

// Put lets a writer make a version of the key, of the given age, and says which one that is, counted from 1.
func (w *Watch) Put(key string, age time.Duration) int { return w.write(http.MethodPut, key, age) }

// Remove lets a writer delete the key without naming a version, which makes a delete marker of the given age.
func (w *Watch) Remove(key string, age time.Duration) { w.write(http.MethodDelete, key, age) }

func (w *Watch) write(method, key string, age time.Duration) int {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	at := time.Now().Add(-age)
	w.written.Store(&at)
	defer w.written.Store(nil)
	a := w.world.s3(method, Bucket, key, "", "x")
	if !a.ok() {
		w.world.observer.violate("a writer is refused: %s", a.body.String())
		return 0
	}
	w.counts.Versions++
	return w.world.observer.written(key, a.header.Get("X-Amz-Version-Id"), method == http.MethodDelete)
}

// Tag lets somebody set the tag custody-hold of the key's n-th version, counted from 1 over all that it ever had; "" takes it away.
func (w *Watch) Tag(key string, n int, value string) { w.world.Tag(key, n, value) }

// Place writes a hold, and Lift takes it away.
func (w *Watch) Place(h Hold) { w.world.Place(h) }

// Lift takes a hold away.
func (w *Watch) Lift(scope, id string) { w.world.Lift(scope, id) }

// Send pushes the delivery once to the function URL and returns the status; an error is a connection that failed.
func (w *Watch) Send(ctx context.Context, url string, d Delivery) (int, error) {
	w.world.mu.Lock()
	w.world.observer.asked[d.runItem()] = append(w.world.observer.asked[d.runItem()], d)
	w.world.mu.Unlock()
	signed := d.request()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(signed.Body))
	if err != nil {
		return 0, err
	}
	for name, value := range signed.Headers {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	_ = answer.Body.Close()
	if answer.StatusCode == http.StatusNoContent {
		w.world.acknowledged(d)
	}
	return answer.StatusCode, nil
}

// Stored says whether both items of an acknowledged delivery are in the table itself, past the books.
func (w *Watch) Stored(d Delivery) error {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	for _, pk := range []string{"delivery#" + d.ID, d.runItem()} {
		var out struct{ Item item }
		in := map[string]any{"TableName": inboxTable, "Key": map[string]any{"pk": text(pk)}, "ConsistentRead": true}
		if err := w.world.db("DynamoDB_20120810.GetItem", in, &out); err != nil {
			return err
		}
		if out.Item == nil {
			return fmt.Errorf("delivery %s was acknowledged, and there is no item %s", d.ID, pk)
		}
	}
	return nil
}

// Runs counts the runs by their state.
func (w *Watch) Runs() map[string]int {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	out := map[string]int{}
	for _, run := range w.world.observer.runs {
		out[run.item.text("state")]++
	}
	return out
}

// Open lists the runs that have not ended, in words.
func (w *Watch) Open() []string {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	var out []string
	for pk, run := range w.world.observer.runs {
		if i := run.item; isOpen(i) {
			out = append(out, fmt.Sprintf("%s is %s: %d attempts, %d slices, wake %q, lease %q, last error %q", pk, i.text("state"),
				i.number("attempts"), i.number("slices"), i.text("wake"), i.text("lease_token"), i["last_error"].M.text("message")))
		}
	}
	return out
}

// Failures lists the categories of the runs that have failed.
func (w *Watch) Failures() map[string]int {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	out := map[string]int{}
	for _, run := range w.world.observer.runs {
		if run.item.text("state") == "failed" {
			out[run.item["last_error"].M.text("category")]++
		}
	}
	return out
}

// Counts says what the watch has seen so far.
func (w *Watch) Counts() WatchCounts {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	c := w.counts
	c.Invocations = maps.Clone(c.Invocations)
	c.Gone, c.Reports = c.Versions, len(w.world.observer.reports)
	for _, k := range w.world.observer.keys {
		c.Gone -= len(k.versions)
	}
	return c
}

// CheckBooks compares the books with what the engine lists.
func (w *Watch) CheckBooks() { w.world.CheckBooks() }

// CheckReports reads the report of each run that is done back, and holds it against the bucket.
func (w *Watch) CheckReports() { w.world.CheckReports() }

// Violations lists what broke, in the order in which it was seen.
func (w *Watch) Violations() []string { return w.world.Violations() }

// record remembers which wake a stream record carries, and counts. The lock is held.
func (w *Watch) record(raw []byte) {
	var r struct {
		ID     string                                  `json:"eventID"`
		Change struct{ Keys, OldImage, NewImage item } `json:"dynamodb"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		w.world.observer.violate("a record cannot be read: %v", err)
		return
	}
	if r.Change.NewImage.has("wake") {
		w.wakes[r.ID] = task{run: r.Change.Keys.text("pk"), record: r.ID, wake: r.Change.NewImage.text("wake")}
	}
	w.count(r.Change.OldImage, r.Change.NewImage)
}

func (w *Watch) count(before, after item) {
	switch lease := after.text("lease_token"); {
	case before == nil:
	case lease != "" && lease != before.text("lease_token"):
		w.counts.Acquired++
		if before.has("lease_record") && after.text("lease_record") == before.text("lease_record") {
			w.counts.TakenOver++
		}
	case after.number("wake_count") > before.number("wake_count"):
		w.counts.Wakes++
	case before.text("state") == "running" && after.text("state") == "pending" && after.has("wake"):
		w.counts.Yields++
	case before.text("state") == "running" && after.text("state") == "pending":
		w.counts.Parks++
	}
}

// WrapDynamoDB stands in front of the local DynamoDB.
func (w *Watch) WrapDynamoDB(engine http.Handler) http.Handler {
	w.world.tables = engine.(*localdb.Engine)
	return w.wrap(ServiceDynamoDB, engine, func(x exchange) *answer {
		return w.world.observer.table(x, func() *answer { return serve(engine, x.request, x.body) })
	})
}

// WrapS3 stands in front of the local S3.
func (w *Watch) WrapS3(engine http.Handler) http.Handler {
	w.world.objects = engine.(*locals3.Engine)
	return w.wrap(ServiceS3, engine, func(x exchange) *answer {
		return w.world.observer.object(x, func() *answer { return serve(engine, x.request, x.body) })
	})
}

// wrap lets what is not of a function pass. What a function has sent is served, whether or not its process still lives then.
func (w *Watch) wrap(service string, engine http.Handler, see func(exchange) *answer) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		trace := r.Header.Get("X-Amzn-Trace-Id")
		if trace == "" {
			engine.ServeHTTP(rw, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender died in the middle of it
		}
		x := w.identify(trace, exchange{
			call: Call{Service: service, Operation: operationOf(service, r), Attempt: sdkAttempt(r)}, sent: sentAt(r), came: time.Now(),
			request: r, body: body,
		})
		w.travel(x.call, false)
		w.world.mu.Lock()
		if run := w.world.observer.runs[x.task.run]; run != nil && x.lease != "" && run.item.text("lease_token") != x.lease {
			w.counts.Late++
		}
		a := see(x)
		w.world.mu.Unlock()
		w.travel(x.call, true)
		maps.Copy(rw.Header(), a.header)
		rw.WriteHeader(a.status)
		_, _ = rw.Write(a.body.Bytes()) // a sender that has died takes no answer
	})
}

// travel is the way to the engine, or back.
func (w *Watch) travel(c Call, served bool) {
	if w.options.Seen != nil {
		w.options.Seen(c, served)
	}
	if w.options.Latency != nil {
		time.Sleep(w.options.Latency(c))
	}
}

// signedWithin is how far behind the time in X-Amz-Date an attempt may have been signed: it has whole seconds, and the SDK takes
// off it what it believes its clock to be ahead of the server's, whose Date has whole seconds too.
const signedWithin = 2 * time.Second

// sentAt is the latest time at which the attempt can have been signed. When it came would be too late on a busy machine.
func sentAt(r *http.Request) time.Time {
	now := time.Now()
	signed, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return now
	}
	if end := signed.Add(signedWithin); end.Before(now) {
		return end
	}
	return now
}

// identify finds the invocation that has sent the request, and what it works on.
func (w *Watch) identify(trace string, x exchange) exchange {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	p := w.invocations[trace]
	if p == nil {
		function := functionOf(x)
		w.counts.Invocations[function]++
		p = &process{
			world: w.world, function: function, name: fmt.Sprintf("%s-%d", function, w.counts.Invocations[function]),
			dead: make(chan struct{}), calls: map[string]int{}, tokens: map[string]string{}, reads: map[string][]holdsRead{},
			marks: marksBook{}, leases: map[string]string{},
		}
		w.invocations[trace] = p
	}
	w.counts.Requests++
	if x.call.Operation == string(markTag) {
		w.counts.MarksRead++
	}
	p.calls[x.call.Operation]++
	x.call.Process, x.call.N = p.name, p.calls[x.call.Operation]
	if service := x.call.Service; service == ServiceS3 {
		x.call.About = w.world.observer.about(x.call.Operation, x.request)
	}
	if p.function == Cleanup && p.task.run == "" && x.call.Operation == "UpdateItem" {
		p.task = w.taskOf(x.body)
	}
	x.process, x.task, x.lease = p, p.task, p.tokens[p.task.run]
	return x
}

// functionOf tells the function by the first request of an invocation: a claim, a sweep over the index, or else a slice.
func functionOf(x exchange) string {
	switch {
	case x.call.Operation == "TransactWriteItems" || x.call.Operation == "PutItem":
		return Webhook
	case x.call.Operation == "Query" && bytes.Contains(x.body, []byte(`"IndexName"`)):
		return Sweeper
	}
	return Cleanup
}

// taskOf finds the stream record that a slice works on: the request by which it takes the lease names it. Which wake that record
// carries is known from the stream.
func (w *Watch) taskOf(body []byte) task {
	var in struct {
		Key, ExpressionAttributeValues item
	}
	_ = json.Unmarshal(body, &in) // the engine refuses what is no JSON
	run := in.Key.text("pk")
	for name := range in.ExpressionAttributeValues {
		if t, known := w.wakes[in.ExpressionAttributeValues.text(name)]; known && t.run == run {
			return t
		}
	}
	return task{run: run}
}
