package operator_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/operator"
	"custody/internal/report"
	"custody/internal/retention"
)

// trial is a stack in memory, and what goes wrong with it.
type trial struct {
	answers map[string]operator.CheckAnswer // by "first", "again" and "forged"
	sent    []string                        // id and body of each
	run     func(after time.Duration) *inbox.Run
	canary  func(put []string) inbox.Canary
	invoke  error
	put     error // behind the first version
	left    []string
	keeps   string
	swept   func(after time.Duration) bool
	alarms  []operator.Alarm
	skip    map[string]string
	bucket  retention.Bucket
	moved   []string
	began   time.Time
}

// sound is a trial in which nothing goes wrong.
func sound() *trial {
	return &trial{
		began: time.Now(),
		answers: map[string]operator.CheckAnswer{
			"first": {Status: 204, Outcome: inbox.OutcomeAccepted}, "again": {Status: 204, Outcome: inbox.OutcomeAlreadyProcessed},
			"forged": {Status: 401, Outcome: inbox.OutcomeRejected},
		},
		run: func(time.Duration) *inbox.Run { return checkRun(inbox.StateDone) },
		canary: func(put []string) inbox.Canary {
			c := inbox.Canary{Outcome: inbox.CanaryDone}
			for _, id := range put {
				c.Versions = append(c.Versions, inbox.CanaryVersion{ID: id, Fate: inbox.CanaryDeleted})
			}
			return c
		},
		swept:  func(time.Duration) bool { return true },
		alarms: []operator.Alarm{{Name: "A", State: "OK"}, {Name: "B", State: "INSUFFICIENT_DATA"}},
		skip:   map[string]string{operator.StageStack: "none", operator.StageReport: "no report"},
		bucket: retention.Bucket{Versioning: retention.VersioningEnabled},
	}
}

func checkRun(state inbox.State) *inbox.Run {
	run := inbox.NewRun(inbox.RunKey{Type: "cleanup.run", Key: "check-1"}, inbox.CheckScope, inbox.Selection{}, "h", "check-1", time.Now())
	run.State, run.Mode, run.EndedAt = state, inbox.ModeDryRun, time.Now()
	return &run
}

func (x *trial) Key(context.Context) (string, error) { return "a key", nil }

func (x *trial) Send(_ context.Context, id string, body []byte) (operator.CheckAnswer, error) {
	x.sent = append(x.sent, id+" "+string(body))
	if len(x.sent) > 1 {
		return x.answers["again"], nil
	}
	return x.answers["first"], nil
}

func (x *trial) Forge(_ context.Context, id string, body []byte) (operator.CheckAnswer, error) {
	x.sent = append(x.sent, id+" "+string(body))
	return x.answers["forged"], nil
}

func (x *trial) DefaultRetention(context.Context) (string, error) { return x.keeps, nil }

func (x *trial) Put(_ context.Context, _ string) ([]string, error) {
	if x.put != nil {
		return []string{"v1"}, x.put
	}
	return []string{"v1", "v2", "m3"}, nil
}

func (x *trial) Invoke(_ context.Context, key string) (inbox.Canary, error) {
	if x.invoke != nil {
		return inbox.Canary{}, x.invoke
	}
	c := x.canary([]string{"v1", "v2", "m3"})
	c.Key = key
	return c, nil
}

func (x *trial) Left(context.Context, string) ([]string, error) { return x.left, nil }

func (x *trial) Read(context.Context, string, string) iter.Seq2[report.Stored, error] {
	return func(yield func(report.Stored, error) bool) {
		yield(report.Stored{}, inbox.Failed(inbox.CategoryNoSuchBucket, errors.New("no bucket reports")))
	}
}

func (x *trial) Swept(_ context.Context, _, now time.Time) (time.Time, time.Duration, bool, error) {
	return now.Add(-time.Minute), 90 * time.Second, x.swept(time.Since(x.began)), nil
}

func (x *trial) Alarms(context.Context) ([]operator.Alarm, error) { return x.alarms, nil }

// Run, Rows, Move and Delivery are the inbox.
func (x *trial) Run(context.Context, inbox.RunKey) (*inbox.Run, error) {
	return x.run(time.Since(x.began)), nil
}

func (x *trial) Rows(context.Context, string) iter.Seq2[inbox.Run, error] { return nil }

func (x *trial) Delivery(context.Context, string) (*inbox.Delivery, error) { return nil, nil }

func (x *trial) Move(_ context.Context, key inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error) {
	x.moved = append(x.moved, fmt.Sprintf("%s %s by %s: %s", m.Name, key, c.Operation.By, c.Operation.Reason))
	return *checkRun(inbox.StateDismissed), nil
}

