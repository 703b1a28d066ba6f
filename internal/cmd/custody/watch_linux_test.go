package main_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

var controls = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)

// screenLines are what a terminal showed, a redrawn line as often as it was drawn, without what steers it.
func screenLines(shown string) []string {
	return strings.FieldsFunc(controls.ReplaceAllString(shown, ""), func(r rune) bool { return r == '\n' || r == '\r' })
}

func TestRunsWatchedOnATerminal(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.attention(t)
	for _, test := range []struct {
		columns, rows uint16
		more          []string
		colored       bool
	}{
		{120, 30, nil, true},
		{80, 30, []string{"NO_COLOR", "1"}, false},
		{60, 9, []string{"NO_COLOR", ""}, true},
	} {
		p := x.with(test.more...).onTerminal(t, test.columns, test.rows, "runs", "--watch", "--every", "200ms")
		p.until(t, "every 200ms; Ctrl-C ends it")
		x.has(t, "r-later", inbox.StateFailed, nil)
		p.until(t, "2 failed")
		p.types(t, "\x03")
		code, shown := p.end(t)
		if code != 0 || strings.Contains(shown, "interrupted") || !strings.Contains(shown, "\x1b[H") {
			t.Errorf("%d columns: exit code %d\n%q", test.columns, code, shown)
		}
		for _, line := range screenLines(shown) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "^C")) > int(test.columns) {
				t.Errorf("%d columns: a line of %d: %s", test.columns, utf8.RuneCountInString(line), line)
			}
		}
		if got := strings.Contains(shown, "\x1b[31mfailed\x1b[0m"); got != test.colored {
			t.Errorf("%d columns, %v: coloured %v", test.columns, test.more, got)
		}
		x.forgets(t, "r-later")
	}
}

func TestRunsThatDoNotFitATerminalAreCounted(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.attention(t)
	p := x.onTerminal(t, 80, 6, "runs", "--watch", "--every", "200ms")
	p.until(t, "... and 6 lines more than the terminal has\x1b[K\r\n4 open, 1 failed, 1 recorded\x1b[K\r\n")
	p.types(t, "\x03")
	if code, shown := p.end(t); code != 0 || strings.Contains(shown, "r-new") {
		t.Errorf("exit code %d\n%s", code, shown)
	}
}

// begun is the tool where there is no terminal.
type begun struct {
	cmd            *exec.Cmd
	stdout, stderr *growing
}

func (x tool) begin(t *testing.T, args ...string) *begun {
	t.Helper()
	b := &begun{cmd: exec.CommandContext(t.Context(), os.Getenv("BUILT_TOOL"), args...), stdout: newGrowing(), stderr: newGrowing()}
	b.cmd.Stdout, b.cmd.Stderr = b.stdout, b.stderr
	for name, value := range x.env {
		b.cmd.Env = append(b.cmd.Env, name+"="+value)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *begun) interrupt(t *testing.T) int {
	t.Helper()
	if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	return code(t, b.cmd.Wait())
}

func TestRunsWatchedWithoutATerminalAreAppended(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StatePending, nil)
	b := x.begin(t, "runs", "--watch", "--every", "200ms")
	b.stdout.until(t, "1 open, 0 failed")
	x.has(t, "r-2", inbox.StateFailed, nil)
	b.stdout.until(t, "1 open, 1 failed")
	if got := b.interrupt(t); got != 0 || b.stderr.text() != "" || strings.Contains(b.stdout.text(), "\x1b") ||
		strings.Count(b.stdout.text(), "; Ctrl-C ends it\n") < 2 {
		t.Errorf("exit code %d, stderr %q\n%s", got, b.stderr.text(), b.stdout.text())
	}
	j := x.begin(t, "runs", "--watch", "--every", "200ms", "--json", "--state", "failed")
	j.stdout.until(t, "\n{")
	if got := j.interrupt(t); got != 0 {
		t.Errorf("exit code %d", got)
	}
	for _, o := range objects(t, j.stdout.text()) {
		if o["run"] != "cleanup.run/r-2" {
			t.Errorf("%v", o)
		}
	}
	for _, every := range []string{"199ms", "2h", "-1s"} {
		x.refuses(t, 2, "it must be from 200ms to 1h0m0s", "runs", "--watch", "--every", every)
		x.refuses(t, 2, "it must be from 200ms to 1h0m0s", "show", "r-1", "--watch", "--every", every)
	}
}

