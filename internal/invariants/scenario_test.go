package invariants_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"custody/internal/invariants"
)

const (
	warehouse = "wh-17"
	scope     = "warehouse:wh-17"
)

// scenario is a story that the crash matrix tells again and again, with one fault in each telling.
type scenario struct {
	options invariants.Options
	fault   func(invariants.Call) invariants.Fault      // what fails in each telling
	before  func(w *invariants.World)                   // writes the bucket, some days before the story
	story   func(w *invariants.World, cutoff time.Time) // what producers, writers and operators do
	want    map[string]string                           // state of each run in the end
	left    []string                                    // of the bucket in the end
}

// outcome is how a telling ended.
type outcome struct {
	calls      []invariants.Call
	violations []string
	runs       map[string]invariants.RunView
	left       []string
	slices     []invariants.Slice
	dead       int
	took       time.Duration
}

// age is how old the bucket of a scenario is when its story begins.
const age = 48 * time.Hour

// tell plays the scenario in a world of its own, in which fault may fall on calls.
func (s scenario) tell(t *testing.T, fault func(invariants.Call) invariants.Fault) outcome {
	t.Helper()
	var out outcome
	synctest.Test(t, func(t *testing.T) {
		o := s.options
		o.Fault = func(c invariants.Call) invariants.Fault {
			if fault != nil {
				if f := fault(c); f.Kind != invariants.FaultNone || f.Stall > 0 {
					return f
				}
			}
			if s.fault != nil {
				return s.fault(c)
			}
			return invariants.Fault{}
		}
		w, err := invariants.New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if s.before != nil {
			s.before(w)
		}
		w.Sleep(age)
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		s.story(w, began.Add(age/2))
		w.Join()
		w.Settle(24 * time.Hour)
		w.CheckBooks()
		out = outcome{calls: w.Calls(), violations: w.Violations(), left: w.Left(), slices: w.Slices(), dead: len(w.DeadLetters()),
			runs: map[string]invariants.RunView{}, took: time.Since(began) - age}
		for run := range s.want {
			if v, there := w.Run(run); there {
				out.runs[run] = v
			}
		}
		w.Close()
	})
	return out
}

// wrong lists what is not as the scenario wants it.
func (s scenario) wrong(o outcome) []string {
	wrong := slices.Clone(o.violations)
	for run, state := range s.want {
		if got := o.runs[run].State; got != state {
			wrong = append(wrong, fmt.Sprintf("run %s is %q (%+v), want %s", run, got, o.runs[run], state))
		}
	}
	if s.left != nil && !slices.Equal(s.left, o.left) {
		wrong = append(wrong, fmt.Sprintf("the bucket holds %q, want %q", o.left, s.left))
	}
	return wrong
}

// delivery is the one that most stories send.
func delivery(cutoff time.Time) invariants.Delivery {
	return invariants.Delivery{ID: "d-1", Run: "r-1", Warehouse: warehouse, Cutoff: cutoff}
}

func put(w *invariants.World, keys ...string) {
	for _, k := range keys {
		w.Put(k)
	}
}

func pod(name string) string { return "pod/" + warehouse + "/" + name }
