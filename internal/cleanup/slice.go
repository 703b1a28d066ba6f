package cleanup

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// slice is one leased invocation over one run.
type slice struct {
	*Worker
	began     time.Time
	token     string // made before the run is acquired, so that a lost answer is recognised
	run       inbox.Run
	ask       retention.Ask // which marks of a version are read
	versioned bool          // versioning was enabled before anything was listed, see readFacts
	ledger    *ledger
	pace      pace
	closing   chan struct{} // closed when nothing new is started, and nothing is tried again
	movedOn   atomic.Bool   // a write was refused: batches on their way begin no further request
	renewedAt time.Time     // when the lease was last written
	started   mark          // where the slice began: beyond it there is progress
	written   mark          // what the last checkpoint wrote
	attempts  int           // as it stands in the item
	summary   inbox.SliceSummary
	tell      Listener // who is told of each decision; nil but for a survey
}

func (w *Worker) newSlice(began time.Time) *slice {
	return &slice{
		Worker: w, began: began, token: w.newID(), pace: pace{now: w.now, jitter: w.Jitter}, closing: make(chan struct{}),
	}
}

// mark is how far a write went, to tell progress from repetition.
type mark struct {
	place   position
	scan    int
	deleted int64
}

func (s *slice) acquire(ctx context.Context, wake wakeRecord) error {
	s.renewedAt = s.now()
	run, err := s.runs.Move(ctx, wake.run, inbox.Acquire(), inbox.Change{
		Now: s.renewedAt, Token: s.token, LeaseExpiresAt: s.renewedAt.Add(s.settings.LeaseDuration),
		Record: wake.identity, Wake: wake.wake, Ceiling: s.settings.AttemptCeiling,
		Mode: s.settings.Mode(wake.scope),
	})
	if refused, ok := errors.AsType[*inbox.Refused](err); ok && refused.Run != nil && refused.Run.LeaseToken == s.token {
		run, err = *refused.Run, nil // our own write, whose answer was lost
	}
	if err != nil {
		return err
	}
	s.run, s.attempts = run, run.Attempts
	s.ledger = newLedger(run.Place, run.Counters)
	s.started = s.ledger.mark()
	s.written = s.started
	s.summary.Scope, s.summary.Mode = run.Scope, run.Mode
	s.summary.Attempts, s.summary.Slices = run.Attempts, run.Slices
	return nil
}

// work scans until the run is finished, the time is up, or an error ends the slice. Nil means that the run is complete.
func (s *slice) work(ctx context.Context) error {
	ctx, cancel := s.workTime(ctx)
	defer cancel()
	if err := s.checkBucket(ctx); err != nil {
		return err
	}
	budget := time.NewTimer(s.budget(ctx))
	defer budget.Stop()
	for {
		if err := s.scan(ctx, budget.C); err != nil {
			return err
		}
		if done, err := s.verify(); done || err != nil {
			return err
		}
	}
}

// workTime leaves the last write its own time: what is on its way when the function's time runs out is cut off before.
func (s *slice) workTime(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, has := ctx.Deadline()
	if !has {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, deadline.Add(-lastWrite), errOutOfTime)
}

// budget is what is left for starting new work: SliceBudget, or the function's time less the reserve, whichever is less.
func (s *slice) budget(ctx context.Context) time.Duration {
	left := s.settings.SliceBudget - s.now().Sub(s.began)
	if deadline, has := ctx.Deadline(); has {
		left = min(left, time.Until(deadline)-(reserve-lastWrite))
	}
	return max(left, 0)
}

func (s *slice) checkBucket(ctx context.Context) error {
	bucket := s.run.Selection.Bucket
	b, err := s.versions.Bucket(ctx, bucket)
	switch {
	case err != nil:
		return err
	case b.Versioning == retention.VersioningNever:
		return inbox.Failed(inbox.CategoryVersioningOff, fmt.Errorf("the versioning of bucket %s was never enabled", bucket))
	case b.MFADelete:
		return inbox.Failed(inbox.CategoryMFADelete, fmt.Errorf("bucket %s has MFA delete enabled", bucket))
	}
	s.versioned = b.Versioning == retention.VersioningEnabled
	s.ask = retention.Ask{Tags: s.settings.CheckTags, Locks: b.ObjectLock}
	return nil
}

// verify decides what follows a finished scan: true when the run is complete. Only a scan that deleted nothing completes it.
func (s *slice) verify() (bool, error) {
	place := s.ledger.place
	switch {
	case place.RefusedCount > 0:
		first := place.Refused[0]
		return false, inbox.Failed(inbox.CategoryVersionsRefused,
			fmt.Errorf("S3 refused to delete %d versions, the first is %q version %s: %s", place.RefusedCount, first.Key, first.VersionID, first.Code))
	case s.run.Mode == inbox.ModeDryRun, !place.Deleted:
		return true, nil
	case place.Scan >= s.settings.ScanCeiling:
		return false, inbox.Failed(inbox.CategoryNotConverging,
			fmt.Errorf("scan %d still deleted versions, at most %d scans are made", place.Scan, s.settings.ScanCeiling))
	}
	s.ledger.nextScan()
	return false, nil
}
