package main_test

import (
	"os/user"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

func (x *tables) stored(t *testing.T, key string) inbox.Run {
	t.Helper()
	run, err := x.store.Run(t.Context(), inbox.RunKey{Type: "cleanup.run", Key: key})
	if err != nil || run == nil {
		t.Fatalf("read the run: %+v, %v", run, err)
	}
	return *run
}

func TestTheMoves(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-failed", inbox.StateFailed, nil)
	x.has(t, "r-recorded", inbox.StateRecorded, nil)
	x.has(t, "r-works", inbox.StateRunning, func(r *inbox.Run) { r.LeaseToken, r.LeaseExpiresAt = "t", time.Now().Add(time.Hour) })
	for _, step := range []struct {
		key  string
		args []string
		want string
		by   inbox.Operation
	}{
		{"r-failed", []string{"retry", "r-failed", "--by", "alice", "--reason", "policy mended"},
			"cleanup.run/r-failed is pending, by alice: it starts again from the first key\n",
			inbox.Operation{Move: "retry", By: "alice", Reason: "policy mended"}},
		{"r-recorded", []string{"release", "cleanup.run/r-recorded", "--by", "alice"},
			"cleanup.run/r-recorded is pending, by alice: its first slice decides whether it deletes\n",
			inbox.Operation{Move: "release", By: "alice"}},
		{"r-works", []string{"dismiss", "d-r-works", "--by", "alice", "--reason", "wrong cutoff"},
			"cleanup.run/r-works is dismissed, by alice: nothing more of it is deleted\n",
			inbox.Operation{Move: "dismiss", By: "alice", Reason: "wrong cutoff"}},
	} {
		if diff := cmp.Diff(step.want, x.does(t, step.args...)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", step.args, diff)
		}
		got := *x.stored(t, step.key).Operation
		got.At = time.Time{}
		if diff := cmp.Diff(step.by, got); diff != "" {
			t.Errorf("%v: who did it (-want +got):\n%s", step.args, diff)
		}
	}
	if dismissed := x.stored(t, "r-works"); dismissed.LeaseToken != "" || dismissed.Open != "" {
		t.Errorf("the dismissed run is %+v", dismissed)
	}
	// The same again meets another state.
	x.refuses(t, 4, "; only a failed run can be retried", "retry", "r-failed")
	x.refuses(t, 4, "release refused: cleanup.run/r-recorded is pending, after the release by alice at ", "release", "r-recorded")
	x.refuses(t, 4, "dismiss refused: cleanup.run/r-works is dismissed, by alice (wrong cutoff); only", "dismiss", "r-works", "--reason", "x")
}

func TestAMoveAsJSONIsDoneByTheUserOfTheMachine(t *testing.T) {
	t.Parallel()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	x := newTables(t)
	x.has(t, "r-1", inbox.StateFailed, nil)
	got := objects(t, x.with("USER", "").does(t, "retry", "r-1", "--json"))
	at, _ := got[0]["at"].(string)
	if when, err := time.Parse(time.RFC3339, at); err != nil || time.Since(when) > time.Hour {
		t.Errorf("at is %q, error %v", at, err)
	}
	delete(got[0], "at")
	want := map[string]any{"move": "retry", "run": "cleanup.run/r-1", "state": "pending", "scope": "warehouse:wh-17", "by": me.Username, "reason": "",
		"outcome": "moved"}
	if diff := cmp.Diff([]map[string]any{want}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDismissedRunsExpireByTheStacksRetention(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	for days, want := range map[string]time.Duration{"": 90 * 24 * time.Hour, "7": 7 * 24 * time.Hour} {
		x.has(t, "r-"+days, inbox.StateFailed, nil)
		x.with("CUSTODY_RETENTION_DAYS", days).does(t, "dismiss", "cleanup.run/r-"+days, "--reason", "x")
		left := time.Until(time.Unix(x.stored(t, "r-"+days).TTL, 0))
		if left > want || left < want-time.Hour {
			t.Errorf("CUSTODY_RETENTION_DAYS=%s: %s are left", days, left)
		}
	}
	x.has(t, "r-1", inbox.StateFailed, nil)
	bad := x.with("CUSTODY_RETENTION_DAYS", "0")
	bad.refuses(t, 2, "CUSTODY_RETENTION_DAYS", "dismiss", "r-1", "--reason", "x")
}

func TestARunThatThereIsNot(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StatePending, func(r *inbox.Run) { r.DeliveryID = "r-2" })
	x.has(t, "r-2", inbox.StatePending, func(r *inbox.Run) { r.DeliveryID = "d-2" })
	x.refuses(t, 2, "takes a RUN and nothing else, but was given 2 arguments", "show", "r-1", "r-2")
	for _, args := range [][]string{{"show"}, {"retry"}, {"release"}, {"dismiss", "--reason", "x"}} {
		x.refuses(t, 3, `no run or delivery "r-9": looked up item run#cleanup.run#r-9, item run#listing.expire#r-9, item delivery#r-9 (table inbox, region us-east-1)`, append(args, "r-9")...)
		x.refuses(t, 3, `no run cleanup.run/r-9: looked up item run#cleanup.run#r-9 (table inbox, region us-east-1)`, append(args, "cleanup.run/r-9")...)
		x.refuses(t, 2, `r-2 stands for several runs; name one of cleanup.run/r-2, cleanup.run/r-1`, append(args, "r-2")...)
		x.refuses(t, 2, `RUN is "a/b/c", it must be a run key`, append(args, "a/b/c")...)
		x.refuses(t, 2, `RUN is empty`, append(args, "")...)
		x.refuses(t, 2, "custody "+args[0]+" needs a RUN", args...)
	}
}

func TestAMoveThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StateFailed, nil)
	before := x.stored(t, "r-1")
	x.refuses(t, 2, "custody dismiss needs --reason: whoever looks at the run wants to know why", "dismiss", "r-1")
	x.refuses(t, 2, "reason is empty", "dismiss", "r-1", "--reason", "  ")
	x.refuses(t, 2, `reason is "a\nb", it must be one line`, "retry", "r-1", "--reason", "a\nb")
	x.refuses(t, 2, "by has 129 bytes, at most 128 are allowed", "retry", "r-1", "--by", strings.Repeat("a", 129))
	if diff := cmp.Diff(before, x.stored(t, "r-1")); diff != "" {
		t.Errorf("the run changed:\n%s", diff)
	}
}
