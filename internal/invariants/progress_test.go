package invariants_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"custody/internal/cleanup"
	"custody/internal/inbox"
	"custody/internal/invariants"
)

// keys puts n keys of one version.
func keys(w *invariants.World, n int) {
	for i := range n {
		w.Put(pod(fmt.Sprintf("%03d", i)))
	}
}

// A batch that does not fill is sent after some pages: a listing that takes longer than a slice would else never delete anything.
func TestAListingThatTakesLongerThanASliceMakesProgress(t *testing.T) {
	t.Parallel()
	s := scenario{
		options: invariants.Options{
			PageSize: 1, Latency: slowListing,
			Settings: func(s *cleanup.Settings) { s.SliceBudget, s.AttemptCeiling = 14*time.Second, 2 },
		},
		before: func(w *invariants.World) { keys(w, 30) },
		story:  func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:   map[string]string{"r-1": "done"}, left: []string{},
	}
	if o := s.sound(t); o.runs["r-1"].Slices < 3 {
		t.Errorf("%d slices: the story is too short to show anything", o.runs["r-1"].Slices)
	}
}

// One key of many versions takes several slices. Its place does not move, and what is confirmed gone is progress.
func TestOneKeyThatTakesSeveralSlicesMakesProgressByItsDeletions(t *testing.T) {
	t.Parallel()
	s := scenario{
		options: invariants.Options{
			PageSize: 1, Latency: slowListing,
			Settings: func(s *cleanup.Settings) { s.SliceBudget, s.AttemptCeiling = 14*time.Second, 2 },
		},
		before: func(w *invariants.World) {
			for range 40 {
				w.Put(pod("a"))
			}
		},
		story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:  map[string]string{"r-1": "done"}, left: []string{},
	}
	if o := s.sound(t); o.runs["r-1"].Slices < 4 {
		t.Errorf("%d slices: the story is too short to show anything", o.runs["r-1"].Slices)
	}
}

// A delete that takes long holds the listing back, so that memory does not grow with the run.
func TestASlowDeleteHoldsTheListingBack(t *testing.T) {
	t.Parallel()
	var pages, first atomic.Int64 // the listing and the deletes come from goroutines of their own
	s := scenario{
		options: invariants.Options{
			PageSize: 1,
			Latency: func(c invariants.Call) time.Duration {
				if c.Operation == "DeleteObjects" {
					return 10 * time.Second
				}
				return 0
			},
			Before: func(_ *invariants.World, c invariants.Call) {
				switch {
				case c.Operation == "ListObjectVersions":
					pages.Add(1)
				case c.Operation == "DeleteObjects" && c.N == 1:
					first.Store(pages.Load())
				}
			},
		},
		before: func(w *invariants.World) { keys(w, 80) },
		story:  func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:   map[string]string{"r-1": "done"}, left: []string{},
	}
	s.sound(t)
	// Eight pages for the batch on its way, eight for the one that is ready, and the page ahead of each.
	if n := first.Load(); n > 20 {
		t.Errorf("%d pages were listed while the first delete was on its way", n)
	}
}

// What is on its way when the function's own time is over is cut off, so that the last write has its time.
func TestASliceIsCutOffInTimeForItsLastWrite(t *testing.T) {
	t.Parallel()
	s := scenario{
		options: invariants.Options{
			PageSize: 1, Settings: func(s *cleanup.Settings) { s.SliceBudget = 290 * time.Second },
		},
		fault: func(c invariants.Call) invariants.Fault {
			if c.Process == "cleanup-1" && c.Operation == "DeleteObjects" {
				return invariants.Fault{Stall: 28 * time.Second} // a batch every half a minute, so that one is on its way in the end
			}
			return invariants.Fault{}
		},
		before: func(w *invariants.World) { keys(w, 120) },
		story:  func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:   map[string]string{"r-1": "done"}, left: []string{},
	}
	o := s.sound(t)
	first := o.slices[0]
	if first.Outcome != inbox.SliceYielded || first.Duration <= 285*time.Second || first.Duration > 300*time.Second {
		t.Errorf("the first slice ended as %s after %s, want it to yield before its 300 s are over: %s; %+v", first.Outcome, first.Duration, first.Problem, o.slices)
	}
}

// What S3 takes at once is sent once, whatever becomes of the other versions of its batch.
func TestWhatIsConfirmedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := sentAgain()
	o := s.sound(t)
	if run := o.runs["r-1"]; run.Deleted != 3 || run.Confirmed != 3 {
		t.Errorf("%d deletes counted, %d confirmed, want 3", run.Deleted, run.Confirmed)
	}
}

