package cleanup_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"pgregory.net/rapid"

	"custody/internal/cleanup"
	"custody/internal/inbox"
	"custody/internal/inbox/inboxtest"
	"custody/internal/retention"
)

// trouble is what becomes of one call, in the order in which the calls arrive.
type trouble int

const (
	noTrouble    trouble = iota
	slowWhole            // 503 SlowDown for the request as a whole, or a throttled read of the holds
	slowSome             // SlowDown for every second version
	brokenWhole          // another 5xx
	brokenSome           // InternalError for every third version
	lostAnswer           // it is done, and nobody hears of it
	manyTroubles         // how many there are
)

// call is what becomes of one, and how much longer than usual it takes.
type call struct {
	what trouble
	more time.Duration
}

// storm is a history of a store that asks to slow down, breaks, and takes its time, and of slices that are short of it.
type storm struct {
	Versions, Held, Batches int
	Page, Remove, Marks     time.Duration
	Rate                    int // 0 for no limit
	Whole                   bool
	Deletes, Holds          []call // by the number of the call; behind them there are none
	Budgets, Functions      []time.Duration
	Seed                    uint64
}

func storms() *rapid.Generator[storm] {
	ms := func(most int) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.IntRange(0, most), func(n int) time.Duration { return time.Duration(n) * time.Millisecond })
	}
	calls := func(most, longest int) *rapid.Generator[[]call] {
		one := rapid.Custom(func(t *rapid.T) call {
			return call{
				what: trouble(max(0, rapid.IntRange(-2, int(manyTroubles)-1).Draw(t, "what"))),
				more: rapid.OneOf(rapid.Just(time.Duration(0)), ms(longest/10), ms(longest)).Draw(t, "more"),
			}
		})
		return rapid.OneOf(rapid.SliceOfN(one, 0, most/10), rapid.SliceOfN(one, most/2, most))
	}
	return rapid.Custom(func(t *rapid.T) storm {
		s := storm{
			Versions: rapid.OneOf(rapid.IntRange(1, 3000), rapid.IntRange(8000, 16_000)).Draw(t, "versions"), Batches: rapid.SampledFrom([]int{1, 2, 4, 8, 32}).Draw(t, "batches"),
			Page: ms(300).Draw(t, "page"), Remove: ms(3000).Draw(t, "remove"),
			Marks: rapid.OneOf(rapid.Just(time.Duration(0)), ms(9000)).Draw(t, "marks"),
			Rate:  rapid.SampledFrom([]int{0, 300, 1200, 3500}).Draw(t, "rate"), Whole: rapid.Bool().Draw(t, "whole"),
			Deletes: calls(60, 40_000).Draw(t, "deletes"), Holds: calls(20, 8000).Draw(t, "holds"),
			Budgets:   rapid.SliceOfN(rapid.OneOf(ms(5000), ms(60_000)), 1, 4).Draw(t, "budgets"),
			Functions: rapid.SliceOfN(ms(80_000), 1, 4).Draw(t, "functions"),
			Seed:      rapid.Uint64().Draw(t, "seed"),
		}
		s.Held = rapid.IntRange(0, s.Versions).Draw(t, "held")
		if s.Rate < 1000 { // a batch that never fits would be refused whole for ever
			s.Whole = false
		}
		return s
	})
}

// stormy is the shelf under a storm, with holds on the last versions of the run, and what it tells of each version.
type stormy struct {
	*bench
	storm

	mu        sync.Mutex
	deletes   int
	reads     int
	holdsRead map[time.Time]bool // when a read of the holds began that was answered
	seen      []bool             // a version that the worker knows to be gone: it was told so, or did not find it listed
	told      int                // versions that it was told of
	says      []string
	closes    time.Time // when the budget of the slice ends
}

func (s *stormy) wrong(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.says) < 10 {
		s.says = append(s.says, fmt.Sprintf(format, a...))
	}
}

const stormRun = "pod/r/"

// begins notes the first call for a batch: behind the end of the budget none may begin, and none may be tried again.
func (s *stormy) begins(what string) {
	if late := time.Since(s.closes); late > 0 {
		s.wrong("a batch was begun, with its %s, %s behind the end of the budget", what, late)
	}
}

func (s *stormy) Bucket(ctx context.Context, name string) (retention.Bucket, error) {
	return s.shelf.Bucket(ctx, name)
}

func (s *stormy) Versioning(ctx context.Context, name string) (retention.Versioning, error) {
	return s.shelf.Versioning(ctx, name)
}

