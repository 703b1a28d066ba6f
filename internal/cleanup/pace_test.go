package cleanup_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"custody/internal/inbox"
	"custody/internal/retention"
)

var errSlowDown = errors.New("SlowDown: reduce your request rate")

// limit is what a prefix takes: so many versions a second, and a second's worth at once. Beyond that S3 refuses a request as a whole,
// or says of single versions that they are to be sent again; both are documented.
type limit struct {
	rate  int
	whole bool // a request that is not granted whole is refused whole

	mu      sync.Mutex
	tokens  float64
	filled  time.Time
	slowed  int                  // requests that were not granted whole
	waiting map[string]time.Time // since when a version is refused, by its key
	longest time.Duration        // how long a version was refused until it went
}

func newLimit(rate int, whole bool) *limit {
	return &limit{rate: rate, whole: whole, tokens: float64(rate), filled: time.Now(), waiting: map[string]time.Time{}}
}

// grant says how many of the versions may go, from the first on.
func (l *limit) grant(vs []retention.Version) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.tokens = min(l.tokens+now.Sub(l.filled).Seconds()*float64(l.rate), float64(l.rate))
	l.filled = now
	granted := min(int(l.tokens), len(vs))
	if l.whole && granted < len(vs) {
		granted = 0
	}
	l.tokens -= float64(granted)
	if granted < len(vs) {
		l.slowed++
	}
	for i, v := range vs {
		since, waited := l.waiting[v.Key]
		switch {
		case i >= granted && !waited:
			l.waiting[v.Key] = now
		case i < granted && waited:
			l.longest = max(l.longest, now.Sub(since))
			delete(l.waiting, v.Key)
		}
	}
	return granted
}

// S3 takes 3,500 deletes a second under a prefix, which is less than four deleters send. Nothing is lost, nothing parks, no version
// waits long for the others, and most of what the prefix takes is used: less of it where the limit hardly takes a batch a second.
func TestUnderARateLimitADeleterWaitsForTheOthersAndNothingIsLostOrStarved(t *testing.T) {
	t.Parallel()
	for name, whole := range map[string]bool{"requests are refused whole": true, "versions are refused": false} {
		for rate, want := range map[int]struct {
			used, requests float64
			longest        time.Duration
		}{1200: {0.7, 3, 30 * time.Second}, 3500: {0.95, 1.8, 8 * time.Second}, 9000: {0.95, 1.3, 4 * time.Second}} {
			t.Run(fmt.Sprintf("%s, %d a second", name, rate), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t)
					b.shelf.page, b.shelf.remove, b.shelf.limit = 30*time.Millisecond, 200*time.Millisecond, newLimit(rate, whole)
					n := 60 * rate
					b.claim("r", n)
					began := time.Now()
					b.complete("r", n)
					// The first second's worth goes at once.
					used := (time.Minute - time.Second).Seconds() / time.Since(began).Seconds()
					requests := float64(len(b.shelf.began("delete", began))) / float64(n/1000)
					t.Logf("%.0f %% of the rate, %.1f requests for 1,000 versions, the longest wait %s", 100*used, requests, b.shelf.limit.longest)
					if used < want.used {
						t.Errorf("only %.0f %% of the rate were used, want %.0f %%", 100*used, 100*want.used)
					}
					if requests > want.requests {
						t.Errorf("%.1f requests for 1,000 versions, want %.1f at most", requests, want.requests)
					}
					if b.shelf.limit.longest > want.longest {
						t.Errorf("a version was refused for %s until it went, want %s at most", b.shelf.limit.longest, want.longest)
					}
				})
			})
		}
	}
}

// complete works the next record of a run of n versions, whose slice must delete them all.
func (b *bench) complete(name string, n int) {
	got := b.deliver(b.t.Context(), b.diary.Drain()[0])
	if left := b.shelf.left("pod/" + name + "/"); got.Outcome != inbox.SliceCompleted || got.Deleted != int64(n) || left != 0 {
		b.t.Errorf("the slice ended as %s with %d of %d deleted, %d are left: %s", got.Outcome, got.Deleted, n, left, got.Problem)
	}
}

