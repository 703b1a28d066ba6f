package invariants_test

import (
	"slices"
	"testing"
	"time"

	"custody/internal/inbox"
	"custody/internal/invariants"
)

// The whole chain of an item that cannot be written: the record is reported as failed, comes again a bounded number of times, is
// dead-lettered, and the sweeper heals the run. The records of other runs go on meanwhile.
func TestARecordWhoseItemCannotBeWrittenIsRetriedBuriedAndHealed(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]int{"not even acquired": 1, "acquired, and never ended": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			down, deaf, buried, other := true, map[string]int{}, []string(nil), ""
			s := scenario{
				before: func(w *invariants.World) { put(w, pod("a"), "pod/wh-2/a") },
				fault: func(c invariants.Call) invariants.Fault {
					if !down || c.Process != "cleanup-1" || c.Operation != "UpdateItem" {
						return invariants.Fault{}
					}
					if c.Attempt == 1 {
						deaf[c.Process]++
					}
					if from == 2 && deaf[c.Process]%2 == 1 {
						return invariants.Fault{} // each acquire
					}
					return invariants.Fault{Kind: invariants.FaultServerError}
				},
				story: func(w *invariants.World, cutoff time.Time) {
					w.StopSweeping(true)
					w.Go(func() { w.Push(delivery(cutoff)) })
					w.Sleep(50 * time.Millisecond) // the first slice has cleanup-1; those of the other run get instances of their own
					w.Push(invariants.Delivery{ID: "d-2", Run: "r-2", Warehouse: "wh-2", Cutoff: cutoff})
					for len(w.DeadLetters()) == 0 {
						w.Sleep(time.Second)
					}
					buried = w.DeadLetters()
					v, _ := w.Run("r-2")
					other, down = v.State, false
					w.StopSweeping(false)
				},
				want: map[string]string{"r-1": "done", "r-2": "done"}, left: []string{},
			}
			o := s.sound(t)
			if len(buried) != 1 || o.dead != 1 {
				t.Errorf("%d dead letters, later %d, want one", len(buried), o.dead)
			}
			unwritten := slices.DeleteFunc(o.slices, func(s invariants.Slice) bool { return s.Outcome != inbox.SliceUnwritten })
			if len(unwritten) != 6 {
				t.Errorf("the record was reported as failed %d times, want once and five retries", len(unwritten))
			}
			for _, u := range unwritten {
				if u.InboxToCompletion != 0 {
					t.Errorf("a slice that could not write its end counts a completion after %s", u.InboxToCompletion)
				}
			}
			if other != "done" {
				t.Errorf("the other run was %q meanwhile", other)
			}
		})
	}
}

// A record that comes late, or twice, or never, multiplies nothing.
func TestRecordsThatAreLateRepeatedOrLostDoNotMultiply(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]invariants.StreamFault{
		"late, behind two wakes of the sweeper": {Delay: 8 * time.Minute},
		"twice":                                 {Again: true},
		"late and twice":                        {Delay: 8 * time.Minute, Again: true},
		"never":                                 {Lose: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := oneOld()
			s.options.Stream = func(n int) invariants.StreamFault {
				if n == 1 {
					return f
				}
				return invariants.StreamFault{}
			}
			o := s.sound(t)
			if run := o.runs["r-1"]; run.Slices != 1 {
				t.Errorf("%d slices, want 1", run.Slices)
			}
		})
	}
}
