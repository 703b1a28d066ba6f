package main_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

var timeless = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// lines are those of a text, with the times taken out.
func lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, timeless.ReplaceAllString(strings.TrimSuffix(line, "\n"), "T"))
	}
	return all
}

func parked(r *inbox.Run) {
	r.Mode, r.Slices, r.Attempts = inbox.ModeDelete, 7, 2
	r.NextAttemptAt = time.Now().Add(12*time.Minute + 30*time.Second)
	r.LastError = &inbox.LastError{Category: inbox.CategoryUnavailable, Message: "S3 did not answer", At: ago(90 * time.Second)}
	r.Place = inbox.Place{Scan: 2, Prefix: 1, Key: "labels/wh-17/\x1b[2J", Deleted: true,
		Retained: map[string]int64{"legal_hold": 3, "current_over_kept": 1}, Refused: []inbox.RefusedVersion{}}
	r.Counters = inbox.Counters{Selected: 120, Deleted: 118, Absent: 2, Listed: 4000}
}

func TestShowSaysEverythingAboutARun(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StatePending, parked)
	x.does(t, "hold", "add", "case-4", "--scope", "warehouse:wh-17", "--key", "pod/wh-17/a", "--reason", "legal_hold")
	if a := x.run(t, "show", "cleanup.run/\x1b[2Jx"); a.code != 3 || strings.Contains(a.stderr, "\x1b") || !strings.Contains(a.stderr, `\x1b[2Jx`) {
		t.Errorf("a name that steers a terminal: exit code %d, stderr %q", a.code, a.stderr)
	}
	want := []string{
		"Run         cleanup.run/r-1",
		"State       pending, open since T (4h ago)",
		"Scope       warehouse:wh-17",
		"From        delivery d-r-1, received T (4h ago)",
		"Command     cleanup.run of run_id r-1, warehouse_id wh-17, expired_before T",
		"Body        sha256 " + bodyHash,
		"Selection   versions in bucket objects older than T, under",
		"            pod/wh-17/",
		"            labels/wh-17/",
		"Mode        delete",
		"Slices      7 in all, 2 in a row without progress",
		"Lease       none",
		"Wake        none",
		`Place       scan 2, prefix 2 of 2 (labels/wh-17/), behind key "labels/wh-17/\x1b[2J"; this scan has`,
		"            deleted versions, so another follows",
		"Counters    deleted 118, already gone 2, selected 120, listed 4000",
		"Retained    1 current_over_kept, 3 legal_hold (in this scan)",
		"Last error  unavailable, T (1m ago): S3 or DynamoDB did not answer, or answered",
		"            that it cannot now",
		"            S3 did not answer",
		"            Cure: nothing: it goes on by itself when they answer again",
		"            Read: docs/operations.md#unavailable",
		"Holds       1 in force for its scope and for all",
		"Next        it is parked; the first sweep behind its next attempt's time wakes it",
		"            T (in 12m). It then goes on by itself, and no command hurries it",
		"You can     custody dismiss cleanup.run/r-1 --reason '...'",
		"            custody stop --scope warehouse:wh-17 --reason '...'",
		"            custody hold list --scope warehouse:wh-17",
	}
	if diff := cmp.Diff(want, lines(x.does(t, "show", "r-1"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for far, edge := range map[string]string{"20": "60", "500": "120"} {
		if diff := cmp.Diff(x.with("COLUMNS", edge).does(t, "show", "r-1"), x.with("COLUMNS", far).does(t, "show", "r-1")); diff != "" {
			t.Errorf("COLUMNS=%s is not set as %s:\n%s", far, edge, diff)
		}
	}
	for line := range strings.Lines(x.with("COLUMNS", "60").does(t, "show", "r-1")) {
		if len(line) > 61 && !strings.Contains(line, "labels/wh-17/") && !strings.Contains(line, "            custody stop --scope") {
			t.Errorf("a line of %d columns where there are 60: %s", len(line)-1, line)
		}
	}
}

// shows checks that the text of the run says each of these, wherever its lines break.
func (x *tables) shows(t *testing.T, name string, want ...string) {
	t.Helper()
	text := x.does(t, "show", name)
	flat := strings.Join(strings.Fields(strings.Join(lines(text), " ")), " ") + " "
	flat = secondsAgo.ReplaceAllString(flat, "(0s ago)") // what was done a moment ago was done some seconds ago on a busy machine
	for _, words := range want {
		if !strings.Contains(flat, strings.Join(strings.Fields(words), " ")+" ") {
			t.Errorf("nothing says %q in\n%s", words, text)
		}
	}
}

func TestShowOfEachState(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-recorded", inbox.StateRecorded, nil)
	x.shows(t, "r-recorded", "Mode        not pinned yet: the first slice does it, by DeleteScopes",
		"You can     custody release cleanup.run/r-recorded", "            custody dismiss cleanup.run/r-recorded --reason '...'")

	x.has(t, "r-works", inbox.StateRunning, func(r *inbox.Run) {
		r.LeaseToken, r.LeaseExpiresAt = "worker-1", time.Now().Add(time.Minute+30*time.Second)
	})
	x.shows(t, "r-works", "Lease       held by worker worker-1 until T (in 1m)",
		"Next        a slice works on it, and renews its lease, which else ends T (in 1m)")

	x.has(t, "r-dead", inbox.StateRunning, func(r *inbox.Run) {
		r.LeaseToken, r.LeaseExpiresAt, r.Wake, r.WakeAt, r.WakeCount = "worker-2", ago(90*time.Second), "w", ago(90*time.Second), 3
	})
	x.shows(t, "r-dead", "Lease       of worker worker-2, ran out T (1m ago)",
		"Wake        on the stream, last sent T (1m ago); a sweep sent it 3 times, and no slice has begun since",
		"Next        its worker is gone: the stream's retry or the next sweep gives it to another")

	x.has(t, "r-failed", inbox.StateFailed, func(r *inbox.Run) {
		r.EndedAt = ago(90 * time.Second)
		r.LastError = &inbox.LastError{Category: inbox.CategoryVersionsRefused, Message: "S3 refused", At: r.EndedAt}
		r.Cause = &inbox.LastError{Category: inbox.CategoryThrottled, Message: "slow down", At: r.EndedAt}
		r.Place.RefusedCount = 8
		for range 7 {
			r.Place.Refused = append(r.Place.Refused, inbox.RefusedVersion{Key: "pod/wh-17/a\n", VersionID: "v1", Code: "AccessDenied"})
		}
	})
	x.shows(t, "r-failed", "State       failed since T (1m ago)", "Refused     8 versions in this scan",
		`            AccessDenied: key "pod/wh-17/a\n" version v1`, "            and 3 more; --json names up to 100",
		"Last error  versions_refused, T (1m ago): S3 refused to delete some versions; Refused names them",
		"            Read: docs/operations.md#versions_refused",
		"Cause       throttled, T (1m ago): S3 or DynamoDB asked for fewer requests",
		"You can     custody retry cleanup.run/r-failed", "            custody dismiss cleanup.run/r-failed --reason '...'")

	x.has(t, "r-killed", inbox.StateFailed, func(r *inbox.Run) {
		r.LastError = &inbox.LastError{Category: inbox.CategoryAttemptCeiling, Message: "12 slices in a row made no progress", At: ago(90 * time.Second)}
		r.Cause = r.LastError
	})
	x.shows(t, "r-killed", "Last error  attempt_ceiling, T (1m ago): too many slices in a row made no progress",
		"Cause       none on record: no slice wrote an error, so they were killed;")

	x.has(t, "r-dry", inbox.StateDone, func(r *inbox.Run) { r.Mode, r.Place.Prefix = inbox.ModeDryRun, 2 })
	x.shows(t, "r-dry", "State       done since T (2h ago)", "Mode        dry_run: it deletes nothing and ends after one scan",
		"Place       scan 1, behind the last prefix; this scan has deleted nothing", "Retained    nothing in this scan",
		"Next        it has ended; its item expires T (in 80d)", "You can     custody release cleanup.run/r-dry")

	x.has(t, "r-gone", inbox.StateDismissed, func(r *inbox.Run) {
		r.Operation = &inbox.Operation{Move: "dismiss", By: "bob", Reason: "wrong cutoff", At: ago(90 * time.Second)}
		r.LastError = &inbox.LastError{Category: inbox.CategoryInternal, Message: "m", At: ago(time.Hour)}
	})
	x.shows(t, "r-gone", "Operator    dismiss by bob, T (1m ago): wrong cutoff", "You can     nothing: it has ended",
		"Last error  internal, T (1h ago): an error that no other category names (before the operator's dismiss). It is over: the run is dismissed")
}

func TestShowTellsErrorsBeforeAMoveFromThoseBehindIt(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StatePending, func(r *inbox.Run) {
		r.Operation = &inbox.Operation{Move: "retry", By: "bob", At: ago(time.Hour)}
		r.LastError = &inbox.LastError{Category: inbox.CategoryInternal, Message: "m", At: ago(time.Minute)}
	})
	if text := x.does(t, "show", "r-1"); strings.Contains(text, "(before") {
		t.Errorf("an error behind the retry is said to be before it:\n%s", text)
	}
}

func TestShowOfARunThatIsDoneNamesNoCureForWhatIsOver(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StateDone, func(r *inbox.Run) {
		r.LastError = &inbox.LastError{Category: inbox.CategoryThrottled, Message: "slow down", At: ago(90 * time.Second)}
	})
	x.shows(t, "r-1", "Last error  throttled, T (1m ago): S3 or DynamoDB asked for fewer requests. It is over: the run is done", "            slow down")
	if text := x.does(t, "show", "r-1"); strings.Contains(text, "Cure:") || strings.Contains(text, "Read:") {
		t.Errorf("what is over is to be cured:\n%s", text)
	}
}

