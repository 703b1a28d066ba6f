package main_test

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

// denied are runs that failed in the same way, the older ones first.
func (x *tables) denied(t *testing.T, keys ...string) {
	t.Helper()
	for i, key := range keys {
		x.has(t, key, inbox.StateFailed, func(r *inbox.Run) {
			r.OpenSince = ago(time.Duration(len(keys)-i)*time.Hour + 30*time.Minute)
			r.LastError = &inbox.LastError{Category: inbox.CategoryAccessDenied, Message: "no", At: ago(time.Hour)}
		})
	}
}

// statesOf are the states that runs stand in, by key.
func (x *tables) statesOf(t *testing.T, keys ...string) string {
	t.Helper()
	var all []string
	for _, key := range keys {
		all = append(all, string(x.stored(t, key).State))
	}
	return strings.Join(all, " ")
}

func TestSeveralRunsAreShownAndAskedFor(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.denied(t, "r-1", "r-2")
	x.has(t, "r-3", inbox.StateFailed, func(r *inbox.Run) {
		r.LastError = &inbox.LastError{Category: inbox.CategoryWrongOwner, Message: "no", At: ago(time.Hour)}
	})
	retry := []string{"retry", "--all", "--category", "access_denied", "--reason", "role mended", "--by", "alice"}

	// Nobody there to ask: nothing is done.
	x.refuses(t, 2, "custody retry asks first, and there is no terminal to ask on: give --yes to do it without the question", retry...)
	// Somebody says no, or nothing.
	for _, answer := range []string{"n\n", "\n", "x\n", "\x04"} {
		p := x.onTerminal(t, 100, 24, retry...)
		p.until(t, "retry 2 runs, as alice? [y/N]")
		p.types(t, answer)
		if code, shown := p.end(t); code != 1 || !strings.Contains(shown, "not confirmed, so nothing was done") ||
			!strings.Contains(shown, "cleanup.run/r-1") || strings.Contains(shown, "cleanup.run/r-3") {
			t.Errorf("answer %q: exit code %d\n%s", answer, code, shown)
		}
	}
	if got := x.statesOf(t, "r-1", "r-2", "r-3"); got != "failed failed failed" {
		t.Errorf("after a no the runs are %s", got)
	}
	p := x.onTerminal(t, 100, 24, retry...)
	p.until(t, "[y/N]")
	p.types(t, "y\n")
	code, shown := p.end(t)
	want := "cleanup.run/r-1 is pending, by alice: it starts again from the first key\n" +
		"cleanup.run/r-2 is pending, by alice: it starts again from the first key\ncustody: retry: 2 of 2 moved, 0 refused\n"
	if code != 0 || !strings.HasSuffix(shown, want) {
		t.Errorf("exit code %d\n%s", code, shown)
	}
	if got := x.statesOf(t, "r-1", "r-2", "r-3"); got != "pending pending failed" {
		t.Errorf("the runs are %s", got)
	}
	// The next call says what is left: nothing.
	a := x.run(t, append(retry, "--yes")...)
	if a.code != 0 || a.stdout != "" || a.stderr != "custody: no run to retry\n" {
		t.Errorf("exit code %d\n%s\n%s", a.code, a.stdout, a.stderr)
	}
}

