package operator

import (
	"context"
	"errors"
	"slices"

	"custody/internal/inbox"
)

// Attention is the answer of the recovery query: every run that is not at its end, by age.
type Attention struct {
	Runs []inbox.Run // what the index projects, the one that stands there longest first
	Bad  []*inbox.BadRow
}

// partitions are the parts of the index that hold a run, in the order of States.
func partitions() []string {
	var all []string
	for _, s := range inbox.States() {
		if p := s.OpenIndex(); p != "" && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// Attention asks the index for the open, failed and recorded runs. It pages through its three partitions and never scans.
func (o *Operator) Attention(ctx context.Context) (Attention, error) {
	var a Attention
	for _, partition := range partitions() {
		for run, err := range o.Inbox.Rows(ctx, partition) {
			if bad, ok := errors.AsType[*inbox.BadRow](err); ok {
				a.Bad = append(a.Bad, bad)
				continue
			}
			if err != nil {
				return Attention{}, err
			}
			a.Runs = append(a.Runs, run)
		}
	}
	slices.SortStableFunc(a.Runs, func(x, y inbox.Run) int { return x.OpenSince.Compare(y.OpenSince) })
	return a, nil
}

// Count counts the runs of one partition of the index, such as "failed".
func (a Attention) Count(partition string) int {
	n := 0
	for _, run := range a.Runs {
		if run.State.OpenIndex() == partition {
			n++
		}
	}
	return n
}