func TestShowOfARunThatWasDismissedNamesNoCureForWhatIsOver(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StateDismissed, func(r *inbox.Run) {
		r.LastError = &inbox.LastError{Category: inbox.CategoryNoSuchBucket, Message: "no bucket", At: ago(90 * time.Second)}
	})
	x.shows(t, "r-1", "Last error  no_such_bucket, T (1m ago): the bucket of the selection does not exist. It is over: the run is dismissed")
	if text := x.does(t, "show", "r-1"); strings.Contains(text, "Cure:") {
		t.Errorf("what is over is to be cured:\n%s", text)
	}
}

func TestShowSaysThatTheBrakeWasLifted(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StatePending, func(r *inbox.Run) {
		r.NextAttemptAt = time.Now().Add(90 * time.Second)
		r.LastError = &inbox.LastError{Category: inbox.CategoryStopped, Message: "stopped", At: ago(90 * time.Second)}
	})
	lifted := "the emergency brake is on; it was lifted since stopped Cure: nothing: it goes on by itself"
	x.shows(t, "r-1", lifted)
	if text := x.does(t, "show", "r-1"); strings.Contains(text, "hurries") {
		t.Errorf("nobody wants to hurry a wait of a minute:\n%s", text)
	}
	for what, see := range map[string]func() string{
		"the brake is on":         func() string { x.does(t, "stop", "--reason", "x"); return x.does(t, "show", "r-1") },
		"the holds were not read": func() string { return x.with("CUSTODY_HOLDS_TABLE", "").does(t, "show", "r-1") },
	} {
		if text := see(); strings.Contains(text, "lifted since") || !strings.Contains(text, "Cure: `custody resume`") {
			t.Errorf("%s, and yet:\n%s", what, text)
		}
	}
}