// The category says whose fault it was. One of the stack's own tables is never the run's.
func TestWhyHoldsCannotBeReadIsSaid(t *testing.T) {
	t.Parallel()
	for want, kind := range map[inbox.Category]invariants.FaultKind{
		inbox.CategoryThrottled:   invariants.FaultThrottled,
		inbox.CategoryInternal:    invariants.FaultDenied,
		inbox.CategoryUnavailable: invariants.FaultNoConnection,
	} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			s, _ := oneOld()
			s.fault = func(c invariants.Call) invariants.Fault {
				if c.Process == "cleanup-1" && c.Operation == "Query" && c.N <= 80 { // longer than a slice tries
					return invariants.Fault{Kind: kind}
				}
				return invariants.Fault{}
			}
			o := s.sound(t)
			if o.slices[0].Outcome != inbox.SliceParked || o.slices[0].Category != want {
				t.Errorf("the first slice ended as %s %s: %s", o.slices[0].Outcome, o.slices[0].Category, o.slices[0].Problem)
			}
		})
	}
}

func TestARunThatIsGivenUpKeepsItsCause(t *testing.T) {
	t.Parallel()
	s := givingUp()
	o := s.sound(t)
	if run := o.runs["r-1"]; run.Category != "attempt_ceiling" || run.Cause != "throttled" {
		t.Errorf("the run failed with %s, the cause is %q", run.Category, run.Cause)
	}
}

// A key whose versions all stay, and take more than a slice to list, would be listed again and again: no place within it is stored.
func TestAKeyThatOutlastsASliceWithoutProgressFailsTheRun(t *testing.T) {
	t.Parallel()
	s := scenario{
		options: invariants.Options{
			PageSize: 1, Latency: slowListing,
			Settings: func(s *cleanup.Settings) { s.SliceBudget = 14 * time.Second },
		},
		before: func(w *invariants.World) {
			for range 40 {
				w.Put(pod("a"))
			}
			w.Place(invariants.Hold{Scope: scope, ID: "h", Key: pod("a"), Reason: "legal_hold"})
		},
		story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:  map[string]string{"r-1": "failed"},
	}
	o := s.sound(t)
	if run := o.runs["r-1"]; run.Category != "key_too_large" || run.Slices != 1 || len(o.left) != 40 {
		t.Errorf("the run is %+v with %d versions left, want key_too_large in the first slice", run, len(o.left))
	}
}

// Every scan is resumed in the middle of the first prefix: the second one is listed from its start all the same.
func TestAResumedScanListsTheNextPrefixFromItsStart(t *testing.T) {
	t.Parallel()
	label := "labels/" + warehouse + "/x"
	s := scenario{
		options: invariants.Options{
			PageSize: 1, Latency: slowListing,
			Settings: func(s *cleanup.Settings) { s.SliceBudget = 14 * time.Second },
		},
		before: func(w *invariants.World) {
			keys(w, 30)
			w.Put(label)
			w.Place(invariants.Hold{Scope: scope, ID: "h", Prefix: "pod/", Reason: "legal_hold"})
		},
		story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:  map[string]string{"r-1": "done"},
	}
	o := s.sound(t)
	if run := o.runs["r-1"]; run.Deleted != 1 || run.Slices < 4 || len(o.left) != 30 {
		t.Errorf("the run is %+v with %d versions left, want the label gone after two scans of several slices", run, len(o.left))
	}
}

// The budget is counted from the moment at which the record came, whatever it took to get the lease.
func TestTheBudgetIsCountedFromTheRecord(t *testing.T) {
	t.Parallel()
	s, _ := oneOld()
	s.options.Latency = slowListing
	s.options.Settings = func(s *cleanup.Settings) { s.SliceBudget = 5 * time.Second }
	s.fault = at("cleanup-1", "UpdateItem", 1, invariants.Fault{Stall: 6 * time.Second})
	o := s.sound(t)
	if first := o.slices[0]; first.Outcome != inbox.SliceYielded || first.Batches != 0 {
		t.Errorf("the first slice is %+v, want a yield at once", first)
	}
}

// Some versions of a batch are held, and the request for the others fails at first: the held ones are counted once.
func TestWhatIsHeldInABatchThatIsRepeatedIsCountedOnce(t *testing.T) {
	t.Parallel()
	s, _ := oneOld()
	s.before = func(w *invariants.World) {
		put(w, pod("a"), pod("b"))
		w.Place(invariants.Hold{Scope: scope, ID: "h", Key: pod("b"), Reason: "legal_hold"})
	}
	s.fault = func(c invariants.Call) invariants.Fault {
		if c.Operation == "DeleteObjects" && c.N <= 2 {
			return invariants.Fault{Kind: invariants.FaultNoConnection}
		}
		return invariants.Fault{}
	}
	s.left = []string{pod("b") + " 1"}
	o := s.sound(t)
	if run := o.runs["r-1"]; run.Retained["legal_hold"] != 1 || o.slices[0].Retained["legal_hold"] != 2 {
		t.Errorf("the last scan retained %v, the slice %v, want one version in each of its two scans", run.Retained, o.slices[0].Retained)
	}
}

