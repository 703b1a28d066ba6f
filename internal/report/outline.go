package report

import (
	"slices"
	"time"
)

// Outline is what the objects of a run have in common, whichever versions their lines are about. It does not grow with the
// run. The lists have more than one entry where a run was worked in both modes, one after the other: a selection never changes.
type Outline struct {
	Scopes   []string
	Modes    []Mode // in the order of the first line of each
	Buckets  []string
	Prefixes []string
	Cutoffs  []time.Time

	Objects     int
	Lines       int64
	Slices      int       // the highest number of a slice
	Scans       int       // the highest number of a scan
	First, Last time.Time // of the lines

	modes map[Mode]time.Time
}

// Add takes the object in. Each may be added once.
func (o *Outline) Add(object Object) {
	h := object.Header
	once(&o.Scopes, h.Scope)
	once(&o.Buckets, h.Bucket)
	for _, p := range h.Prefixes {
		once(&o.Prefixes, p)
	}
	if !slices.ContainsFunc(o.Cutoffs, h.Cutoff.Equal) {
		o.Cutoffs = append(o.Cutoffs, h.Cutoff)
	}
	o.Objects++
	o.Slices, o.Scans = max(o.Slices, h.Slice), max(o.Scans, h.Scan)
	for _, s := range object.Selections {
		o.line(h.Mode, s.At)
	}
	for _, f := range object.Outcomes {
		o.line(h.Mode, f.At)
	}
}

func (o *Outline) line(m Mode, at time.Time) {
	o.Lines++
	if o.First.IsZero() || at.Before(o.First) {
		o.First = at
	}
	if at.After(o.Last) {
		o.Last = at
	}
	if o.modes == nil {
		o.modes = map[Mode]time.Time{}
	}
	if before, known := o.modes[m]; known && !at.Before(before) {
		return
	}
	o.modes[m] = at
	once(&o.Modes, m)
	slices.SortStableFunc(o.Modes, func(a, b Mode) int { return o.modes[a].Compare(o.modes[b]) })
}

func once[T comparable](list *[]T, entry T) {
	if !slices.Contains(*list, entry) {
		*list = append(*list, entry)
	}
}
