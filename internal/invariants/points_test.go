package invariants_test

import (
	"slices"
	"testing"
	"time"

	"custody/internal/cleanup"
	"custody/internal/inbox"
	"custody/internal/invariants"
)

// at makes a fault that falls on one call, on its first attempt.
func at(process, operation string, n int, f invariants.Fault) func(invariants.Call) invariants.Fault {
	return func(c invariants.Call) invariants.Fault {
		if c.Process == process && c.Operation == operation && c.N == n && c.Attempt == 1 {
			return f
		}
		return invariants.Fault{}
	}
}

// sound tells the story and wants it to end well.
func (s scenario) sound(t *testing.T) outcome {
	t.Helper()
	o := s.tell(t, nil)
	for _, wrong := range s.wrong(o) {
		t.Error(wrong)
	}
	return o
}

func (o outcome) count(process, operation string) int {
	n := 0
	for _, c := range o.calls {
		if c.Process == process && c.Operation == operation && c.Attempt == 1 {
			n++
		}
	}
	return n
}

func (o outcome) ends() []inbox.SliceOutcome {
	var ends []inbox.SliceOutcome
	for _, s := range o.slices {
		ends = append(ends, s.Outcome)
	}
	return ends
}

// oneOld is a story over three old versions of two keys, with what the producer was answered.
func oneOld(want ...int) (*scenario, func(t *testing.T)) {
	var got []int
	s := &scenario{
		before: func(w *invariants.World) { put(w, pod("a"), pod("a"), pod("b")) },
		story: func(w *invariants.World, cutoff time.Time) {
			for {
				status := w.Send(delivery(cutoff))
				if got = append(got, status); status < 500 {
					return
				}
				w.Sleep(5 * time.Second)
			}
		},
		want: map[string]string{"r-1": "done"}, left: []string{},
	}
	return s, func(t *testing.T) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("the producer was answered %v, want %v", got, want)
		}
	}
}

func TestFailureBeforeVerification(t *testing.T) {
	t.Parallel()
	s, answered := oneOld(502, 204)
	s.options.Crash = func(function string, n int) bool { return function == invariants.Webhook && n == 1 }
	o := s.sound(t)
	answered(t)
	if n := o.count("webhook-1", "TransactWriteItems"); n != 0 {
		t.Errorf("the dead webhook made %d claims", n)
	}
}

func TestFailureAfterVerificationBeforeCommit(t *testing.T) {
	t.Parallel()
	s, answered := oneOld(502, 204)
	s.fault = at("webhook-1", "TransactWriteItems", 1, invariants.Fault{Kind: invariants.FaultDeathBefore})
	s.sound(t)
	answered(t)
}

func TestFailureAfterCommitBeforeTheAnswerArrives(t *testing.T) {
	t.Parallel()
	s, answered := oneOld(502, 204)
	s.fault = at("webhook-1", "TransactWriteItems", 1, invariants.Fault{Kind: invariants.FaultDeath})
	o := s.sound(t)
	answered(t)
	if run := o.runs["r-1"]; run.Slices != 1 {
		t.Errorf("the redelivery led to %d slices, want the one of the claim", run.Slices)
	}
}

func TestFailureDuringAnObjectBatch(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]invariants.FaultKind{
		"before S3 had it":   invariants.FaultDeathBefore,
		"behind S3's answer": invariants.FaultDeath,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, answered := oneOld(204)
			s.fault = at("cleanup-1", "DeleteObjects", 1, invariants.Fault{Kind: kind})
			o := s.sound(t)
			answered(t)
			if run := o.runs["r-1"]; run.Slices != 2 || o.took > time.Minute {
				t.Errorf("%d slices in %s, want the retried record to take its dead lease over at once", run.Slices, o.took)
			}
		})
	}
}

func TestFailureAfterTheFinalDeleteBeforeDone(t *testing.T) {
	t.Parallel()
	s, answered := oneOld(204)
	s.fault = at("cleanup-1", "UpdateItem", 2, invariants.Fault{Kind: invariants.FaultDeathBefore})
	o := s.sound(t)
	answered(t)
	if n := o.count("cleanup-2", "DeleteObjects"); n != 0 {
		t.Errorf("the second worker sent %d deletes, and nothing was left", n)
	}
	if run := o.runs["r-1"]; run.Deleted != 0 || run.Confirmed != 3 {
		t.Errorf("the item counts %d of %d deletes, want none: what died with the worker is a lower bound", run.Deleted, run.Confirmed)
	}
}

// A copy that loses comes to a second instance, while the first one drains: it is at work still, and then ends without an answer.
func TestTheLosingCopyWhileOneInstanceDrains(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		first invariants.Fault // of the draining instance's claim
	}{
		"whose claim committed first":    {invariants.Fault{Kind: invariants.FaultDeath}},
		"whose claim comes second":       {invariants.Fault{Kind: invariants.FaultDeath, Stall: time.Second}},
		"whose claim never leaves it":    {invariants.Fault{Kind: invariants.FaultDeathBefore}},
		"whose claim commits unanswered": {invariants.Fault{Kind: invariants.FaultLostAnswer}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var second int
			s, _ := oneOld()
			s.fault = at("webhook-1", "TransactWriteItems", 1, test.first)
			s.story = func(w *invariants.World, cutoff time.Time) {
				w.Go(func() { w.Send(delivery(cutoff)) })
				w.Sleep(2 * time.Millisecond)
				second = w.Send(delivery(cutoff))
			}
			o := s.sound(t)
			if second != 204 {
				t.Errorf("the second copy was answered %d", second)
			}
			if run := o.runs["r-1"]; run.Slices != 1 {
				t.Errorf("%d slices, want 1", run.Slices)
			}
		})
	}
}