func (s *stormy) Marks(ctx context.Context, _ string, vs []retention.Version, _ retention.Ask) ([]retention.Marks, error) {
	s.begins("tags")
	if err := s.shelf.take(ctx, "marks", s.storm.Marks); err != nil {
		return nil, err
	}
	return make([]retention.Marks, len(vs)), nil
}

func (s *stormy) Page(ctx context.Context, name, prefix string, after retention.Marker) (retention.Page, error) {
	page, err := s.shelf.Page(ctx, name, prefix, after)
	if err != nil {
		return page, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	from, to := number(prefix, after.Key)+1, s.Versions
	if page.Next.Key != "" {
		to = number(prefix, page.Next.Key)
	}
	listed := map[int]bool{}
	for _, v := range page.Versions {
		listed[number(prefix, v.Key)] = true
	}
	for i := from; i < to; i++ {
		s.seen[i] = s.seen[i] || !listed[i]
	}
	return page, nil
}

// next is what becomes of a call, when the time that it takes longer has passed.
func (s *stormy) next(ctx context.Context, of []call, n *int) (trouble, error) {
	s.mu.Lock()
	*n++
	var c call
	if *n <= len(of) {
		c = of[*n-1]
	}
	s.mu.Unlock()
	if c.more == 0 {
		return c.what, nil
	}
	return c.what, s.shelf.take(ctx, "slow", c.more)
}

var errAway = inbox.Failed(inbox.CategoryUnavailable, errors.New("InternalError: try again"))

func (s *stormy) Covering(ctx context.Context, _ string) ([]retention.Hold, error) {
	if s.storm.Marks == 0 {
		s.begins("holds")
	}
	began := time.Now()
	what, err := s.next(ctx, s.Holds, &s.reads)
	if err != nil {
		return nil, err
	}
	switch what {
	case slowWhole, slowSome:
		return nil, inbox.Failed(inbox.CategoryThrottled, errors.New("ProvisionedThroughputExceededException"))
	case brokenWhole, brokenSome, lostAnswer:
		return nil, errAway
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holdsRead[began] = true
	var held []retention.Hold
	for i := s.Versions - s.Held; i < s.Versions; i++ {
		held = append(held, retention.Hold{Key: fmt.Sprintf("%s%08d", stormRun, i), Reason: retention.ReasonLegalHold})
	}
	return held, nil
}

func (s *stormy) Delete(ctx context.Context, name string, vs []retention.Version, before time.Time) ([]retention.Fate, error) {
	began := time.Now()
	s.mu.Lock()
	fresh := s.holdsRead[before.Add(-5*time.Second)]
	s.mu.Unlock()
	if !fresh {
		s.wrong("a request may be sent until %s, and no holds were read 5 s before that", before)
	}
	fates := make([]retention.Fate, len(vs))
	if !began.Before(before) {
		for i := range fates {
			fates[i] = retention.Fate{Kind: retention.FateTransient, Code: retention.CodeHoldsTooOld}
		}
		return fates, nil
	}
	what, err := s.next(ctx, s.Deletes, &s.deletes)
	if err != nil {
		return nil, err
	}
	switch what {
	case slowWhole, brokenWhole:
		if err := s.shelf.take(ctx, "refused", s.storm.Remove); err != nil {
			return nil, err
		}
		if what == slowWhole {
			return nil, inbox.Failed(inbox.CategoryThrottled, errSlowDown)
		}
		return nil, errAway
	default: // the rest is about single versions
	}
	var send []retention.Version
	var which []int
	for i, v := range vs {
		switch {
		case number(stormRun, v.Key) >= s.Versions-s.Held:
			s.wrong("%s is held and was sent", v.Key)
		case what == slowSome && i%2 == 0:
			fates[i] = retention.Fate{Kind: retention.FateTransient, Code: "SlowDown"}
			continue
		case what == brokenSome && i%3 == 0:
			fates[i] = retention.Fate{Kind: retention.FateTransient, Code: "InternalError"}
			continue
		}
		send, which = append(send, v), append(which, i)
	}
	answer, err := s.shelf.Delete(ctx, name, send, before)
	if err != nil {
		return nil, err
	}
	if what == lostAnswer {
		return nil, errAway
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, i := range which {
		fates[i] = answer[n]
		if answer[n].Kind != retention.FateTransient {
			s.seen[number(stormRun, vs[i].Key)] = true
			s.told++
		}
	}
	return fates, nil
}

// Move looks at each write: its place must not be behind a version that may be there and is not held, and it counts no more than
// the worker was told of.
func (s *stormy) Move(ctx context.Context, key inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error) {
	if m.Name != inbox.Acquire().Name {
		s.mu.Lock()
		behind := s.Versions
		if c.Place.Prefix == 0 {
			behind = number(stormRun, c.Place.Key) + 1
		}
		first := slices.Index(s.seen[:min(behind, s.Versions-s.Held)], false)
		told := int64(s.told)
		s.mu.Unlock()
		if first >= 0 {
			s.wrong("%s: the place is behind %d versions, and nothing is known of number %d", m.Name, behind, first)
		}
		counted := c.Counters.Deleted + c.Counters.Absent
		if ends := m.Name != inbox.Checkpoint().Name; counted > told || ends && counted != told {
			s.wrong("%s: %d versions are counted as gone, and %d were said to be", m.Name, counted, told)
		}
	}
	return s.diary.Move(ctx, key, m, c)
}

// slice works one record, in a function that ends in its own time.
func (s *stormy) slice(r inboxtest.Record, n int) {
	function := max(s.Functions[n%len(s.Functions)], 15*time.Second)
	s.set.SliceBudget = s.Budgets[n%len(s.Budgets)]
	if n >= stormSlices { // now everybody has time
		s.set.SliceBudget, function = 240*time.Second, functionTime
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), function)
	defer cancel()
	began := time.Now()
	s.closes = began.Add(min(s.set.SliceBudget, function-15*time.Second))
	w := cleanup.New(s, s, s, s.set, time.Now, s.newID)
	random := rand.New(rand.NewPCG(s.Seed, uint64(n)))
	var one sync.Mutex
	w.Jitter = func(d time.Duration) time.Duration {
		one.Lock()
		defer one.Unlock()
		return time.Duration(random.Int64N(int64(d)))
	}
	_, done := w.Handle(ctx, events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{recordOf(r)}})
	took := time.Since(began)
	if most := function - 5*time.Second; took > most {
		s.wrong("slice %d took %s of the function's %s", n, took, function)
	}
	if len(done) != 1 || done[0].Outcome == inbox.SliceUnwritten || done[0].Outcome == inbox.SliceFailed {
		s.wrong("slice %d: %+v", n, done)
	}
}

const stormSlices = 30

// work works the run until it is done.
func (s *stormy) work() {
	s.claim("r", s.Versions)
	for n := range 2 * stormSlices {
		for _, r := range s.diary.Drain() {
			if r.Image.State == inbox.StatePending && r.Image.Wake != "" {
				s.slice(r, n)
			}
		}
		run := s.run("r")
		if run.State != inbox.StatePending || run.LeaseToken != "" {
			break
		}
		time.Sleep(2 * time.Hour) // longer than any pause
		_, err := s.diary.Move(s.t.Context(), run.RunKey(), inbox.Wake(), inbox.Change{
			Now: time.Now(), NewWake: s.newID(), WakeBefore: time.Now().Add(-time.Minute),
		})
		if _, refused := errors.AsType[*inbox.Refused](err); err != nil && !refused {
			s.wrong("wake: %v", err)
		}
	}
	run, left := s.run("r"), s.shelf.left(stormRun)
	if run.State != inbox.StateDone || left != s.Held {
		s.wrong("the run is %s, %d versions are left and %d are held: %+v", run.State, left, s.Held, run.LastError)
		return
	}
	if got := run.Place.Retained[string(retention.ReasonLegalHold)]; got != int64(s.Held) {
		s.wrong("%d versions are counted as held, %d are", got, s.Held)
	}
}

// Whatever a store refuses, breaks and delays, and however short of time the slices are: a run that is done has left nothing but
// what is held, its place was never behind a version of which nothing was known, and no slice took longer than it may.
func TestRandomStormsOfSlowDownLoseNothingAndEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		plan := storms().Draw(rt, "storm")
		var says []string
		synctest.Test(t, func(t *testing.T) {
			s := &stormy{bench: newBench(t), storm: plan, holdsRead: map[time.Time]bool{}, seen: make([]bool, plan.Versions)}
			s.shelf.page, s.shelf.remove = plan.Page, plan.Remove
			if plan.Rate > 0 {
				s.shelf.limit = newLimit(plan.Rate, plan.Whole)
			}
			s.set.CheckTags, s.set.DeleteConcurrency = plan.Marks > 0, plan.Batches
			s.set.ScanCeiling, s.set.AttemptCeiling = 1000, 1000
			s.work()
			says = s.says
		})
		if len(says) > 0 {
			rt.Fatalf("%s\n%+v", strings.Join(says, "\n"), plan)
		}
	})
}
