//go:build unix

package torture_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"custody/internal/invariants"
	"custody/internal/localaws"
	"custody/internal/localaws/lambda"
)

// The settings of the stack. All times are as short as the functions allow, so that leases end and slices yield often.
const (
	leaseDuration = 6 * time.Second // its least
	sliceBudget   = time.Second     // its least
	wakeAfter     = 2 * time.Second
	concurrency   = 12 // processes of a function: above the ten lanes of the mapping
	deleteBatches = 2  // at once

	fewKills = 10 // of the test's own run; `make torture` makes 200
)

// torture is one stack and all who act on it.
type torture struct {
	t     *testing.T
	seed  uint64
	kills int
	out   *os.File
	began time.Time
	watch *invariants.Watch
	stack *localaws.Stack
	aims  aims

	outages, outageKills int // of the killer alone

	mu         sync.Mutex
	warehouses []string
	acked      []invariants.Delivery
	answers    map[string]int
	killed     map[string]int
	frozen     map[string]int
	errors     map[string]int
	pids       []lambda.Process
	dice       *rand.Rand // of the latencies
}

// random is the chance of one actor, so that what one does to another's order changes nothing of it.
func (x *torture) random(actor uint64) *rand.Rand { return rand.New(rand.NewPCG(x.seed, actor)) }

func between(r *rand.Rand, low, high time.Duration) time.Duration { return low + rand.N(high-low) }

// number reads a number from the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s is %q, must be a number", name, text)
	}
	return n
}

func TestTorture(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // whatever is left there in the end was left behind
	x := &torture{
		t: t, out: os.Stdout, began: time.Now(), answers: map[string]int{}, killed: map[string]int{}, frozen: map[string]int{},
		errors: map[string]int{},
		kills:  int(number(t, "CUSTODY_TEST_KILLS", fewKills)), //nolint:gosec // as many as somebody waits for
		seed:   number(t, "CUSTODY_TEST_SEED", rand.Uint64()),
	}
	x.dice = x.random(0)
	x.say("seed %d: %d kills of cleanup, webhook and sweeper processes on the local stack", x.seed, x.kills)
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, 3*time.Minute+2*time.Second*time.Duration(x.kills), errors.New("the torture took too long"))
	defer cancel()
	x.start(ctx)
	x.load(ctx)
	x.settle(ctx)
	if ctx.Err() != nil { // what has not ended by now proves nothing
		t.Fatalf("seed %d: %v", x.seed, context.Cause(ctx))
	}
	x.judge()
	x.end()
	x.report()
}

func (x *torture) say(format string, args ...any) {
	fmt.Fprintf(x.out, "torture: %6.1f s  %s\n", time.Since(x.began).Seconds(), fmt.Sprintf(format, args...))
}

func (x *torture) start(ctx context.Context) {
	x.t.Helper()
	x.watch = invariants.NewWatch(invariants.WatchOptions{
		WakeAfter: wakeAfter, SliceBudget: sliceBudget, LeaseDuration: leaseDuration, DeleteConcurrency: deleteBatches, AttemptCeiling: 12,
		Latency: x.latency, Seen: x.aims.seen,
	})
	var err error
	x.stack, err = localaws.Start(ctx, localaws.Options{
		Settings: x.watch.Settings(), Concurrency: concurrency, Now: x.watch.Now,
		WrapDynamoDB: x.watch.WrapDynamoDB, WrapS3: x.watch.WrapS3,
		OnProcess: func(p lambda.Process) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.pids = append(x.pids, p)
		},
		OnError: func(err error) { x.count(x.errors, firstWords(err)) },
		Output:  x.output,
	})
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = x.stack.Close() }) // a second Close does nothing
}

// firstWords are an error without what differs each time.
func firstWords(err error) string {
	text := err.Error()
	if at := strings.Index(text, "RequestId"); at >= 0 {
		text = text[:at]
	}
	return text[:min(len(text), 60)]
}

// output looks for what no function may ever write, whatever is done to it.
func (x *torture) output(p lambda.Process, line string) {
	if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") || strings.Contains(line, `"panicked":true`) {
		x.t.Errorf("%s wrote: %s", p.Function, line)
	}
}

// latency makes the deletes slow, so that kills fall into them. Some are on their way for so long that they arrive when their
// process is dead and another slice is at work on the run.
func (x *torture) latency(c invariants.Call) time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch c.Operation {
	case "DeleteObjects":
		if x.dice.IntN(10) == 0 {
			return between(x.dice, 500*time.Millisecond, 2500*time.Millisecond)
		}
		return between(x.dice, 50*time.Millisecond, 300*time.Millisecond)
	case "ListObjectVersions":
		return between(x.dice, 5*time.Millisecond, 60*time.Millisecond)
	case "GetObjectTagging": // nearly all requests are these, one for each version
		return between(x.dice, 100*time.Microsecond, 4*time.Millisecond)
	}
	return between(x.dice, time.Millisecond, 25*time.Millisecond)
}