func TestTheTransactionNearItsTimeout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stall time.Duration
		want  []int
	}{
		"in time":                       {4800 * time.Millisecond, []int{204}},
		"behind the handler's patience": {4950 * time.Millisecond, []int{503, 204}},
		"behind the redelivery":         {15 * time.Second, []int{503, 204}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, answered := oneOld(test.want...)
			s.fault = at("webhook-1", "TransactWriteItems", 1, invariants.Fault{Stall: test.stall})
			s.sound(t)
			answered(t)
		})
	}
}

// The worker's delete is on its way for long, its checkpoint for longer, and the mapping loses sight of it: a second worker takes
// the run over. The delete arrives under the second worker, and the first one's writes are refused.
func TestAWorkerThatLostItsLeaseAndStillHasADeleteInFlight(t *testing.T) {
	t.Parallel()
	s, _ := oneOld()
	s.options.Settings = func(s *cleanup.Settings) { s.LeaseDuration = 20 * time.Second }
	s.options.Stream = func(n int) invariants.StreamFault {
		if n == 1 {
			return invariants.StreamFault{Abandon: 15 * time.Second}
		}
		return invariants.StreamFault{}
	}
	s.fault = func(c invariants.Call) invariants.Fault {
		switch {
		case c.Process == "cleanup-1" && c.Operation == "DeleteObjects" && c.N == 1:
			return invariants.Fault{Stall: 25 * time.Second}
		case c.Process == "cleanup-2" && c.Operation == "ListObjectVersions" && c.N == 1:
			return invariants.Fault{Stall: 12 * time.Second} // until the other one's delete has arrived
		}
		return invariants.Fault{}
	}
	s.story = func(w *invariants.World, cutoff time.Time) {
		w.Push(delivery(cutoff))
		w.Sleep(10 * time.Second) // the delete is on its way: what comes now is too late for it, and in time for all others
		w.Place(invariants.Hold{Scope: scope, ID: "late", Key: pod("b"), Reason: "legal_hold"})
		w.Sleep(2 * time.Minute)
	}
	s.left = nil
	o := s.sound(t)
	if want := []inbox.SliceOutcome{inbox.SliceLeaseLost, inbox.SliceCompleted}; !slices.Equal(o.ends(), want) {
		t.Errorf("the slices ended as %v, want %v", o.ends(), want)
	}
	// It acquires and writes two checkpoints before its record comes again; the next write is refused, and is its last one,
	// although it waits for its delete for many more ticks.
	if n := o.count("cleanup-1", "UpdateItem"); n != 4 {
		t.Errorf("the first worker wrote %d times, want it to stop at the first write that is refused", n)
	}
}

func TestTwoSchedulersWithDifferentRunsOverOneWarehouse(t *testing.T) {
	t.Parallel()
	s := batches(1)
	s.story = func(w *invariants.World, cutoff time.Time) {
		d := invariants.Delivery{ID: "d-2", Run: "r-2", Warehouse: warehouse, Cutoff: cutoff}
		w.Go(func() { w.Push(d) })
		w.Sleep(aMoment)
		w.Push(delivery(cutoff))
	}
	s.want["r-2"] = "done"
	s.sound(t)
}

// The answer to a delete is lost, and a hold comes before it is sent again. The hold retains what is gone already, so the scan
// that says so must not be the one that completes the run.
func TestADeleteWhoseAnswerIsLostIsNotForgottenUnderAHoldThatComesMeanwhile(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]int{"of a version that is not current": 1, "of the current version": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := oneOld()
			s.fault = at("cleanup-1", "DeleteObjects", lost, invariants.Fault{Kind: invariants.FaultLostAnswer})
			s.options.Before = func(w *invariants.World, c invariants.Call) {
				if c.Operation == "DeleteObjects" && c.N == lost {
					w.Place(invariants.Hold{Scope: "*", ID: "late", Prefix: "pod/", Reason: "legal_hold"})
				}
			}
			s.story = func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) }
			s.left = nil
			o := s.sound(t)
			retained := int64(0)
			for _, n := range o.runs["r-1"].Retained {
				retained += n
			}
			if retained != int64(len(o.left)) || o.runs["r-1"].Scan != 2 {
				t.Errorf("scan %d retained %d versions, the bucket holds %q", o.runs["r-1"].Scan, retained, o.left)
			}
		})
	}
}

// The holds are read, and the second half of the answer comes late: what was decided by them must not be sent any more.
func TestHoldsThatGrewOldOnTheirWayAreReadAgain(t *testing.T) {
	t.Parallel()
	s, _ := oneOld()
	s.fault = at("cleanup-1", "Query", 2, invariants.Fault{Stall: 6 * time.Second})
	s.options.Before = func(w *invariants.World, c invariants.Call) {
		if c.Operation == "Query" && c.N == 2 { // behind the read of the scope's holds
			w.Place(invariants.Hold{Scope: scope, ID: "late", Key: pod("b"), Reason: "legal_hold"})
		}
	}
	s.left = []string{pod("b") + " 1"}
	s.sound(t)
}
