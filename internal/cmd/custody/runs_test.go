package main_test

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

// attention are runs of every kind that waits, their ages in the middle of a unit.
func (x *tables) attention(t *testing.T) {
	t.Helper()
	since := func(d time.Duration, more func(*inbox.Run)) func(*inbox.Run) {
		return func(r *inbox.Run) {
			r.OpenSince = ago(d)
			if more != nil {
				more(r)
			}
		}
	}
	x.has(t, "r-new", inbox.StatePending, since(-time.Hour, func(r *inbox.Run) { r.Wake, r.WakeAt = "w", ago(0) }))
	x.has(t, "r-due", inbox.StatePending, since(12*time.Minute+30*time.Second, nil))
	x.has(t, "r-parked", inbox.StatePending, since(3*time.Hour+12*time.Minute+30*time.Second, func(r *inbox.Run) {
		r.Attempts, r.NextAttemptAt = 3, time.Now().Add(25*time.Minute+30*time.Second)
		r.Slices, r.Place.Scan, r.Counters.Deleted = 3, 2, 118
		r.LastError = &inbox.LastError{Category: inbox.CategoryThrottled, Message: "slow down", At: ago(time.Minute)}
	}))
	x.has(t, "r-works", inbox.StateRunning, since(24*time.Hour+30*time.Second, func(r *inbox.Run) {
		r.LeaseToken, r.LeaseExpiresAt = "t", time.Now().Add(time.Hour)
		r.Slices, r.Mode, r.Counters.Selected = 1, inbox.ModeDryRun, 7
	}))
	x.has(t, "r-failed", inbox.StateFailed, since(52*time.Hour+30*time.Minute, func(r *inbox.Run) {
		r.Attempts, r.LastError = 12, &inbox.LastError{Category: inbox.CategoryAccessDenied, Message: "no", At: ago(time.Hour)}
	}))
	x.has(t, "r-recorded", inbox.StateRecorded, since(100*24*time.Hour+30*time.Minute, nil))
	x.has(t, "r-done", inbox.StateDone, nil)
	x.has(t, "r-dismissed", inbox.StateDismissed, nil)
}

func TestRunsListsWhatHasNotEndedByAge(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	if got := x.does(t, "runs"); got != "0 open, 0 failed, 0 recorded\n" {
		t.Errorf("of an empty table: %q", got)
	}
	if got := x.does(t, "runs", "--json"); got != "" {
		t.Errorf("of an empty table as JSON: %q", got)
	}
	x.refuses(t, 2, "a run that has ended leaves the index, so no list and no filter has it. Name it", "runs", "--state", "done")
	x.attention(t)
	want := strings.TrimPrefix(`
STATE     AGE    ATTEMPTS  WAITS FOR       ERROR          PROGRESS             SCOPE            RUN
recorded  100d   0         operator        -              -                    warehouse:wh-17  cleanup.run/r-recorded
failed    2d4h   12        operator        access_denied  -                    warehouse:wh-17  cleanup.run/r-failed
running   1d     0         its slice       -              7 selected, scan 1   warehouse:wh-17  cleanup.run/r-works
pending   3h12m  3         attempt in 25m  throttled      118 deleted, scan 2  warehouse:wh-17  cleanup.run/r-parked
pending   12m    0         the next sweep  -              -                    warehouse:wh-17  cleanup.run/r-due
pending   0s     0         the stream      -              -                    warehouse:wh-17  cleanup.run/r-new

4 open, 1 failed, 1 recorded
`, "\n")
	if diff := cmp.Diff(want, x.with("COLUMNS", "120").does(t, "runs")); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// What nobody asked for is not counted as 0.
func TestRunsCountsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.attention(t)
	for args, want := range map[string]string{
		"":                                "4 open, 1 failed, 1 recorded",
		"--state failed":                  "1 failed",
		"--state failed --state recorded": "1 recorded, 1 failed",
		"--state running,pending":         "3 pending, 1 running",
		"--scope warehouse:wh-9":          "0 open, 0 failed, 0 recorded of those asked for",
		"--state failed --older-than 90h": "0 failed of those asked for",
	} {
		text := strings.TrimSpace(x.does(t, append([]string{"runs"}, strings.Fields(args)...)...))
		if got := text[strings.LastIndex(text, "\n")+1:]; got != want {
			t.Errorf("runs %s: %q, want %q", args, got, want)
		}
	}
}