func TestSomeOfSeveralAreRefused(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.denied(t, "r-1", "r-2")
	x.has(t, "r-3", inbox.StatePending, nil)
	a := x.run(t, "retry", "r-1", "cleanup.run/r-3", "d-r-2", "r-1", "--yes", "--by", "alice")
	want := `cleanup.run/r-1 is pending, by alice: it starts again from the first key
not moved: retry refused: cleanup.run/r-3 is pending; only a failed run can be retried
cleanup.run/r-2 is pending, by alice: it starts again from the first key
`
	if diff := cmp.Diff(want, a.stdout); diff != "" || a.code != 4 ||
		!strings.Contains(a.stderr, "retry: 2 of 3 moved, 1 refused\ncustody: retry of 3 runs: 1 refused; nothing was written for those\n") {
		t.Errorf("exit code %d, stderr %s (-want +got):\n%s", a.code, a.stderr, diff)
	}
	// The same again says of each what it met.
	b := x.run(t, "retry", "r-1", "r-2", "--yes", "--json")
	for i, o := range objects(t, b.stdout) {
		problem, _ := o["problem"].(string)
		if o["outcome"] != "refused" || o["state"] != "pending" || o["run"] != fmt.Sprintf("cleanup.run/r-%d", i+1) ||
			!strings.Contains(problem, "is pending, after the retry by alice at ") {
			t.Errorf("%v", o)
		}
	}
	if b.code != 4 {
		t.Errorf("exit code %d", b.code)
	}
	// One that there is not keeps all the others from being moved.
	x.denied(t, "r-4")
	x.refuses(t, 3, `no run or delivery "r-9"`, "retry", "r-4", "r-9", "--yes")
	if got := x.statesOf(t, "r-4"); got != "failed" {
		t.Errorf("r-4 is %s", got)
	}
}

func TestAChoiceThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.denied(t, "r-1")
	for want, args := range map[string][]string{
		"custody retry needs a RUN, or --all for all that the filters leave":                       {"retry", "--scope", "warehouse:wh-17"},
		"a RUN and --all or a filter are both given":                                               {"retry", "r-1", "--all"},
		"a RUN and --all or a filter are both given: name":                                         {"retry", "r-1", "--scope", "warehouse:wh-17"},
		"a RUN and --all or a filter are both given: name the runs":                                {"retry", "r-1", "--state", "failed"},
		"custody dismiss --all needs --state: it would give up what runs as well as what failed":   {"dismiss", "--all", "--reason", "x", "--yes"},
		"--state pending: a run in that state cannot be moved by retry; it must be one of failed":  {"retry", "--all", "--state", "pending", "--yes"},
		"--state failed: a run in that state cannot be moved by release; it must be one of record": {"release", "--all", "--state", "failed", "--yes"},
		`state is "done", it must be one of recorded, pending, running, failed`:                    {"release", "--all", "--state", "done", "--yes"},
		`category is "tired", it must be one of throttled`:                                         {"retry", "--all", "--category", "tired", "--yes"},
		`scope is "wh-17", it must be`:                                                             {"retry", "--all", "--scope", "wh-17", "--yes"},
		"reason is empty":                                                                          {"dismiss", "--all", "--state", "failed", "--reason", " ", "--yes"},
		"by has 129 bytes":                                                                         {"retry", "--all", "--by", strings.Repeat("a", 129), "--yes"},
	} {
		x.refuses(t, 2, want, args...)
	}
	if got := x.statesOf(t, "r-1"); got != "failed" {
		t.Errorf("r-1 is %s", got)
	}
}

func TestDismissByFilterAndReleaseByAge(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.attention(t)
	x.denied(t, "r-9")
	a := x.run(t, "dismiss", "--all", "--state", "pending,running", "--reason", "wrong cutoff", "--by", "alice", "--yes")
	if a.code != 0 || strings.Count(a.stdout, "is dismissed, by alice") != 4 {
		t.Errorf("exit code %d\n%s\n%s", a.code, a.stdout, a.stderr)
	}
	if got := x.statesOf(t, "r-new", "r-due", "r-parked", "r-works", "r-failed", "r-recorded"); got != "dismissed dismissed dismissed dismissed failed recorded" {
		t.Errorf("the runs are %s", got)
	}
	if a := x.run(t, "release", "--all", "--older-than", "2401h", "--yes"); a.stderr != "custody: no run to release\n" {
		t.Errorf("of an age that none has: %s%s", a.stdout, a.stderr)
	}
	if a := x.run(t, "release", "--all", "--older-than", "2400h", "--yes"); a.code != 0 || !strings.HasPrefix(a.stdout, "cleanup.run/r-recorded is pending") {
		t.Errorf("exit code %d\n%s\n%s", a.code, a.stdout, a.stderr)
	}
}

