package operator_test

import (
	"strings"
	"testing"
	"time"

	"custody/internal/inbox"
	"custody/internal/operator"
)

func TestNextSaysWhatTheRunWaitsFor(t *testing.T) {
	t.Parallel()
	with := func(state inbox.State, change func(*inbox.Run)) inbox.Run {
		run := runIn(state)
		if change != nil {
			change(&run)
		}
		return run
	}
	soon := now.Add(time.Minute)
	for sentence, test := range map[string]struct {
		run  inbox.Run
		want string // how the words begin
		at   time.Time
	}{
		"recorded":                {with(inbox.StateRecorded, nil), "nothing by itself: it was claimed in the record-only stage", time.Time{}},
		"failed":                  {with(inbox.StateFailed, nil), "nothing by itself: it waits to be retried or dismissed", time.Time{}},
		"done":                    {with(inbox.StateDone, nil), "it has ended", time.Unix(7, 0)},
		"done, and kept for ever": {with(inbox.StateDone, func(r *inbox.Run) { r.TTL = 0 }), "it has ended", time.Time{}},
		"dismissed":               {with(inbox.StateDismissed, nil), "it has ended", time.Unix(7, 0)},
		"a slice with a live lease": {with(inbox.StateRunning, func(r *inbox.Run) { r.LeaseToken, r.LeaseExpiresAt = "t", soon }),
			"a slice works on it", soon},
		"a slice whose lease ran out this second": {with(inbox.StateRunning, func(r *inbox.Run) { r.LeaseToken, r.LeaseExpiresAt = "t", now }),
			"its worker is gone", time.Time{}},
		"parked": {with(inbox.StatePending, func(r *inbox.Run) { r.NextAttemptAt = soon }), "it is parked", soon},
		"parked until this second": {with(inbox.StatePending, func(r *inbox.Run) { r.NextAttemptAt = now }),
			"it is due: the next sweep wakes it", time.Time{}},
		"woken twice more in vain": {with(inbox.StatePending, func(r *inbox.Run) { r.Wake, r.WakeCount = "w", 2 }),
			"its wake is on the stream, a sweep repeated it 2 times, and no slice has begun", time.Time{}},
		"woken again": {with(inbox.StatePending, func(r *inbox.Run) { r.Wake, r.WakeCount = "w", 1 }),
			"its wake is on the stream and starts a slice", time.Time{}},
		"woken":   {with(inbox.StatePending, func(r *inbox.Run) { r.Wake = "w" }), "its wake is on the stream", time.Time{}},
		"unknown": {with("paused", nil), "unknown: this version does not know the state paused", time.Time{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got := operator.Next(test.run, now)
			if !strings.HasPrefix(got.Words, test.want) || !got.At.Equal(test.at) {
				t.Errorf("%q at %v, want %q at %v", got.Words, got.At, test.want, test.at)
			}
		})
	}
}

func TestEveryCategoryIsExplained(t *testing.T) {
	t.Parallel()
	unknown := operator.Advise("nonsense")
	seen := map[string]inbox.Category{}
	for _, c := range inbox.Categories() {
		advice := operator.Advise(c)
		if advice.Means == "" || advice.Do == "" || advice == unknown {
			t.Errorf("%s is not explained: %+v", c, advice)
		}
		if other, twice := seen[advice.Means]; twice {
			t.Errorf("%s and %s have the same words", c, other)
		}
		seen[advice.Means] = c
		if move := strings.Contains(advice.Do, "retry it") || strings.Contains(advice.Do, "dismiss it"); move != c.Permanent() {
			t.Errorf("%s: only a permanent error needs a move, and always does: %q", c, advice.Do)
		}
	}
}