// What is watched at night is watched through a failure, and not for ever.
func TestAWatchEndsWhenTheStoreIsGone(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	gone := x.with("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1", "AWS_MAX_ATTEMPTS", "1")
	a := gone.run(t, "runs", "--watch", "--every", "200ms")
	if a.code != 1 || strings.Count(a.stderr, "looking again in 200ms") != 2 || !strings.Contains(a.stderr, "3 looks in a row went wrong") {
		t.Errorf("exit code %d\n%s", a.code, a.stderr)
	}
	a = x.with("CUSTODY_TABLE", "nowhere").run(t, "runs", "--watch")
	if a.code != 1 || !strings.Contains(a.stderr, "there is no table nowhere") {
		t.Errorf("exit code %d\n%s", a.code, a.stderr)
	}
}

// becomes writes the run anew, as its slices would.
func (x *tables) becomes(t *testing.T, key string, change func(*inbox.Run)) {
	t.Helper()
	x.forgets(t, key)
	x.has(t, key, inbox.StateRunning, change)
}

func at(scan int, listed, deleted int64) func(*inbox.Run) {
	return func(r *inbox.Run) {
		r.Mode, r.Slices, r.Place.Scan = inbox.ModeDelete, 1, scan
		r.LeaseToken, r.LeaseExpiresAt = "t", time.Now().Add(time.Hour)
		r.Counters = inbox.Counters{Listed: listed, Deleted: deleted, Selected: deleted}
	}
}

func finished(r *inbox.Run) {
	at(2, 1300, 700)(r)
	r.State, r.Open, r.OpenSince, r.LeaseToken, r.LeaseExpiresAt = inbox.StateDone, "", time.Time{}, "", time.Time{}
	r.EndedAt = ago(time.Second)
}

func TestShowFollowsARunWithABar(t *testing.T) {
	t.Parallel()
	for _, columns := range []uint16{60, 80, 120} {
		t.Run(string(rune('0'+columns/20)), func(t *testing.T) {
			t.Parallel()
			x := newTables(t)
			x.has(t, "r-1", inbox.StateRunning, at(1, 500, 300))
			x.env["NO_COLOR"] = "1"
			p := x.onTerminal(t, columns, 50, "show", "r-1", "--watch", "--every", "200ms")
			p.until(t, "300 deleted, time left unknown, scan 1")
			x.becomes(t, "r-1", at(2, 1000, 700))
			p.until(t, "0 of ~300 seen")
			p.until(t, "0% [--------")
			x.becomes(t, "r-1", at(2, 1150, 700))
			p.until(t, "150 of ~300 seen, time left unknown")
			p.until(t, "50% [")
			x.becomes(t, "r-1", finished)
			code, shown := p.end(t)
			if code != 0 || strings.Count(shown, "Run         cleanup.run/r-1\n") != 2 || !strings.Contains(shown, "State       done since") ||
				!strings.Contains(strings.Join(strings.Fields(shown), " "), "scan 1 has ended, 700 deleted so far; scan 2 looks for what is left") {
				t.Errorf("exit code %d\n%s", code, shown)
			}
			for _, line := range screenLines(shown) {
				limit := int(columns)
				if strings.Contains(line, "[--") {
					limit-- // a bar that filled the terminal's line would leave the next one below it
				}
				if n := utf8.RuneCountInString(line); n > limit && !strings.Contains(line, "custody stop") {
					t.Errorf("a line of %d columns where there are %d: %s", n, limit, line)
				}
			}
			if strings.Contains(shown, "\x1b[3") {
				t.Errorf("coloured under NO_COLOR: %q", shown)
			}
		})
	}
}