// Two functions work two runs and know nothing of each other. Neither gets so little that the other one is done long before.
func TestTwoRunsShareARateLimit(t *testing.T) {
	t.Parallel()
	for name, whole := range map[string]bool{"requests are refused whole": true, "versions are refused": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const n = 100_000
				shared, began := newLimit(3500, whole), time.Now()
				var took [2]time.Duration
				var group sync.WaitGroup
				for i := range took {
					b := newBench(t)
					b.shelf.page, b.shelf.remove, b.shelf.limit = 30*time.Millisecond, 200*time.Millisecond, shared
					b.claim("r", n)
					group.Go(func() {
						b.complete("r", n)
						took[i] = time.Since(began)
					})
				}
				group.Wait()
				t.Logf("%s and %s", took[0], took[1])
				if first, last := min(took[0], took[1]), max(took[0], took[1]); last > first*3/2 {
					t.Errorf("one was done after %s, the other one after %s", first, last)
				}
			})
		})
	}
}

// A store that refuses everything ends the slice within seconds: the run parks, which is the longer pause.
func TestAStoreThatAlwaysAsksToSlowDownParksTheRunSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.shelf.page, b.shelf.remove, b.shelf.limit = 30*time.Millisecond, 200*time.Millisecond, newLimit(0, true)
		b.claim("r", 20_000)
		began := time.Now()
		got := b.deliver(t.Context(), b.diary.Drain()[0])
		if got.Outcome != inbox.SliceParked || got.Category != inbox.CategoryThrottled || got.Deleted != 0 {
			t.Errorf("the slice ended as %s %s with %d deleted: %s", got.Outcome, got.Category, got.Deleted, got.Problem)
		}
		requests := b.shelf.began("delete", began)
		if took := time.Since(began); took < 3*time.Second || took > 15*time.Second || len(requests) > 24 {
			t.Errorf("it took %s and %d requests", took, len(requests))
		}
	})
}

// A turn that lies behind the end of the slice is not waited for.
func TestTheEndOfTheBudgetDoesNotWaitForTheTurnOfABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.set.SliceBudget = 20 * time.Second
		b.shelf.page, b.shelf.remove, b.shelf.limit = 30*time.Millisecond, 200*time.Millisecond, newLimit(1200, true)
		b.claim("r", 200_000)
		began := time.Now()
		got := b.deliver(t.Context(), b.diary.Drain()[0])
		if took := time.Since(began); got.Outcome != inbox.SliceYielded || took > b.set.SliceBudget+time.Second {
			t.Errorf("the slice ended as %s after %s: %s", got.Outcome, took, got.Problem)
		}
		if run := b.run("r"); run.Attempts != 0 || run.Counters.Deleted != got.Deleted || 200_000-b.shelf.left("pod/r/") != int(got.Deleted) {
			t.Errorf("%d attempts, %d counted, %d gone", run.Attempts, run.Counters.Deleted, 200_000-b.shelf.left("pod/r/"))
		}
	})
}

// Batches that wait for their turn when the time is up have done nothing, and say why: a slice without progress parks, since one that
// yielded would come back at once, and use up its attempts without a pause between them.
func TestASliceThatOnlyWaitedForItsTurnParks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.set.SliceBudget = 1500 * time.Millisecond
		b.shelf.limit = newLimit(0, true)
		b.claim("r", 20_000)
		got := b.deliver(t.Context(), b.diary.Drain()[0])
		if got.Outcome != inbox.SliceParked || got.Category != inbox.CategoryThrottled || got.Duration != b.set.SliceBudget {
			t.Errorf("the slice ended as %s %s after %s: %s", got.Outcome, got.Category, got.Duration, got.Problem)
		}
	})
}