func (x *torture) count(into map[string]int, what string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	into[what]++
}

// pause waits and is false when the context has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// load lets everybody act until the last kill.
func (x *torture) load(ctx context.Context) {
	loading, done := context.WithCancel(ctx)
	defer done()
	x.openWarehouse(x.random(1)) // the producers need one to begin with
	var all sync.WaitGroup
	for i := range producers {
		all.Go(func() { x.produce(loading, ctx, i) })
	}
	all.Go(func() { x.openWarehouses(loading) })
	all.Go(func() { x.overwrite(loading) })
	all.Go(func() { x.holdAndLift(loading) })
	all.Go(func() { x.tagAndUntag(loading) })
	all.Go(func() { x.freeze(loading) })
	x.kill(ctx)
	done()
	all.Wait()
}

// settleTime is what the rest of the runs may take when nobody is killed any more: a lease, the sweeps, and their scans.
const settleTime = 90 * time.Second

func (x *torture) settle(ctx context.Context) {
	x.say("the last kill is made, %d runs are open; the world runs on", len(x.watch.Open()))
	for end := time.Now().Add(settleTime); len(x.watch.Open()) > 0 && pause(ctx, 100*time.Millisecond); {
		if time.Now().After(end) {
			for _, run := range x.watch.Open() {
				x.t.Errorf("I4: %s", run)
			}
			return
		}
	}
}

// judge asks for everything that must be true in the end.
func (x *torture) judge() {
	for _, d := range x.acked {
		if err := x.watch.Stored(d); err != nil {
			x.t.Errorf("I9: %v", err)
		}
	}
	x.watch.CheckBooks()
	x.watch.CheckReports()
	for _, v := range x.watch.Violations() {
		x.t.Error(v)
	}
	for state, n := range x.watch.Runs() {
		if state != "done" && state != "failed" {
			x.t.Errorf("I4: %d runs are %s", n, state)
		}
	}
	if total(x.killed) < x.kills {
		x.t.Errorf("%d kills were made, want %d", total(x.killed), x.kills)
	}
}

// end stops the stack and looks for what it left behind.
func (x *torture) end() {
	if err := x.stack.Close(); err != nil {
		x.t.Error(err)
	}
	for _, p := range x.pids {
		if syscall.Kill(p.PID, 0) == nil {
			x.t.Errorf("process %d of %s is left", p.PID, p.Function)
		}
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "custody*"))
	if err != nil || len(left) > 0 {
		x.t.Errorf("files are left: %v, %v", left, err)
	}
}

func total(m map[string]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}

func words(m map[string]int) string {
	var parts []string
	for name, n := range m {
		parts = append(parts, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(parts)
	return cmp.Or(strings.Join(parts, ", "), "none")
}

func (x *torture) report() {
	c := x.watch.Counts()
	x.say("kills: %s; %d outages of cleanup with %d more", words(x.killed), x.outages, x.outageKills)
	x.say("processes: %d started; stopped and continued: %s", len(x.pids), words(x.frozen))
	x.say("deliveries: %d acknowledged; answers: %s", len(x.acked), words(x.answers))
	x.say("runs: %s; failures: %s", words(x.watch.Runs()), words(x.watch.Failures()))
	x.say("slices: %d, %d of them took over from a dead process; %d yields, %d parks, %d wakes by the sweeper, %d dead letters",
		c.Acquired, c.TakenOver, c.Yields, c.Parks, c.Wakes, len(x.stack.DeadLetters()))
	x.say("versions: %d written under %d warehouses, %d of them deleted", c.Versions, len(x.warehouses), c.Gone)
	x.say("requests looked at: %d, in %s; %d of them served when the lease they were sent under was gone", c.Requests, words(c.Invocations), c.Late)
	x.say("report: %d objects; tags of a version were read %d times", c.Reports, c.MarksRead)
	if len(x.errors) > 0 {
		x.say("the mapping and the schedule met: %s", words(x.errors))
	}
	if x.t.Failed() {
		x.say("BROKEN, seed %d", x.seed)
		return
	}
	x.say("nothing acknowledged is lost, every run has ended, I1 I2 I3 I5 I6 I7 I8 I9 held at every request, no tagged version was sent,")
	x.say("every delete was on record before it was sent, no report object was written over, and each report says what became of its run")
}
