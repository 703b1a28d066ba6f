package cleanup

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// Survey says what a run would delete and keep now. It goes the way of a dry run, with the same list, batches and decisions, and
// needs no run: it writes neither an item nor a report, and it is given nothing that could delete.
type Survey struct {
	holds    holds
	versions bucketReader
	settings Settings
	now      func() time.Time
}

// NewSurvey makes a survey. Of the settings, CheckTags and DeleteConcurrency count.
func NewSurvey(h holds, v bucketReader, s Settings, now func() time.Time) *Survey {
	s.DeleteConcurrency = max(s.DeleteConcurrency, 1)
	return &Survey{holds: h, versions: v, settings: s, now: now}
}

// Listener is told of each version and what is decided about it, one at a time. An error of it ends the survey.
type Listener func(v retention.Version, d retention.Decision) error

// Each tells of every version below the selection's prefixes, those that are young included, in the order in which batches are
// decided: roughly that of the keys. A version that is gone when it is to be decided is not told of.
//
// The emergency brake is left aside, and stopped says whether it was met: a run that it covers deletes nothing and waits, and
// what it does when the brake is lifted is what is asked here. An error is what would park or fail a run in the same place.
func (s *Survey) Each(ctx context.Context, scope string, sel inbox.Selection, tell Listener) (stopped bool, err error) {
	released := &unbraked{holds: s.holds, now: s.now}
	w := New(nowhere{}, released, unable{s.versions}, s.settings, s.now, func() string { return "" })
	run := inbox.Run{Scope: scope, Selection: sel, Mode: inbox.ModeDryRun, Place: inbox.StartPlace()}
	one := w.newSlice(s.now())
	one.run, one.ledger, one.tell = run, newLedger(run.Place, run.Counters), tell
	if err := one.checkBucket(ctx); err != nil {
		return false, err
	}
	err = one.scan(ctx, nil) // no budget: whoever waits for the answer ends it
	return released.met.Load(), err
}

// unbraked reads the holds without the emergency brake, and remembers that it was there.
type unbraked struct {
	holds
	now func() time.Time
	met atomic.Bool
}

// Covering is safe for concurrent use, as batches are decided side by side.
func (u *unbraked) Covering(ctx context.Context, scope string) ([]retention.Hold, error) {
	all, err := u.holds.Covering(ctx, scope)
	if err == nil && retention.Stopped(all, u.now()) {
		u.met.Store(true)
	}
	var others []retention.Hold
	for _, h := range all {
		if h.Reason != retention.ReasonStop {
			others = append(others, h)
		}
	}
	return others, err
}

// nowhere is the inbox of a survey: there is no item, and a checkpoint writes nothing.
type nowhere struct{}

// Move does nothing.
func (nowhere) Move(context.Context, inbox.RunKey, inbox.Move, inbox.Change) (inbox.Run, error) {
	return inbox.Run{}, nil
}

// unable is a bucket from which nothing can be deleted.
type unable struct{ bucketReader }

var errUnable = errors.New("a survey deletes nothing")

// Delete refuses: a dry run never comes here.
func (unable) Delete(context.Context, string, []retention.Version, time.Time) ([]retention.Fate, error) {
	return nil, inbox.Failed(inbox.CategoryInternal, errUnable)
}
