package operator_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/operator"
)

// at is a reading after so many seconds.
type at struct {
	after                   int
	scan                    int
	listed, deleted, absent int64
}

func readings(p *operator.Pace, change func(*inbox.Run), all ...at) operator.Reading {
	var last operator.Reading
	for _, a := range all {
		run := runIn(inbox.StateRunning)
		run.Mode, run.Place.Scan = inbox.ModeDelete, a.scan
		run.Counters = inbox.Counters{Listed: a.listed, Deleted: a.deleted, Absent: a.absent, Selected: a.deleted + a.absent}
		if change != nil {
			change(&run)
		}
		last = p.See(run, now.Add(time.Duration(a.after)*time.Second))
	}
	return last
}

func TestAPaceKnowsWhatCanBeKnown(t *testing.T) {
	t.Parallel()
	retried := func(r *inbox.Run) { r.Operation = &inbox.Operation{Move: inbox.MoveRetry, By: "alice", At: now} }
	released := func(r *inbox.Run) { r.Operation = &inbox.Operation{Move: inbox.MoveRelease, By: "alice", At: now} }
	dry := func(r *inbox.Run) { r.Mode = inbox.ModeDryRun }
	for sentence, test := range map[string]struct {
		expected int64
		change   func(*inbox.Run)
		seen     []at
		want     operator.Reading
	}{
		"one look says nothing of a rate": {0, nil, []at{{0, 1, 100, 50, 0}},
			operator.Reading{What: operator.CountedDeleted, Done: 50, Rate: -1}},
		"a first scan has a rate and no end": {0, nil, []at{{0, 1, 100, 50, 0}, {10, 1, 300, 150, 0}},
			operator.Reading{What: operator.CountedDeleted, Done: 150, Rate: 10}},
		"a dry run counts what it would delete": {0, dry, []at{{0, 1, 100, 50, 0}, {10, 1, 300, 150, 0}},
			operator.Reading{What: operator.CountedSelected, Done: 150, Rate: 10}},
		"with a plan's number it has an end": {250, nil, []at{{0, 1, 100, 50, 0}, {10, 1, 300, 140, 10}},
			operator.Reading{What: operator.CountedDeleted, Done: 150, Total: 250, Rate: 10, Left: 10 * time.Second, LeftKnown: true}},
		"a plan's number that was too small is no end": {100, nil, []at{{0, 1, 100, 50, 0}, {10, 1, 300, 150, 0}},
			operator.Reading{What: operator.CountedDeleted, Done: 150, Rate: 10}},
		"the second scan meets what the first left": {0, nil,
			[]at{{0, 1, 1000, 600, 0}, {10, 2, 1000, 690, 10}, {20, 2, 1100, 690, 10}},
			operator.Reading{What: operator.CountedListed, Done: 100, Total: 300, Rate: 10, Left: 20 * time.Second, LeftKnown: true}},
		"and the third what the second left": {0, nil,
			[]at{{0, 1, 1000, 600, 0}, {10, 2, 1000, 700, 0}, {20, 3, 1300, 800, 0}, {30, 3, 1350, 800, 0}},
			operator.Reading{What: operator.CountedListed, Done: 50, Total: 200, Rate: 5, Left: 30 * time.Second, LeftKnown: true}},
		"who comes in the middle of a later scan does not know its end": {0, nil, []at{{0, 2, 1000, 700, 0}, {10, 2, 1100, 700, 0}},
			operator.Reading{What: operator.CountedListed, Done: 1100, Rate: 10}},
		"nor does the scan behind it": {0, nil, []at{{0, 2, 1000, 700, 0}, {10, 3, 1100, 700, 0}, {20, 3, 1200, 700, 0}},
			operator.Reading{What: operator.CountedListed, Done: 100, Rate: 10}},
		"a scan that nobody saw leaves the next unknown": {0, nil, []at{{0, 1, 1000, 700, 0}, {10, 3, 1300, 800, 0}, {20, 3, 1400, 800, 0}},
			operator.Reading{What: operator.CountedListed, Done: 100, Rate: 10}},
		"a retry keeps the counters of the life before": {2000, retried, []at{{0, 1, 1000, 700, 0}, {10, 1, 1100, 800, 0}},
			operator.Reading{What: operator.CountedDeleted, Done: 800, Rate: 10}},
		"a release begins them anew": {200, released, []at{{0, 1, 0, 0, 0}, {10, 1, 1100, 100, 0}},
			operator.Reading{What: operator.CountedDeleted, Done: 100, Total: 200, Rate: 10, Left: 10 * time.Second, LeftKnown: true}},
		"what stands still has no end": {250, nil, []at{{0, 1, 100, 50, 0}, {10, 1, 100, 50, 0}},
			operator.Reading{What: operator.CountedDeleted, Done: 50, Total: 250, Rate: 0}},
		"a rate is of the last twenty seconds": {0, nil, []at{{0, 1, 0, 0, 0}, {100, 1, 0, 1000, 0}, {110, 1, 0, 1010, 0}, {120, 1, 0, 1020, 0}},
			operator.Reading{What: operator.CountedDeleted, Done: 1020, Rate: 1}},
		"new versions in a scan are not more than all": {0, nil, []at{{0, 1, 1000, 600, 0}, {10, 2, 1000, 700, 0}, {20, 2, 1500, 700, 0}},
			operator.Reading{What: operator.CountedListed, Done: 300, Total: 300, Rate: 30, LeftKnown: true}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got := readings(&operator.Pace{Expected: test.expected}, test.change, test.seen...)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