func TestShowByADelivery(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StatePending, nil)
	alias := inbox.Delivery{ID: "d-2", CommandType: "cleanup.run", RunKey: "r-1", Outcome: inbox.OutcomeAlreadyProcessed, ReceivedAt: ago(90 * time.Second)}
	if there, err := x.store.Alias(t.Context(), alias); there != nil || err != nil {
		t.Fatal(there, err)
	}
	x.shows(t, "d-2", "Run         cleanup.run/r-1", "            also delivery d-2, already_processed, received T (1m ago)")
	if got := objects(t, x.does(t, "show", "d-2", "--json"))[0]["found_by_delivery_id"]; got != "d-2" {
		t.Errorf("found by %v", got)
	}
	if text := x.does(t, "show", "d-r-1"); strings.Contains(text, "also delivery") {
		t.Errorf("the first delivery is said twice:\n%s", text)
	}
}

func TestShowUnderTheBrake(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StatePending, nil)
	x.does(t, "stop", "--reason", "incident 7", "--by", "bob")
	x.shows(t, "r-1", "Brake       ON for every scope, by bob since T (0s ago): incident 7",
		"Next        it is due: the next sweep wakes it. The brake is on: each slice deletes nothing and parks it again, at no cost of attempts, until custody resume",
		"            custody resume")
	stopped, _ := objects(t, x.does(t, "show", "r-1", "--json"))[0]["stopped_by"].([]any)
	if len(stopped) != 1 {
		t.Errorf("stopped_by %v", stopped)
	}
}