func TestAWatchedRunThatIsGoneIsNotFound(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StateRunning, at(1, 500, 300))
	b := x.begin(t, "show", "r-1", "--watch", "--every", "200ms")
	b.stdout.until(t, "300 deleted")
	x.forgets(t, "r-1")
	if got := code(t, b.cmd.Wait()); got != 3 || strings.Contains(b.stderr.text(), "looking again") || !strings.HasPrefix(b.stderr.text(), "custody: no run cleanup.run/r-1: looked up item run#cleanup.run#r-1 (table inbox") {
		t.Errorf("exit code %d, stderr %s", got, b.stderr.text())
	}
}

func TestAPlansNumberGivesTheFirstScanAnEnd(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StateRunning, at(1, 500, 300))
	p := x.onTerminal(t, 100, 50, "show", "r-1", "--watch", "--every", "200ms", "--expect", "600")
	p.until(t, "50% \x1b[32m[###") // in colour, as NO_COLOR is not set
	p.until(t, "300 of 600 deleted")
	p.types(t, "\x03")
	if code, shown := p.end(t); code != 0 || strings.Count(shown, "Run         cleanup.run/r-1\n") != 1 {
		t.Errorf("exit code %d\n%s", code, shown)
	}
	x.refuses(t, 2, "--expect is -1, it must not be negative", "show", "r-1", "--expect", "-1")
}

func TestShowFollowsARunInLinesWithoutATerminal(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StateRunning, at(1, 500, 300))
	b := x.begin(t, "show", "r-1", "--watch", "--every", "200ms")
	b.stdout.until(t, "Z running, 300 deleted, rate and time left unknown, scan 1, prefix 1 of 2\n")
	x.becomes(t, "r-1", at(2, 1000, 700))
	b.stdout.until(t, "Z running, scan 1 has ended, 700 deleted so far; scan 2 looks for what is left\n")
	x.becomes(t, "r-1", func(r *inbox.Run) {
		at(2, 1100, 700)(r)
		r.State, r.LeaseToken, r.LeaseExpiresAt, r.NextAttemptAt = inbox.StatePending, "", time.Time{}, time.Now().Add(12*time.Minute+30*time.Second)
		r.LastError = &inbox.LastError{Category: inbox.CategoryThrottled, Message: "slow down", At: ago(0)}
	})
	b.stdout.until(t, "Z pending, throttled: slow down; next attempt in 12m\n")
	x.becomes(t, "r-1", finished)
	if got := code(t, b.cmd.Wait()); got != 0 || b.stderr.text() != "" || strings.Contains(b.stdout.text(), "\x1b") ||
		!strings.Contains(b.stdout.text(), "State       done since") {
		t.Errorf("exit code %d, stderr %q\n%s", got, b.stderr.text(), b.stdout.text())
	}
	// What is at rest is shown once.
	if got := x.does(t, "show", "r-1", "--watch"); strings.Count(got, "Run         ") != 1 {
		t.Errorf("of a run that is done:\n%s", got)
	}
}

func TestShowFollowsARunAsJSON(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StateRunning, at(1, 500, 300))
	b := x.begin(t, "show", "r-1", "--watch", "--every", "200ms", "--json")
	b.stdout.until(t, `"state":"running"`)
	x.becomes(t, "r-1", finished)
	if got := code(t, b.cmd.Wait()); got != 0 {
		t.Errorf("exit code %d, %s", got, b.stderr.text())
	}
	var states []any
	for _, o := range objects(t, b.stdout.text()) {
		states = append(states, o["state"])
	}
	if diff := cmp.Diff([]any{"running", "done"}, states); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
