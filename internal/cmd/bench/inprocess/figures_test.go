package inprocess_test

import (
	"testing"

	"custody/internal/cmd/bench/inprocess"
)

// Every measure is taken: what it says is for the table.
func TestEveryMeasureIsTaken(t *testing.T) { // not beside others: one of them counts the allocations of the process
	all := inprocess.Figures(t.Context(), inprocess.Options{Rounds: 2, Repeats: 10, Deliveries: 20, Versions: []int{2_000, 20_000}})
	if len(all) != 4 {
		t.Errorf("%d figures, want 4", len(all))
	}
	for _, f := range all {
		t.Logf("%s: %.2f %s (%.2f to %.2f), %v", f.Measure, f.Median, f.Unit, f.Min, f.Max, f.Context)
		if f.Missing != "" || f.Met == nil {
			t.Errorf("%s, %s: %s", f.Measure, f.Contender, f.Missing)
		}
	}
}
