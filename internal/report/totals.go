package report

import (
	"cmp"
	"slices"
)

// ByWord are the counts over all prefixes: by state and by what became of the versions.
func (t *Tally) ByWord() []Row {
	all := map[Row]*Row{}
	var order []Row
	for _, r := range t.Rows() {
		name := Row{State: r.State, Decision: r.Decision, Reason: r.Reason, Fate: r.Fate, Code: r.Code}
		if all[name] == nil {
			sum := name
			all[name] = &sum
			order = append(order, name)
		}
		all[name].count(r)
	}
	rows := make([]Row, 0, len(order))
	for _, name := range order {
		rows = append(rows, *all[name])
	}
	slices.SortStableFunc(rows, func(a, b Row) int { // Rows are by prefix first
		return cmp.Or(cmp.Compare(a.State, b.State), cmp.Compare(a.Decision, b.Decision), cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Fate, b.Fate), cmp.Compare(a.Code, b.Code))
	})
	return rows
}

func (r *Row) count(o Row) {
	r.Versions += o.Versions
	r.DeleteMarkers += o.DeleteMarkers
	r.Bytes += o.Bytes
}

// Total is how many versions of a prefix are where.
type Total struct {
	Prefix  string `json:"prefix"`   // of the selection; "" for keys outside of all
	Gone    int64  `json:"gone"`     // confirmed by S3
	WouldGo int64  `json:"would_go"` // selected by a dry run
	Stays   int64  `json:"stays"`
	Unknown int64  `json:"unknown"`
	Bytes   int64  `json:"bytes"` // of those that are gone, or would go
}

// ByPrefix are the totals of each prefix, those without a version included, in the order of the selection.
func (t *Tally) ByPrefix() []Total {
	totals := make([]Total, len(t.prefixes), len(t.prefixes)+1)
	at := map[string]int{}
	for i, p := range t.prefixes {
		totals[i].Prefix, at[p] = p, i
	}
	for _, r := range t.Rows() {
		i, known := at[r.Prefix]
		if !known {
			i, at[r.Prefix] = len(totals), len(totals)
			totals = append(totals, Total{Prefix: r.Prefix})
		}
		totals[i].count(r)
	}
	return totals
}

// Sum is the total of all prefixes.
func (t *Tally) Sum() Total {
	var sum Total
	for _, r := range t.Rows() {
		sum.count(r)
	}
	return sum
}

func (t *Total) count(r Row) {
	switch {
	case r.State == StateGone:
		t.Gone += r.Versions
		t.Bytes += r.Bytes
	case r.State == StateUnknown:
		t.Unknown += r.Versions
	case r.Fate == FateDryRun:
		t.WouldGo += r.Versions
		t.Bytes += r.Bytes
	default:
		t.Stays += r.Versions
	}
}