func TestRunsFitsNarrowTerminals(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.attention(t)
	for columns, heading := range map[string]string{
		"200": "STATE     AGE    ATTEMPTS  WAITS FOR       ERROR          PROGRESS             SCOPE            RUN",
		"120": "STATE     AGE    ATTEMPTS  WAITS FOR       ERROR          PROGRESS             SCOPE            RUN",
		"92":  "STATE     AGE    WAITS FOR       ERROR          PROGRESS             RUN",
		"80":  "STATE     AGE    WAITS FOR       ERROR          RUN",
		"60":  "STATE     AGE    ERROR          RUN",
		"20":  "STATE     AGE    ERROR          RUN",
		"no":  "STATE     AGE    WAITS FOR       ERROR          PROGRESS             RUN",
	} {
		text := x.with("COLUMNS", columns).does(t, "runs")
		if width, err := strconv.Atoi(columns); err == nil {
			fits(t, text, max(width, 60))
		}
		got, _, _ := strings.Cut(text, "\n")
		if diff := cmp.Diff(heading, got); diff != "" {
			t.Errorf("COLUMNS=%s (-want +got):\n%s", columns, diff)
		}
	}
}

func TestRunsAsJSON(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	run := x.has(t, "r-1", inbox.StateRunning, func(r *inbox.Run) {
		r.Attempts, r.LeaseToken, r.LeaseExpiresAt, r.NextAttemptAt = 2, "t", ago(time.Minute), ago(time.Hour)
		r.Wake, r.WakeAt, r.WakeCount = "w", ago(time.Second), 4
		r.Mode, r.Slices, r.Place.Scan, r.Counters = inbox.ModeDelete, 3, 2, inbox.Counters{Selected: 4, Deleted: 3, Absent: 1, Listed: 9}
		r.LastError = &inbox.LastError{Category: inbox.CategoryThrottled, Message: "slow down", At: ago(time.Minute)}
	})
	got := objects(t, x.does(t, "runs", "--json"))
	if len(got) != 1 {
		t.Fatalf("%d objects", len(got))
	}
	if seconds, _ := got[0]["age_seconds"].(float64); seconds < 4*3600+30 || seconds > 5*3600 {
		t.Errorf("age_seconds is %v", got[0]["age_seconds"])
	}
	delete(got[0], "age_seconds")
	stamp := func(t time.Time) string { return t.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano) }
	want := map[string]any{
		"run": "cleanup.run/r-1", "command_type": "cleanup.run", "run_key": "r-1", "state": "running", "scope": "warehouse:wh-17",
		"open_since": stamp(run.OpenSince), "received_at": stamp(run.ReceivedAt), "attempts": 2.0, "wake_count": 4.0,
		"next_attempt_at": stamp(run.NextAttemptAt), "lease_expires_at": stamp(run.LeaseExpiresAt), "wake_at": stamp(run.WakeAt),
		"item": map[string]any{
			"mode": "delete", "last_error_category": "throttled", "last_error_at": stamp(run.LastError.At), "scan": 2.0, "slices": 3.0,
			"counters": map[string]any{"selected": 4.0, "deleted": 3.0, "absent": 1.0, "listed": 9.0},
		},
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Who may query the index and not read the items still sees the runs.
func TestRunsWithoutTheItems(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StateFailed, nil)
	x.has(t, "r-2", inbox.StateRecorded, nil)
	target, err := url.Parse(x.env["AWS_ENDPOINT_URL_DYNAMODB"])
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	denying, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type":"com.amazonaws.dynamodb#AccessDeniedException","message":"no"}`)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	denied := x.with("AWS_ENDPOINT_URL_DYNAMODB", denying)
	a := denied.run(t, "runs")
	if a.code != 1 || !regexp.MustCompile(`(?m)^failed +4h +0 +operator +\? +\? `).MatchString(a.stdout) || !regexp.MustCompile(`(?m)^recorded +4h +0 +operator +- +- `).MatchString(a.stdout) ||
		!strings.Contains(a.stderr, "custody: 1 item could not be read, so errors (?) and progress are missing: the AWS credentials may not do this with table inbox") {
		t.Errorf("exit code %d\n%s\n%s", a.code, a.stdout, a.stderr)
	}
	for _, o := range objects(t, denied.run(t, "runs", "--json").stdout) {
		if _, has := o["item"]; has {
			t.Errorf("an item that was not read: %v", o)
		}
	}
	// Nobody knows whether it is meant, so nothing is moved.
	if a := denied.run(t, "retry", "--all", "--category", "access_denied", "--yes"); a.code != 1 || a.stdout != "" {
		t.Errorf("exit code %d\n%s\n%s", a.code, a.stdout, a.stderr)
	}
}

func TestRunsGoesOnBehindARowThatIsNone(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.has(t, "r-1", inbox.StateFailed, nil)
	_, err := x.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("inbox"), Item: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "odd\x1b[2J"}, "open": &types.AttributeValueMemberS{Value: "failed"},
		"open_since": &types.AttributeValueMemberN{Value: "1"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	a := x.run(t, "runs")
	if a.code != 1 || !strings.Contains(a.stdout, "cleanup.run/r-1") || strings.Contains(a.stderr, "\x1b") ||
		!regexp.MustCompile(`(?s)row "odd.*": the key does not name a run\ncustody: 1 rows of the index could not be understood`).MatchString(a.stderr) {
		t.Errorf("exit code %d\n%s\n%s", a.code, a.stdout, a.stderr)
	}
}