// Keys that are finished behind one that still waits for its current version lose nothing of what they have seen.
func TestKeysThatFinishBehindAnUnfinishedOneAreCounted(t *testing.T) {
	t.Parallel()
	s := scenario{
		before: func(w *invariants.World) {
			put(w, pod("a"), pod("a"), pod("b"), pod("c"))
			w.Sleep(age)
			put(w, pod("b"), pod("c")) // young, and current
			w.Place(invariants.Hold{Scope: scope, ID: "h", Prefix: "pod/", Reason: "legal_hold"})
		},
		story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:  map[string]string{"r-1": "done"},
	}
	o := s.sound(t)
	if run := o.runs["r-1"]; fmt.Sprint(run.Retained) != "map[legal_hold:4]" {
		t.Errorf("retained %v, want all four old versions", run.Retained)
	}
}

// The error in an item is bounded, however long the name of a key is.
func TestTheErrorInAnItemIsBounded(t *testing.T) {
	t.Parallel()
	s, _ := oneOld()
	s.before = func(w *invariants.World) { w.Put(pod(strings.Repeat("k", 1000))) }
	s.options.Refuse = func(string, int) string { return "AccessDenied" }
	s.want, s.left = map[string]string{"r-1": "failed"}, nil
	o := s.sound(t)
	if n := len(o.runs["r-1"].Message); n < 900 || n > 1010 {
		t.Errorf("the message has %d bytes, want some 1000", n)
	}
}

// The pauses of twelve attempts add up to three hours at least: an outage of S3 of an hour, or of two, fails nothing.
func TestAnOutageOfHoursFailsNothing(t *testing.T) {
	t.Parallel()
	for _, hours := range []time.Duration{1, 2} {
		t.Run(fmt.Sprint(int(hours), " h"), func(t *testing.T) {
			t.Parallel()
			s, _ := oneOld()
			var end time.Time
			s.fault = func(c invariants.Call) invariants.Fault {
				if c.Service == invariants.ServiceS3 && time.Now().Before(end) {
					return invariants.Fault{Kind: invariants.FaultNoConnection}
				}
				return invariants.Fault{}
			}
			s.story = func(w *invariants.World, cutoff time.Time) {
				end = time.Now().Add(hours * time.Hour)
				w.Push(delivery(cutoff))
			}
			if o := s.sound(t); o.took < hours*time.Hour || o.took > (hours+2)*time.Hour {
				t.Errorf("the run was done after %s", o.took)
			}
		})
	}
}

// Between two pages of one key, all versions seen so far may be gone: a batch was full at the page's end. The key is not finished
// before its listing has gone past it: its current version would else go over those that are still to be listed.
func TestAKeyIsNotFinishedBetweenTwoOfItsPages(t *testing.T) {
	t.Parallel()
	// Seven pages hold the current version and a full batch of 1,000 others; on eleven further ones the current version would have
	// waited long enough for a batch of its own.
	const pageSize, versions = 143, 18 * 143
	s := scenario{
		options: invariants.Options{
			PageSize: pageSize, Latency: slowListing,
		},
		before: func(w *invariants.World) {
			for range versions {
				w.Put(pod("a"))
			}
		},
		story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:  map[string]string{"r-1": "done"}, left: []string{},
	}
	o := s.sound(t)
	if run := o.runs["r-1"]; run.Deleted != versions || run.Confirmed != versions {
		t.Errorf("%d deletes counted, %d confirmed, want %d", run.Deleted, run.Confirmed, versions)
	}
}

// An item names the first hundred refused versions and counts all, however many keys and slices they lie in.
func TestRefusedVersionsAreCountedAndAHundredAreNamed(t *testing.T) {
	t.Parallel()
	s := scenario{
		options: invariants.Options{PageSize: 40, Refuse: func(string, int) string { return "AccessDenied" }},
		before:  func(w *invariants.World) { keys(w, 130) },
		story:   func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:    map[string]string{"r-1": "failed"},
	}
	o := s.sound(t)
	if run := o.runs["r-1"]; run.Category != "versions_refused" || run.Refused != 130 || run.Named != 100 {
		t.Errorf("the run is %+v, want 130 refused versions, 100 of them named", run)
	}
}
