package operator

import (
	"time"

	"custody/internal/inbox"
)

// Counted is what a pace counts.
type Counted string

// What a pace can count.
const (
	CountedDeleted  Counted = "deleted"  // versions that are gone, of those that are expected to go
	CountedSelected Counted = "selected" // the same in a dry run, which deletes nothing
	CountedListed   Counted = "seen"     // versions that a scan has met, whatever becomes of them
)

// Reading is how far a run is, as far as that can be known.
type Reading struct {
	What  Counted
	Done  int64
	Total int64   // 0: nobody knows
	Rate  float64 // a second, over the last readings; negative where there are too few of them
	// Left is how long it takes at that rate; it is known only where Total and Rate are.
	Left      time.Duration
	LeftKnown bool
}

// Pace watches a run. Nothing tells how many versions a first scan will meet, since nobody has counted them before it. Whoever
// expects a number can say so. A later scan meets what the one before it left, which a pace knows if it has seen that scan from
// its start on.
type Pace struct {
	// Expected is how many versions are going to be deleted, as a plan says; 0 where nobody has counted.
	Expected int64

	seen  []paceSample
	scan  int
	start *inbox.Counters // at the start of the scan; nil where that was not seen
	total int64           // versions that the scan is going to meet; 0 where that is not known
	what  Counted
}

type paceSample struct {
	at   time.Time
	done int64
}

const (
	// paceWindow is how far back a rate looks: long enough for checkpoints, which come once a second, short enough to notice
	// a throttle.
	paceWindow = 20 * time.Second
	// paceLeast is the shortest time that says anything about a rate.
	paceLeast = 2 * time.Second
)

// See takes a reading of the run.
func (p *Pace) See(run inbox.Run, now time.Time) Reading {
	p.enter(run)
	r := p.count(run)
	p.note(now, r)
	r.Rate = p.rate()
	if r.Total > 0 && r.Rate > 0 {
		r.Left, r.LeftKnown = time.Duration(float64(r.Total-r.Done)/r.Rate*float64(time.Second)), true
	}
	return r
}

// enter notices the start of a scan, and what it is going to meet.
func (p *Pace) enter(run inbox.Run) {
	before, start := p.scan, p.start
	if run.Place.Scan == before {
		return
	}
	p.scan, p.total, p.seen = run.Place.Scan, 0, nil
	here := run.Counters
	switch {
	case before == 0 && run.Place.Scan == 1 && countsFromZero(run):
		p.start = &inbox.Counters{}
	case before == 0:
		p.start = nil
	case before+1 == run.Place.Scan && start != nil:
		p.start = &here
		p.total = max((here.Listed-start.Listed)-(here.Deleted-start.Deleted)-(here.Absent-start.Absent), 0)
	default: // somebody started it again, or a scan was so short that nobody saw it
		p.start = &here
	}
}

// countsFromZero reports whether the first scan's counters are its own. A retry keeps those of the scans before it.
func countsFromZero(run inbox.Run) bool {
	return run.Operation == nil || run.Operation.Move != inbox.MoveRetry
}

func (p *Pace) count(run inbox.Run) Reading {
	var start inbox.Counters
	if p.start != nil {
		start = *p.start
	}
	gone := Reading{What: CountedDeleted, Done: run.Counters.Deleted + run.Counters.Absent - start.Deleted - start.Absent}
	if run.Mode == inbox.ModeDryRun {
		gone = Reading{What: CountedSelected, Done: run.Counters.Selected - start.Selected}
	}
	listed := Reading{What: CountedListed, Done: run.Counters.Listed - start.Listed}
	switch {
	case p.total > 0:
		listed.Total, listed.Done = p.total, min(listed.Done, p.total)
		return listed
	case p.scan == 1 && p.start != nil && p.Expected > 0 && gone.Done <= p.Expected:
		gone.Total = p.Expected
		return gone
	case p.scan == 1:
		return gone
	}
	return listed
}

// note keeps the samples of the window, and none of another quantity.
func (p *Pace) note(now time.Time, r Reading) {
	if p.what != r.What {
		p.seen = nil
	}
	p.what = r.What
	p.seen = append(p.seen, paceSample{now, r.Done})
	for len(p.seen) > 2 && now.Sub(p.seen[1].at) >= paceWindow {
		p.seen = p.seen[1:]
	}
}

func (p *Pace) rate() float64 {
	first, last := p.seen[0], p.seen[len(p.seen)-1]
	took := last.at.Sub(first.at)
	if took < paceLeast {
		return -1
	}
	return max(float64(last.done-first.done), 0) / took.Seconds()
}