func TestShowWithoutTheHoldsTable(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StatePending, nil)
	without := &tables{tool: x.with("CUSTODY_HOLDS_TABLE", "")}
	without.shows(t, "r-1", "Holds       not looked at: --holds-table or CUSTODY_HOLDS_TABLE names the table")
	broken := &tables{tool: x.with("CUSTODY_HOLDS_TABLE", "nowhere")}
	broken.shows(t, "r-1", "Holds       could not be read, and while they cannot be, nothing is deleted: there is no table nowhere in region "+
		"us-east-1; --holds-table or CUSTODY_HOLDS_TABLE names it, AWS_REGION and AWS_PROFILE say where: read the holds of")
	object := objects(t, without.does(t, "show", "r-1", "--json"))[0]
	if _, said := object["holds_in_force"]; said || object["holds_problem"] == nil {
		t.Errorf("as JSON: %v", object)
	}
}

func TestShowAsJSON(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	run := x.has(t, "r-1", inbox.StateRunning, func(r *inbox.Run) {
		parked(r)
		r.LeaseToken, r.LeaseExpiresAt, r.Wake, r.WakeAt, r.WakeCount = "worker-1", time.Now().Add(time.Hour), "w", ago(time.Second), 2
		r.StartedAt, r.Cause = ago(time.Hour), r.LastError
		r.Operation = &inbox.Operation{Move: "retry", By: "bob", Reason: "mended", At: ago(time.Hour)}
		r.Place.RefusedCount, r.Place.Refused = 1, []inbox.RefusedVersion{{Key: "<k>", VersionID: "v", Code: "c"}}
	})
	stamp := func(t time.Time) string { return t.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano) }
	problem := map[string]any{
		"category": "unavailable", "message": "S3 did not answer", "at": stamp(run.LastError.At),
		"means": "S3 or DynamoDB did not answer, or answered that it cannot now", "cure": "nothing: it goes on by itself when they answer again",
		"read": "docs/operations.md#unavailable",
	}
	want := map[string]any{
		"run": "cleanup.run/r-1", "command_type": "cleanup.run", "run_key": "r-1", "state": "running", "scope": "warehouse:wh-17",
		"delivery_id": "d-r-1", "body_sha256": bodyHash, "command_hash": "hash", "mode": "delete", "slices": 7.0, "attempts": 2.0,
		"selection": map[string]any{"bucket": "objects", "prefixes": []any{"pod/wh-17/", "labels/wh-17/"}, "cutoff": stamp(run.Selection.Cutoff)},
		"lease":     map[string]any{"holder": "worker-1", "expires_at": stamp(run.LeaseExpiresAt), "live": true},
		"wake":      map[string]any{"at": stamp(run.WakeAt), "count": 2.0},
		"place":     map[string]any{"scan": 2.0, "prefix": 1.0, "key": "labels/wh-17/\x1b[2J", "deleted": true},
		"counters":  map[string]any{"selected": 120.0, "deleted": 118.0, "absent": 2.0, "listed": 4000.0},
		"retained":  map[string]any{"legal_hold": 3.0, "current_over_kept": 1.0},
		"refused":   1.0, "refused_versions": []any{map[string]any{"key": "<k>", "version_id": "v", "code": "c"}},
		"last_error": problem, "cause": problem,
		"operation":   map[string]any{"move": "retry", "by": "bob", "reason": "mended", "at": stamp(run.Operation.At)},
		"received_at": stamp(run.ReceivedAt), "started_at": stamp(run.StartedAt), "open_since": stamp(run.OpenSince),
		"next_attempt_at": stamp(run.NextAttemptAt),
		"next":            map[string]any{"what": "a slice works on it, and renews its lease, which else ends", "at": stamp(run.LeaseExpiresAt)},
		"can":             []any{"dismiss"}, "holds_in_force": 0.0, "stopped_by": []any{},
	}
	text := x.does(t, "show", "r-1", "--json")
	if !strings.Contains(text, `"<k>"`) {
		t.Errorf("keys are not written as they are: %s", text)
	}
	got := objects(t, text)
	if diff := cmp.Diff([]map[string]any{want}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	done := x.has(t, "r-2", inbox.StateDone, func(r *inbox.Run) { r.Place.Retained, r.Place.Refused = nil, nil })
	object := objects(t, x.does(t, "show", "r-2", "--json"))[0]
	lists := []any{object["can"], object["refused_versions"], object["retained"], object["expires_at"], object["ended_at"]}
	wantLists := []any{[]any{}, []any{}, map[string]any{}, stamp(time.Unix(done.TTL, 0)), stamp(done.EndedAt)}
	if diff := cmp.Diff(wantLists, lists); diff != "" {
		t.Errorf("of a run that is done (-want +got):\n%s", diff)
	}
}