// gate lets requests through to the engine, and stops at the n-th write until it is opened.
type gate struct {
	url     string
	writes  atomic.Int32
	reached chan struct{}
	open    chan struct{}
}

func newGate(t *testing.T, engine string, at int32) *gate {
	t.Helper()
	target, err := url.Parse(engine)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	proxy := httputil.NewSingleHostReverseProxy(target)
	g.url, _ = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") && g.writes.Add(1) == at {
			close(g.reached)
			<-g.open
		}
		proxy.ServeHTTP(w, r)
	}))
	return g
}

// The second of four moves is on its way when the user has had enough, or the terminal is gone. It is waited for, no other is
// begun, and the next call shows exactly what is left.
func TestAMoveOfSeveralThatIsBrokenOff(t *testing.T) {
	t.Parallel()
	for sentence, signal := range map[string]os.Signal{
		"by Ctrl-C": syscall.SIGINT, "by a terminal that is closed": syscall.SIGHUP, "by the system": syscall.SIGTERM,
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			x := newTables(t)
			x.denied(t, "r-1", "r-2", "r-3", "r-4")
			g := newGate(t, x.env["AWS_ENDPOINT_URL_DYNAMODB"], 2)
			through := x.with("AWS_ENDPOINT_URL_DYNAMODB", g.url)
			cmd := exec.CommandContext(t.Context(), os.Getenv("BUILT_TOOL"), "retry", "--all", "--yes", "--by", "alice")
			for name, value := range through.env {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			var stdout, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-g.reached
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			x.hasHeard(t, cmd.Process.Pid)
			close(g.open)
			if got := code(t, cmd.Wait()); got != 1 || strings.Count(stdout.String(), "is pending") != 2 ||
				!strings.Contains(stderr.String(), "retry: 2 of 4 moved, 0 refused, 2 not tried") ||
				!strings.Contains(stderr.String(), "interrupted; the same command goes on with what is left") {
				t.Errorf("exit code %d\n%s\n%s", got, stdout.String(), stderr.String())
			}
			if got := x.statesOf(t, "r-1", "r-2", "r-3", "r-4"); got != "pending pending failed failed" {
				t.Errorf("the runs are %s", got)
			}
			next := x.run(t, "retry", "--all", "--yes", "--by", "alice")
			if next.code != 0 || !strings.HasPrefix(next.stdout, "cleanup.run/r-3 is pending") || strings.Count(next.stdout, "is pending") != 2 {
				t.Errorf("the next call: exit code %d\n%s\n%s", next.code, next.stdout, next.stderr)
			}
		})
	}
}

// hasHeard waits until a process has taken the signals that it was sent: none is pending (proc(5), SigPnd and ShdPnd).
func (x *tables) hasHeard(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for quiet := 0; quiet < 20; {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		quiet++
		for line := range strings.Lines(string(status)) {
			name, bits, _ := strings.Cut(line, ":")
			if strings.HasSuffix(name, "Pnd") && strings.Trim(bits, "\t0\n") != "" {
				quiet = 0
			}
		}
		<-tick.C
	}
}

// An answer that is lost ends it: what became of that one is not known, and is said.
func TestAMoveOfSeveralWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.denied(t, "r-1", "r-2", "r-3")
	target, _ := url.Parse(x.env["AWS_ENDPOINT_URL_DYNAMODB"])
	proxy := httputil.NewSingleHostReverseProxy(target)
	var writes atomic.Int32
	lossy, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") && writes.Add(1) == 2 {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	a := x.with("AWS_ENDPOINT_URL_DYNAMODB", lossy, "AWS_MAX_ATTEMPTS", "1").run(t, "retry", "--all", "--yes", "--by", "alice")
	if a.code != 1 || strings.Count(a.stdout, "is pending") != 1 || !strings.Contains(a.stderr, "1 of 3 moved, 0 refused, 1 unknown, 1 not tried") ||
		!strings.Contains(a.stderr, "whether it was done is not known: `custody show cleanup.run/r-2` tells") {
		t.Errorf("exit code %d\n%s\n%s", a.code, a.stdout, a.stderr)
	}
}
