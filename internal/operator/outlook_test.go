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
		"woken twice more in vain": {with(inbox.StatePending, func(r *inbox.Run) { r.Wake, r.WakeCount, r.WakeAt = "w", 2, now }),
			"its wake is on the stream, a sweep repeated it 2 times, and no slice has begun", time.Time{}},
		"woken again": {with(inbox.StatePending, func(r *inbox.Run) { r.Wake, r.WakeCount, r.WakeAt = "w", 1, now }),
			"its wake is on the stream and starts a slice", time.Time{}},
		"woken, and nobody knows when": {with(inbox.StatePending, func(r *inbox.Run) { r.Wake = "w" }), "its wake is on the stream and starts a slice", time.Time{}},
		"woken":                        {with(inbox.StatePending, func(r *inbox.Run) { r.Wake, r.WakeAt = "w", now }), "its wake is on the stream", time.Time{}},
		"woken long ago, and not again": {with(inbox.StatePending, func(r *inbox.Run) { r.Wake, r.WakeAt = "w", now.Add(-7*time.Minute-time.Second) }),
			"its wake is on the stream, no slice has begun, and no sweep has repeated it in time: the sweeper may be dead. Read: docs/operations.md#oldestopenrunagealarm", time.Time{}},
		"woken as long ago as a sweep may take": {with(inbox.StatePending, func(r *inbox.Run) { r.Wake, r.WakeAt = "w", now.Add(-7*time.Minute) }),
			"its wake is on the stream and starts a slice", time.Time{}},
		"woken twice more, and not due yet": {with(inbox.StatePending, func(r *inbox.Run) { r.Wake, r.WakeCount, r.WakeAt = "w", 2, now.Add(-13*time.Minute) }),
			"its wake is on the stream, a sweep repeated it 2 times", time.Time{}},
		"woken twice more, and then no more": {with(inbox.StatePending, func(r *inbox.Run) { r.Wake, r.WakeCount, r.WakeAt = "w", 2, now.Add(-13*time.Minute-time.Second) }),
			"its wake is on the stream, no slice has begun, and no sweep has repeated it", time.Time{}},
		"woken a thousand times, the last time more than an hour ago": {with(inbox.StatePending, func(r *inbox.Run) {
			r.Wake, r.WakeCount, r.WakeAt = "w", 1000, now.Add(-time.Hour-5*time.Minute-time.Second)
		}), "its wake is on the stream, no slice has begun, and no sweep has repeated it", time.Time{}},
		"woken a thousand times, the last time an hour ago": {with(inbox.StatePending, func(r *inbox.Run) { r.Wake, r.WakeCount, r.WakeAt = "w", 1000, now.Add(-time.Hour) }),
			"its wake is on the stream, a sweep repeated it 1000 times", time.Time{}},
		"a wake of a parked run that was due long ago": {with(inbox.StatePending, func(r *inbox.Run) {
			r.Wake, r.WakeAt, r.NextAttemptAt = "w", now.Add(-time.Minute), now.Add(-time.Hour)
		}), "its wake is on the stream and starts a slice", time.Time{}},
		"parked, and due long ago": {with(inbox.StatePending, func(r *inbox.Run) { r.NextAttemptAt = now.Add(-5*time.Minute - time.Second) }),
			"it is due, and no sweep has woken it in time: the sweeper may be dead", time.Time{}},
		"parked, and due some minutes ago": {with(inbox.StatePending, func(r *inbox.Run) { r.NextAttemptAt = now.Add(-5 * time.Minute) }),
			"it is due: the next sweep wakes it", time.Time{}},
		"a slice whose lease ran out long ago": {with(inbox.StateRunning, func(r *inbox.Run) { r.LeaseToken, r.LeaseExpiresAt = "t", now.Add(-6*time.Minute) }),
			"its worker is gone, and no sweep has given it to another in time: the sweeper may be dead", time.Time{}},
		"a slice whose lease ran out long ago, and that was woken since": {with(inbox.StateRunning, func(r *inbox.Run) {
			r.LeaseToken, r.LeaseExpiresAt, r.Wake, r.WakeAt = "t", now.Add(-time.Hour), "w", now.Add(-time.Minute)
		}), "its worker is gone: the stream's retry or the next sweep", time.Time{}},
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
