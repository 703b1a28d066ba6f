package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

// What was done before somebody had enough is logged before the end.
func TestMovesThatAreBrokenOffAreLogged(t *testing.T) {
	t.Parallel()
	for sentence, signal := range map[string]os.Signal{"by Ctrl-C": syscall.SIGINT, "by a terminal that is closed": syscall.SIGHUP} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			x, l := withLog(t)
			x.denied(t, "r-1", "r-2", "r-3", "r-4")
			g := newGate(t, x.env["AWS_ENDPOINT_URL_DYNAMODB"], 2)
			cmd := exec.CommandContext(t.Context(), os.Getenv("BUILT_TOOL"), "retry", "--all", "--yes", "--by", "alice")
			for name, value := range x.with("AWS_ENDPOINT_URL_DYNAMODB", g.url).env {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-g.reached
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			x.hasHeard(t, cmd.Process.Pid)
			close(g.open)
			if got := code(t, cmd.Wait()); got != 1 {
				t.Errorf("exit code %d", got)
			}
			var got []string
			for _, line := range l.taken(t) {
				got = append(got, fmt.Sprint(line["run"], " ", line["outcome"]))
			}
			if diff := cmp.Diff([]string{"cleanup.run/r-1 done", "cleanup.run/r-2 done"}, got); diff != "" {
				t.Errorf("logged (-want +got):\n%s", diff)
			}
		})
	}
}

// The item and the line are one record: they have the same time, however long the write takes.
func TestALineHasTheTimeOfTheItem(t *testing.T) {
	t.Parallel()
	x, l := withLog(t)
	run := x.has(t, "r-1", inbox.StateFailed, nil)
	g := newGate(t, x.env["AWS_ENDPOINT_URL_DYNAMODB"], 1)
	done := make(chan answer)
	go func() { done <- x.with("AWS_ENDPOINT_URL_DYNAMODB", g.url).run(t, "retry", "r-1") }()
	<-g.reached
	<-time.After(5 * time.Millisecond) // the next millisecond, which is what both keep
	close(g.open)
	if a := <-done; a.code != 0 {
		t.Fatal(a.stderr)
	}
	item, err := x.store.Run(t.Context(), run.RunKey())
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(l.lines[0]["time"]))
	if err != nil || !at.Equal(item.Operation.At) {
		t.Errorf("the line's time is %v, the item's %v, error %v", at, item.Operation.At, err)
	}
}

// A log that fails for a while is made up for at the end; one that does not come back is not tried again and again.
func TestALogThatFailsInTheMiddleOfManyMoves(t *testing.T) {
	t.Parallel()
	for name, comesBack := range map[string]bool{"it comes back": true, "it does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, l := withLog(t)
			const n = 310
			for i := range n {
				x.has(t, fmt.Sprintf("r-%03d", i), inbox.StateFailed, nil)
			}
			g := newGate(t, x.env["AWS_ENDPOINT_URL_DYNAMODB"], 150) // behind the first attempt, and before the last
			l.change(func() { l.refuses = "ServiceUnavailableException" })
			done := make(chan answer)
			go func() { done <- x.with("AWS_ENDPOINT_URL_DYNAMODB", g.url).run(t, "retry", "--all", "--yes") }()
			<-g.reached
			l.change(func() {
				if comesBack {
					l.refuses = ""
				}
			})
			close(g.open)
			a := <-done
			if a.code != 0 || strings.Count(a.stdout, "is pending") != n {
				t.Errorf("exit code %d, %s", a.code, a.stderr)
			}
			shown := strings.Count(a.stderr, `"action":"retry"`)
			says := "custody: 310 records of this are missing in the operator log, which changes nothing of what was done (write to log group " +
				operatorGroup + ": ServiceUnavailableException: no); the lines would have been\n"
			if comesBack && (len(l.lines) != n || shown != 0) || !comesBack && (len(l.lines) != 0 || shown != n || l.puts != 2 || !strings.Contains(a.stderr, says)) {
				t.Errorf("%d logged in %d calls, %d shown, stderr begins %.300s", len(l.lines), l.puts, shown, a.stderr)
			}
		})
	}
}
