package invariants_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"custody/internal/cleanup"
	"custody/internal/inbox"
	"custody/internal/invariants"
)

// S3 asks for ever to send one version again: a slice tries a few times, and then the run parks. The others are gone by then.
func TestAVersionThatS3NeverTakesParksTheRunSoon(t *testing.T) {
	t.Parallel()
	s, _ := oneOld()
	s.options.Settings = func(s *cleanup.Settings) { s.AttemptCeiling = 2 }
	s.options.Refuse = func(key string, _ int) string {
		if key == pod("b") {
			return "SlowDown"
		}
		return ""
	}
	s.want, s.left = map[string]string{"r-1": "failed"}, []string{pod("b") + " 1"}
	o := s.sound(t)
	for _, slice := range o.slices {
		if slice.Outcome != inbox.SliceParked || slice.Category != inbox.CategoryThrottled || slice.Duration > 30*time.Second {
			t.Errorf("a slice ended as %s %s after %s, want parked and throttled, soon", slice.Outcome, slice.Category, slice.Duration)
		}
	}
	// Six tries of the batch in each of three slices, the first of which has made progress, and the others' one batch.
	if n := o.count("cleanup-1", "DeleteObjects"); n > 3*6+1 {
		t.Errorf("%d deletes were sent", n)
	}
}

// An error that no repetition cures is not repeated, and fails the run at once.
func TestAPermanentErrorIsNotRepeated(t *testing.T) {
	t.Parallel()
	s, _ := oneOld()
	s.fault = func(c invariants.Call) invariants.Fault {
		if c.Operation == "DeleteObjects" {
			return invariants.Fault{Kind: invariants.FaultDenied}
		}
		return invariants.Fault{}
	}
	s.want, s.left = map[string]string{"r-1": "failed"}, []string{pod("a") + " 1", pod("a") + " 2", pod("b") + " 1"}
	o := s.sound(t)
	if n := o.count("cleanup-1", "DeleteObjects"); n != 1 {
		t.Errorf("%d deletes were sent", n)
	}
}

// The brake is not waited out in a slice, and is nobody's failure: the run goes on when it is lifted, however long that takes.
func TestTheBrakeOutlivesTheCeilingOfAttempts(t *testing.T) {
	t.Parallel()
	s, _ := oneOld()
	s.options.Settings = func(s *cleanup.Settings) { s.AttemptCeiling = 2 }
	s.story = func(w *invariants.World, cutoff time.Time) {
		w.Place(invariants.Hold{Scope: "*", ID: "stop", Reason: "stop"})
		w.Push(delivery(cutoff))
		w.Sleep(12 * time.Minute)
		if left := w.Left(); len(left) != 3 {
			w.Report("the brake was on, and the bucket holds %q", left)
		}
		w.Lift("*", "stop")
	}
	o := s.sound(t)
	if len(o.slices) < 5 {
		t.Errorf("%d slices, want more than the ceiling of attempts", len(o.slices))
	}
	for _, slice := range o.slices {
		if slice.Duration > time.Second {
			t.Errorf("a slice waited %s", slice.Duration)
		}
	}
}

// A slice whose lease is renewed lives beyond it, and is not woken beside its work.
func TestALongSliceKeepsItsLease(t *testing.T) {
	t.Parallel()
	s, _ := oneOld()
	s.options.Settings = func(s *cleanup.Settings) { s.LeaseDuration = 15 * time.Second }
	s.options.Latency = func(c invariants.Call) time.Duration {
		if c.Operation == "DeleteObjects" {
			return 14 * time.Second // there and back, without progress, below the half minute that a request may take
		}
		return 0
	}
	s.story = func(w *invariants.World, cutoff time.Time) {
		w.Go(func() {
			for range 60 {
				w.Sleep(time.Second)
				w.Sweep()
			}
		})
		w.Push(delivery(cutoff))
	}
	o := s.sound(t)
	if run := o.runs["r-1"]; run.Slices != 1 {
		t.Errorf("%d slices, want 1", run.Slices)
	}
	for _, c := range o.calls {
		if c.Process == "cleanup-1" && c.Operation == "UpdateItem" && c.N == 40 {
			t.Error("the lease is written all the time")
		}
	}
}

// The place, the counters and the refused versions survive a slice that yields in the middle of a scan.
func TestAScanThatYieldsKeepsWhatItHasSeen(t *testing.T) {
	t.Parallel()
	s := scenario{
		options: invariants.Options{
			PageSize: 2, Latency: slowDeletes,
			Settings: func(s *cleanup.Settings) { s.SliceBudget = 2 * time.Second },
			Refuse: func(key string, _ int) string {
				if key == pod("00") {
					return "AccessDenied"
				}
				return ""
			},
		},
		before: func(w *invariants.World) {
			many(w, 12)
			w.Place(invariants.Hold{Scope: scope, ID: "h", Key: pod("01"), Reason: "legal_hold"})
		},
		story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:  map[string]string{"r-1": "failed"},
		left:  []string{pod("00") + " 1", pod("00") + " 2", pod("00") + " 3", pod("01") + " 1", pod("01") + " 2"},
	}
	o := s.sound(t)
	run := o.runs["r-1"]
	if run.Category != "versions_refused" || run.Slices < 2 || run.Refused != 2 || run.Deleted != run.Confirmed {
		t.Errorf("the run is %+v, want 2 refused versions after several slices, and all deletes counted", run)
	}
	if !slices.Contains(o.ends(), inbox.SliceYielded) {
		t.Errorf("no slice yielded: %v", o.ends())
	}
	if got := fmt.Sprint(run.Retained); got != "map[current_over_kept:1 legal_hold:2]" {
		t.Errorf("retained %s", got)
	}
}
