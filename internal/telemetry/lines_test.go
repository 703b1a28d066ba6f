package telemetry_test

import (
	"errors"
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/telemetry"
)

func accepted() inbox.DeliverySummary {
	return inbox.DeliverySummary{
		DeliveryID: "d-1", KeyID: "k1", CommandType: "cleanup.run", RunKey: "r-1", Scope: "warehouse:wh-17",
		Outcome: inbox.OutcomeAccepted, Status: 204, Signature: "valid", BodyBytes: 98,
		Age: 90 * time.Second, AckLatency: 12500 * time.Microsecond,
	}
}

func yielded() inbox.SliceSummary {
	return inbox.SliceSummary{
		Record: "s-1", Run: inbox.RunKey{Type: "cleanup.run", Key: "r-1"}, Scope: "warehouse:wh-17", Outcome: inbox.SliceYielded,
		Mode: inbox.ModeDelete, Scan: 1, Slices: 2, Attempts: 0, Pages: 3, Batches: 4, Listed: 3000, Deleted: 2900, Absent: 7, Refused: 1,
		Retained: map[string]int64{"legal_hold": 60, "current": 32}, Duration: 1500 * time.Millisecond,
	}
}

func swept() inbox.SweepSummary {
	return inbox.SweepSummary{
		Open: 3, Failed: 2, Recorded: 1, Counted: true, OldestOpenAge: 90 * time.Second, Woken: 2, GivenUp: 1, Refused: 1,
		OldestOverdue: 45 * time.Second, ReservationsRead: true, Duration: 20 * time.Millisecond,
	}
}

// plain is the line without its embedded metrics.
func plain(line map[string]any) map[string]any {
	line = maps.Clone(line)
	maps.DeleteFunc(line, func(name string, _ any) bool { return name == "_aws" || name[0] >= 'A' && name[0] <= 'Z' })
	return line
}

func TestWideLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		write func(*testing.T, *telemetry.Telemetry)
		want  map[string]any
	}{
		"a delivery": {
			func(t *testing.T, tel *telemetry.Telemetry) { tel.Delivery(t.Context(), accepted()) },
			map[string]any{
				"time": "2026-08-30T12:00:00.123Z", "level": "INFO", "msg": "delivery", "stack": "trial",
				"delivery_id": "d-1", "key_id": "k1", "command_type": "cleanup.run", "run": "cleanup.run/r-1", "scope": "warehouse:wh-17",
				"outcome": "accepted", "status": 204.0, "signature": "valid", "body_bytes": 98.0, "age_s": 90.0,
				"ack_latency_ms": 12.5, "panicked": false,
			},
		},
		"a rejected delivery names its problem and no run": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Delivery(t.Context(), inbox.DeliverySummary{Outcome: inbox.OutcomeRejected, Status: 400, Problem: "X-Delivery-ID is missing"})
			},
			map[string]any{
				"time": "2026-08-30T12:00:00.123Z", "level": "INFO", "msg": "delivery", "stack": "trial", "outcome": "rejected",
				"status": 400.0, "problem": "X-Delivery-ID is missing", "body_bytes": 0.0, "ack_latency_ms": 0.0, "panicked": false,
			},
		},
		"a slice": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				s := yielded()
				s.Outcome, s.Category, s.Problem = inbox.SliceParked, inbox.CategoryThrottled, "slow down"
				s.InboxToCompletion = time.Minute
				s.RefusedVersions = []inbox.RefusedVersion{{Key: "pod/wh-17/a\n", VersionID: "v1", Code: "AccessDenied"}}
				tel.Slice(t.Context(), s)
			},
			map[string]any{
				"time": "2026-08-30T12:00:00.123Z", "level": "WARN", "msg": "slice", "stack": "trial",
				"record": "s-1", "run": "cleanup.run/r-1", "scope": "warehouse:wh-17", "outcome": "parked", "mode": "delete",
				"category": "throttled", "problem": "slow down", "scan": 1.0, "slices": 2.0, "attempts": 0.0, "pages": 3.0, "batches": 4.0,
				"listed": 3000.0, "deleted": 2900.0, "absent": 7.0, "refused": 1.0,
				"refused_versions": []any{`AccessDenied v1 "pod/wh-17/a\n"`},
				"retained":         map[string]any{"legal_hold": 60.0, "current": 32.0}, "duration_ms": 1500.0, "inbox_to_completion_s": 60.0,
			},
		},
		"a sweep": {
			func(t *testing.T, tel *telemetry.Telemetry) { tel.Sweep(t.Context(), swept()) },
			map[string]any{
				"time": "2026-08-30T12:00:00.123Z", "level": "INFO", "msg": "sweep", "stack": "trial", "counted": true,
				"open": 3.0, "failed": 2.0, "recorded": 1.0, "oldest_open_age_s": 90.0, "oldest_overdue_reservation_age_s": 45.0, "woken": 2.0, "given_up": 1.0, "refused": 1.0,
				"bad_rows": 0.0, "errors": 0.0, "limited": false, "duration_ms": 20.0,
			},
		},
		"a sweep that could read nothing says so and no count": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Sweep(t.Context(), inbox.SweepSummary{Failed: -1, Recorded: -1, Errors: 3, Problem: "no answer", Open: 7})
			},
			map[string]any{
				"time": "2026-08-30T12:00:00.123Z", "level": "ERROR", "msg": "sweep", "stack": "trial", "counted": false,
				"woken": 0.0, "given_up": 0.0, "refused": 0.0, "bad_rows": 0.0, "errors": 3.0, "limited": false,
				"problem": "no answer", "duration_ms": 0.0,
			},
		},
		"a canary": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Canary(t.Context(), inbox.Canary{Key: "custody-check/canary-1", Outcome: inbox.CanaryDone, Duration: time.Second,
					Versions: []inbox.CanaryVersion{{ID: "v1", Fate: inbox.CanaryDeleted}, {ID: "v2", Fate: inbox.CanaryDeleted}, {ID: "v3", Fate: inbox.CanaryAbsent}}})
			},
			map[string]any{
				"time": "2026-08-30T12:00:00.123Z", "level": "INFO", "msg": "canary", "stack": "trial", "key": "custody-check/canary-1",
				"outcome": "done", "fates": map[string]any{"deleted": 2.0, "absent": 1.0}, "duration_ms": 1000.0,
			},
		},
		"a canary that stays is nobody's alarm": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Canary(t.Context(), inbox.Canary{Key: "k", Outcome: inbox.CanaryFailed, Category: inbox.CategoryAccessDenied, Problem: "AccessDenied"})
			},
			map[string]any{
				"time": "2026-08-30T12:00:00.123Z", "level": "WARN", "msg": "canary", "stack": "trial", "key": "k", "outcome": "failed",
				"category": "access_denied", "problem": "AccessDenied", "duration_ms": 0.0,
			},
		},
		"a start that failed lists every problem": {
			func(_ *testing.T, tel *telemetry.Telemetry) {
				tel.StartupError(errors.Join(errors.New("first"), errors.New("second")))
			},
			map[string]any{
				"level": "ERROR", "msg": "startup", "stack": "trial", "problems": []any{"first", "second"},
			},
		},
		"a start that failed for one reason": {
			func(_ *testing.T, tel *telemetry.Telemetry) { tel.StartupError(errors.New("only")) },
			map[string]any{
				"level": "ERROR", "msg": "startup", "stack": "trial", "problems": []any{"only"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := written(t, slog.LevelInfo, func(tel *telemetry.Telemetry) { c.write(t, tel) })
			got := plain(lines[0])
			if c.want["msg"] == "startup" {
				delete(got, "time") // the one line that does not follow the telemetry's clock
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLineNamesTheRequest(t *testing.T) {
	t.Parallel()
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "req-1"})
	lines := written(t, slog.LevelInfo, func(tel *telemetry.Telemetry) { tel.Sweep(ctx, swept()) })
	if lines[0]["request_id"] != "req-1" {
		t.Errorf("got %v", lines[0])
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	delivery := func(s inbox.DeliverySummary) func(*testing.T, *telemetry.Telemetry) {
		return func(t *testing.T, tel *telemetry.Telemetry) { tel.Delivery(t.Context(), s) }
	}
	slice := func(o inbox.SliceOutcome) func(*testing.T, *telemetry.Telemetry) {
		return func(t *testing.T, tel *telemetry.Telemetry) { tel.Slice(t.Context(), inbox.SliceSummary{Outcome: o}) }
	}
	sweep := func(s inbox.SweepSummary) func(*testing.T, *telemetry.Telemetry) {
		return func(t *testing.T, tel *telemetry.Telemetry) { tel.Sweep(t.Context(), s) }
	}
	for name, c := range map[string]struct {
		write func(*testing.T, *telemetry.Telemetry)
		want  string
	}{
		"a sender's mistake is the sender's":    {delivery(inbox.DeliverySummary{Outcome: inbox.OutcomeRejected, Status: 401, Signature: "invalid"}), "INFO"},
		"a store that is away heals":            {delivery(inbox.DeliverySummary{Outcome: inbox.OutcomeRetryableFailure, Status: 503}), "WARN"},
		"no key wants a person":                 {delivery(inbox.DeliverySummary{Outcome: inbox.OutcomeRetryableFailure, Status: 503, Signature: "no_key"}), "ERROR"},
		"a panic wants a person":                {delivery(inbox.DeliverySummary{Status: 500, Panicked: true}), "ERROR"},
		"a completed run":                       {slice(inbox.SliceCompleted), "INFO"},
		"a slice that yielded":                  {slice(inbox.SliceYielded), "INFO"},
		"a late record":                         {slice(inbox.SliceNotAcquired), "INFO"},
		"a parked run":                          {slice(inbox.SliceParked), "WARN"},
		"a lost lease":                          {slice(inbox.SliceLeaseLost), "WARN"},
		"a dropped record":                      {slice(inbox.SliceDropped), "WARN"},
		"a failed run":                          {slice(inbox.SliceFailed), "ERROR"},
		"an item that could not be written":     {slice(inbox.SliceUnwritten), "ERROR"},
		"a quiet sweep":                         {sweep(inbox.SweepSummary{Counted: true}), "INFO"},
		"a sweep with a row it could not read":  {sweep(inbox.SweepSummary{Counted: true, BadRows: 1}), "WARN"},
		"a sweep with a move that failed":       {sweep(inbox.SweepSummary{Counted: true, Errors: 1}), "WARN"},
		"a sweep that reached its limit":        {sweep(inbox.SweepSummary{Counted: true, Limited: true}), "WARN"},
		"a sweep that could not read at all":    {sweep(inbox.SweepSummary{}), "ERROR"},
		"a sweep whose moves were all too late": {sweep(inbox.SweepSummary{Counted: true, Refused: 5}), "INFO"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := written(t, slog.LevelInfo, func(tel *telemetry.Telemetry) { c.write(t, tel) })
			if lines[0]["level"] != c.want {
				t.Errorf("want %s, got %v", c.want, lines[0]["level"])
			}
		})
	}
}
