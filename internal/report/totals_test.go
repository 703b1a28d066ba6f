package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"custody/internal/report"
)

func TestTotals(t *testing.T) {
	t.Parallel()
	tally := report.NewTally([]string{"labels/", "pod/", "none/"})
	for _, v := range []report.Version{
		{Key: "pod/a", State: report.StateGone, Decision: report.DecisionDelete, Fate: report.FateDeleted, Size: 5},
		{Key: "labels/a", State: report.StateGone, Decision: report.DecisionDelete, Fate: report.FateDeleted, DeleteMarker: true},
		{Key: "labels/b", State: report.StateGone, Decision: report.DecisionDelete, Fate: report.FateAbsent, Size: 2},
		{Key: "labels/c", State: report.StateStays, Decision: report.DecisionKeep, Reason: "tag", Size: 100},
		{Key: "pod/c", State: report.StateStays, Decision: report.DecisionDelete, Fate: report.FateDryRun, Size: 7},
		{Key: "pod/d", State: report.StateUnknown, Decision: report.DecisionDelete, Fate: report.FateUnknown, Size: 100},
		{Key: "elsewhere", State: report.StateStays, Decision: report.DecisionDelete, Fate: report.FateRefused, Code: "X", Size: 100},
	} {
		tally.Add(v)
	}
	wantWords := []report.Row{
		{State: report.StateGone, Decision: report.DecisionDelete, Fate: report.FateAbsent, Versions: 1, Bytes: 2},
		{State: report.StateGone, Decision: report.DecisionDelete, Fate: report.FateDeleted, Versions: 2, DeleteMarkers: 1, Bytes: 5},
		{State: report.StateStays, Decision: report.DecisionDelete, Fate: report.FateDryRun, Versions: 1, Bytes: 7},
		{State: report.StateStays, Decision: report.DecisionDelete, Fate: report.FateRefused, Code: "X", Versions: 1, Bytes: 100},
		{State: report.StateStays, Decision: report.DecisionKeep, Reason: "tag", Versions: 1, Bytes: 100},
		{State: report.StateUnknown, Decision: report.DecisionDelete, Fate: report.FateUnknown, Versions: 1, Bytes: 100},
	}
	if diff := cmp.Diff(wantWords, tally.ByWord()); diff != "" {
		t.Errorf("by word (-want +got):\n%s", diff)
	}
	wantTotals := []report.Total{
		{Prefix: "labels/", Gone: 2, Stays: 1, Bytes: 2}, {Prefix: "pod/", Gone: 1, WouldGo: 1, Unknown: 1, Bytes: 12}, {Prefix: "none/"}, {Stays: 1},
	}
	if diff := cmp.Diff(wantTotals, tally.ByPrefix()); diff != "" {
		t.Errorf("by prefix (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(report.Total{Gone: 3, WouldGo: 1, Stays: 2, Unknown: 1, Bytes: 14}, tally.Sum()); diff != "" {
		t.Errorf("sum (-want +got):\n%s", diff)
	}
}
