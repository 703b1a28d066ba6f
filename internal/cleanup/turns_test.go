package cleanup_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/inbox/inboxtest"
)

// functionTime is the timeout of the cleanup function in the template.
const functionTime = 300 * time.Second

// lane works through the stream's records one after the other, as one lane of the mapping does: the worst case of a small run,
// which shares its lane with a large one. It returns which run each slice worked, and how it ended.
func (b *bench) lane() []string {
	b.t.Helper()
	var order []string
	queue := b.diary.Drain()
	for len(queue) > 0 {
		var r inboxtest.Record
		r, queue = queue[0], queue[1:]
		ctx, cancel := context.WithTimeout(b.t.Context(), functionTime)
		done := b.deliver(ctx, r)
		cancel()
		if done.Outcome != inbox.SliceNotAcquired { // a checkpoint's record starts nothing
			order = append(order, fmt.Sprintf("%s %s", done.Run.Key, done.Outcome))
		}
		queue = append(queue, b.diary.Drain()...)
	}
	return order
}

// One million versions take four slices here. All small runs that came meanwhile end between its first slice and its second.
func TestAHundredSmallRunsEndWhileOneOfAMillionVersionsStillWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.shelf.page, b.shelf.remove = 50*time.Millisecond, 3*time.Second
		const million, small = 1_000_000, 100
		b.claim("large", million)
		want := []string{"large yielded"}
		for i := range small {
			name := fmt.Sprintf("small-%03d", i)
			b.claim(name, 10)
			want = append(want, name+" completed")
		}
		want = append(want, "large yielded", "large yielded", "large completed")

		if diff := cmp.Diff(want, b.lane()); diff != "" {
			t.Errorf("slices (-want +got):\n%s", diff)
		}
		// A wake that was there before would let the record of an older yield start a slice once more.
		seen := map[string]bool{}
		for _, e := range b.diary.written(inbox.MoveYield) {
			if seen[e.change.NewWake] {
				t.Errorf("two yields set the wake %q", e.change.NewWake)
			}
			seen[e.change.NewWake] = true
		}
		large := b.run("large")
		if large.State != inbox.StateDone || large.Counters.Deleted != million || b.shelf.left("pod/large/") != 0 {
			t.Errorf("the large run is %s with %+v, %d versions are left", large.State, large.Counters, b.shelf.left("pod/large/"))
		}
		for i := range small {
			if run := b.run(fmt.Sprintf("small-%03d", i)); run.State != inbox.StateDone || !run.EndedAt.Before(large.EndedAt) {
				t.Errorf("%s is %s, ended at %s, the large one at %s", run.Key, run.State, run.EndedAt, large.EndedAt)
			}
		}
	})
}

// A run whose listing never answers takes no more than its slices from the one behind it, and stays within its attempts.
func TestARunWithoutProgressYieldsToTheOneBehindIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.set.AttemptCeiling = 3
		b.shelf.hang = "pod/stuck/"
		b.claim("stuck", 10)
		b.claim("other", 10)
		want := []string{"stuck yielded", "other completed", "stuck yielded", "stuck yielded"}
		if diff := cmp.Diff(want, b.lane()); diff != "" {
			t.Errorf("slices (-want +got):\n%s", diff)
		}
		if run := b.run("stuck"); run.Attempts != 3 || run.State != inbox.StatePending {
			t.Errorf("the run is %s after %d attempts, want pending at the ceiling, for the sweeper to give it up", run.State, run.Attempts)
		}
	})
}

// seconds are times since the slice began.
func seconds(entries []entryInDiary, began time.Time) []float64 {
	var out []float64
	for _, e := range entries {
		out = append(out, e.at.Sub(began).Seconds())
	}
	return out
}

func TestALeaseIsRenewedWhenAThirdOfItIsUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		versions int
		page     time.Duration
		renewed  []float64        // seconds
		writes   func(n int) bool // how many checkpoints there may be in four minutes
	}{
		"without progress, and nothing else is written": {
			10, time.Hour, []float64{30, 60, 90, 120, 150, 180, 210}, func(n int) bool { return n == 7 }},
		"with progress, and while the last batches are waited for behind the budget's end": {
			1_000_000, 100 * time.Millisecond, []float64{30, 60, 90, 120, 150, 180, 210, 240}, func(n int) bool { return n > 30 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.set.SliceBudget = 239 * time.Second // not at the second of a renewal
				b.shelf.page, b.shelf.remove = c.page, 7*time.Second
				b.claim("r", c.versions)
				began := time.Now()
				if got := b.deliver(t.Context(), b.diary.Drain()[0]); got.Outcome != inbox.SliceYielded {
					t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
				}
				checkpoints := b.diary.written(inbox.MoveCheckpoint)
				var renewals []entryInDiary
				for _, e := range checkpoints {
					if !e.change.LeaseExpiresAt.IsZero() {
						renewals = append(renewals, e)
						if got := e.change.LeaseExpiresAt.Sub(e.at); got != b.set.LeaseDuration {
							t.Errorf("renewed for %s, want %s", got, b.set.LeaseDuration)
						}
					}
				}
				if diff := cmp.Diff(c.renewed, seconds(renewals, began)); diff != "" {
					t.Errorf("renewed at seconds (-want +got):\n%s", diff)
				}
				if !c.writes(len(checkpoints)) {
					t.Errorf("%d checkpoints were written", len(checkpoints))
				}
			})
		})
	}
}