func (x *trial) checks(ctx context.Context, tell func(operator.StageResult)) ([]operator.StageResult, error) {
	c := &operator.Check{
		Operator: &operator.Operator{Inbox: x, Now: time.Now, NewID: func() string { return "w" }, Retention: time.Hour},
		Bucket:   func(context.Context) (retention.Bucket, error) { return x.bucket, nil },
		Senders:  x, Canaries: x, Reports: x, Watchers: x, Skip: x.skip,
		By: "alice", ID: "check-1", Began: x.began, MinObjectAge: 24 * time.Hour, Within: 10 * time.Second,
	}
	return c.Run(ctx, tell)
}

// says is what a check says of one stage, verdict first.
func (x *trial) says(t *testing.T, stage string) string {
	t.Helper()
	results, err := x.checks(t.Context(), func(operator.StageResult) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Stage == stage {
			return string(r.Verdict) + ": " + r.Says
		}
	}
	return "no such stage"
}

func TestACheckSaysOfEachStageWhatItSaw(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*trial)
		stage  string
		want   string
	}{
		"a run that takes its time": {func(x *trial) {
			x.run = func(after time.Duration) *inbox.Run {
				if after < 8*time.Second {
					return checkRun(inbox.StateRunning)
				}
				return checkRun(inbox.StateDone)
			}
		}, "run", "ok: cleanup.run/check-1 is done as a dry run"},
		"a run that is never begun": {func(x *trial) {
			x.run = func(time.Duration) *inbox.Run { r := checkRun(inbox.StatePending); r.Wake = "w"; return r }
		}, "run", "FAILED: cleanup.run/check-1 is pending after 10s; its wake is on the stream and starts a slice"},
		"a run that parked": {func(x *trial) {
			x.run = func(time.Duration) *inbox.Run {
				r := checkRun(inbox.StatePending)
				r.LastError = &inbox.LastError{Category: inbox.CategoryThrottled, Message: "throttled: slow down"}
				return r
			}
		}, "run", "is pending after 10s, with the error throttled: slow down (nothing: it goes on by itself"},
		"a run in another mode": {func(x *trial) {
			x.run = func(time.Duration) *inbox.Run { r := checkRun(inbox.StateDone); r.Mode = inbox.ModeDelete; return r }
		}, "run", "FAILED: cleanup.run/check-1 is done in mode delete, and it must be a dry run whatever DeleteScopes says"},
		"a run that failed": {func(x *trial) {
			x.run = func(time.Duration) *inbox.Run {
				r := checkRun(inbox.StateFailed)
				r.LastError = &inbox.LastError{Category: inbox.CategoryMFADelete, Message: "m"}
				return r
			}
		}, "run", "see `custody show cleanup.run/check-1`, and dismiss it when the cause is cured"},
		"a run that somebody dismissed": {func(x *trial) { x.run = func(time.Duration) *inbox.Run { return checkRun(inbox.StateDismissed) } }, "run",
			"FAILED: cleanup.run/check-1 is dismissed"},
		"a run that is not there": {func(x *trial) { x.run = func(time.Duration) *inbox.Run { return nil } }, "run",
			"FAILED: there is no run cleanup.run/check-1 in the inbox table"},
		"a delivery that is not due": {func(x *trial) {
			x.answers["first"] = operator.CheckAnswer{Status: 503, Outcome: inbox.OutcomeNotDue, Means: "not yet"}
		},
			"delivery", "FAILED: 503 not_due, and it should be 204 accepted: not yet"},
		"a gateway's answer": {func(x *trial) { x.answers["first"] = operator.CheckAnswer{Status: 204, Means: "no outcome"} }, "delivery",
			"FAILED: 204, and it should be 204 accepted: no outcome"},
		"a duplicate that is accepted": {func(x *trial) { x.answers["again"] = x.answers["first"] }, "duplicate",
			"FAILED: 204 accepted, and it should be 204 already_processed"},
		"what stands on a failed stage": {func(x *trial) { x.answers["first"] = operator.CheckAnswer{Status: 500} }, "run",
			"skipped: it stands on the stage delivery, which is FAILED"},
		"a forgery that is taken": {func(x *trial) { x.answers["forged"] = x.answers["first"] }, "forgery",
			"FAILED: a body that was changed behind its signature is answered 204 accepted, and it must be 401: take the stack off the network"},
		"MFA delete":                   {func(x *trial) { x.bucket.MFADelete = true }, "bucket", "FAILED: it has MFA delete: every run fails with mfa_delete"},
		"versioning that was never on": {func(x *trial) { x.bucket.Versioning = "" }, "bucket", "FAILED: its versioning was never enabled, and must be Enabled: every run fails with versioning_off"},
		"a bucket with Object Lock":    {func(x *trial) { x.bucket.ObjectLock = true }, "bucket", "ok: versioning Enabled, MFA delete off, Object Lock on"},
		"a canary that nobody may put": {func(x *trial) { x.put = errors.New("lacks s3:DeleteObject") }, "canary", "FAILED: lacks s3:DeleteObject"},
		"a canary that is left":        {func(x *trial) { x.left = []string{"v2"} }, "canary", "FAILED: the cleanup function says that it is gone, and it is not"},
		"a canary in a locked bucket":  {func(x *trial) { x.keeps = "30 days" }, "canary", "skipped: the bucket's Object Lock keeps every new version for 30 days"},
		"a canary of which more is gone": {func(x *trial) {
			x.canary = func([]string) inbox.Canary { return inbox.Canary{Outcome: inbox.CanaryDone} }
		}, "canary", "its Bucket is another one"},
		"a canary that is refused": {func(x *trial) {
			x.canary = func([]string) inbox.Canary { return inbox.Canary{Outcome: inbox.CanaryRefused, Problem: "too many"} }
		}, "canary", "FAILED: the cleanup function refuses it: too many"},
		"an answer of a later version": {func(x *trial) { x.canary = func([]string) inbox.Canary { return inbox.Canary{Outcome: "postponed"} } }, "canary",
			"FAILED: the cleanup function answers postponed, which this version does not know"},
		"a report bucket that is not there": {func(x *trial) { delete(x.skip, operator.StageReport) }, "report", "FAILED: no_such_bucket: no bucket reports ("},
		"a sweep that comes too late": {func(x *trial) {
			x.swept = func(after time.Duration) bool { return after > 15*time.Second }
			x.run = nil
			x.skip["run"] = "no"
		}, "sweeper",
			"FAILED: no sweep was published in the last 5m10s"},
		"a sweep in time": {func(x *trial) {
			x.swept = func(after time.Duration) bool { return after >= 10*time.Second }
			x.run = nil
			x.skip["run"] = "no"
		}, "sweeper",
			"ok: swept 1m0s ago; the oldest open run was 1m30s old then"},
		"alarms": {func(*trial) {}, "alarms", "ok: 1 OK, 1 without data yet: B"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				x := sound()
				test.change(x)
				if got := x.says(t, test.stage); !strings.Contains(got, test.want) {
					t.Errorf("%s is %s\nwant %s", test.stage, got, test.want)
				}
			})
		})
	}
}