func TestCheckpointsAreWrittenAtMostOnceASecondAndCarryWhatIsConfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.shelf.page, b.shelf.remove = time.Millisecond, 170*time.Millisecond // some twenty batches a second
		const n = 200_000
		b.claim("r", n)
		if got := b.deliver(t.Context(), b.diary.Drain()[0]); got.Outcome != inbox.SliceCompleted {
			t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
		}
		checkpoints := b.diary.written(inbox.MoveCheckpoint)
		if len(checkpoints) < 5 {
			t.Fatalf("%d checkpoints were written", len(checkpoints))
		}
		var last entryInDiary
		for _, e := range checkpoints {
			if pause := e.at.Sub(last.at); !last.at.IsZero() && pause < time.Second {
				t.Errorf("a checkpoint %s behind the one before", pause)
			}
			if e.change.Attempts != 0 || e.change.Counters.Deleted <= last.change.Counters.Deleted || e.change.Place.Key <= last.change.Place.Key {
				t.Errorf("a checkpoint without progress: %d attempts, %d deleted up to %q", e.change.Attempts, e.change.Counters.Deleted, e.change.Place.Key)
			}
			// What lies before the place is gone, and what is gone was counted: neither runs ahead of the other by more than
			// what is on its way.
			behind := int64(number("pod/r/", e.change.Place.Key) + 1)
			if gone := e.change.Counters.Deleted; gone < behind || gone > behind+int64(b.set.DeleteConcurrency)*1000 {
				t.Errorf("the place is behind %d versions, and %d are counted as deleted", behind, gone)
			}
			last = e
		}
	})
}

func TestASliceEndsAtItsBudgetOrFifteenSecondsBeforeTheDeadlineWhicheverIsFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		budget, function time.Duration
		page, remove     time.Duration
		lastBatch        time.Duration // when the last batch may begin
		least, most      time.Duration // when the slice ends
	}{
		"the budget is first":   {240 * time.Second, 300 * time.Second, time.Hour, 0, 0, 240 * time.Second, 240 * time.Second},
		"the deadline is first": {240 * time.Second, 100 * time.Second, time.Hour, 0, 0, 85 * time.Second, 85 * time.Second},
		"the budget is a second longer than what the deadline leaves": {
			286 * time.Second, 300 * time.Second, time.Hour, 0, 0, 285 * time.Second, 285 * time.Second},
		"the budget is a second shorter than what the deadline leaves": {
			284 * time.Second, 300 * time.Second, time.Hour, 0, 0, 284 * time.Second, 284 * time.Second},
		"what is on its way at the budget's end is waited for, and nothing new is sent": {
			240 * time.Second, 300 * time.Second, 100 * time.Millisecond, 7 * time.Second, 240 * time.Second, 241 * time.Second, 247 * time.Second},
		"what is on its way is cut off five seconds before the deadline": {
			240 * time.Second, 100 * time.Second, 100 * time.Millisecond, time.Hour, 85 * time.Second, 95 * time.Second, 95 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.set.SliceBudget = c.budget
				b.shelf.page, b.shelf.remove = c.page, c.remove
				b.claim("r", 1_000_000)
				ctx, cancel := context.WithTimeout(t.Context(), c.function)
				defer cancel()
				began := time.Now()
				if got := b.deliver(ctx, b.diary.Drain()[0]); got.Outcome != inbox.SliceYielded {
					t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
				}
				yields := b.diary.written(inbox.MoveYield)
				if len(yields) != 1 {
					t.Fatalf("%d yields were written", len(yields))
				}
				if got := yields[0].at.Sub(began); got < c.least || got > c.most {
					t.Errorf("the slice yielded after %s, want %s to %s", got, c.least, c.most)
				}
				for _, at := range b.shelf.began("delete", began) {
					if at > c.lastBatch {
						t.Errorf("a batch was sent after %s", at)
					}
				}
				if run := b.run("r"); run.State != inbox.StatePending || run.Wake != yields[0].change.NewWake || run.LeaseToken != "" {
					t.Errorf("the run is %s with the wake %q and the lease %q", run.State, run.Wake, run.LeaseToken)
				}
			})
		})
	}
}