// The command must be due, and by little: the metric of the age of commands is not to be spoiled by checks.
func TestACheckSendsOneCommandOfItsOwnWarehouse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := sound()
		x.says(t, "run")
		body := `{"expired_before":"1999-12-30T23:59:00Z","run_id":"check-1","type":"cleanup.run","warehouse_id":"custody-check"}`
		want := []string{"check-1 " + body, "check-1 " + body, "check-1-forged " + body}
		if diff := cmp.Diff(want, x.sent); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		if len(x.moved) > 0 {
			t.Errorf("moved: %v", x.moved)
		}
	})
}

func TestACheckLeavesNoRecordedRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := sound()
		x.run = func(time.Duration) *inbox.Run { return checkRun(inbox.StateRecorded) }
		got := x.says(t, "run")
		want := []string{"dismiss cleanup.run/check-1 by alice: custody check: the stack is in the record-only stage"}
		if diff := cmp.Diff(want, x.moved); diff != "" || !strings.HasPrefix(got, "ok: ") {
			t.Errorf("%s (-want +got):\n%s", got, diff)
		}
	})
}

// Ctrl-C in the middle: the stage that it meets has failed, no other begins, and the caller is told.
func TestACheckThatIsCalledOffBeginsNoFurtherStage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := sound()
		x.run = func(time.Duration) *inbox.Run { return checkRun(inbox.StatePending) }
		ctx, cancel := context.WithCancelCause(t.Context())
		var last operator.StageResult
		why := errors.New("interrupted")
		time.AfterFunc(3*time.Second, func() { cancel(why) })
		results, err := x.checks(ctx, func(r operator.StageResult) { last = r })
		if !errors.Is(err, why) || len(results) != 7 || last.Stage != "run" || last.Verdict != operator.VerdictFailed || last.Took != 3*time.Second {
			t.Errorf("error %v, %d results, the last %+v", err, len(results), last)
		}
	})
}
