package cleanup

import (
	"context"
	"errors"
	"time"

	"custody/internal/inbox"
	"custody/internal/retention"
)

const (
	// holdsMaxAge is how old the holds may be that a delete request rests on (invariant I2).
	holdsMaxAge = 5 * time.Second
	// batchTries bounds how often the versions of one batch are sent that S3 asked to send again. With the pauses between
	// them that is some seconds; what is still refused then parks the run.
	batchTries = 6
	firstPause = 100 * time.Millisecond // doubled with each try, with full jitter
)

// settled is what became of one candidate.
type settled struct {
	candidate
	kind settledKind
	fate retention.Fate   // of what was sent
	why  retention.Reason // of what was retained
}

type settledKind int

const (
	settledSent settledKind = iota
	settledRetained
	settledSelected // a dry run stops here
)

// batch is up to batchSize versions that are decided and sent together.
type batch struct {
	scan, number int // the number is within the slice
	items        []candidate
}

// batchResult is what became of a batch. What settled does not name has an unknown fate, and err says why.
type batchResult struct {
	settled []settled
	// uncertain says that a delete request had no answer, so that it may have been made. Its versions were decided again, and a
	// hold that came meanwhile retains what is gone already.
	uncertain bool
	err       error
}

// deleteBatch decides each version by the holds as they are now and deletes what may go. Versions that S3 asks to send again
// are decided again, by holds that are read again.
func (s *slice) deleteBatch(ctx context.Context, b batch) batchResult {
	var result batchResult
	pause := firstPause
	for try := 1; ; try++ {
		r := round{slice: s, batch: b, try: try}
		err := r.decideAndDelete(ctx)
		result.settled = append(result.settled, r.done...)
		result.uncertain = result.uncertain || r.unanswered
		switch {
		case err == nil && len(r.again) == 0:
			return result
		case err == nil:
			b.items = r.again
			err = r.leftOver()
		}
		if try == batchTries || r.last || !worthRepeating(err) || !rest(ctx, s.Jitter(pause)) {
			result.err = err
			return result
		}
		pause *= 2
	}
}

// worthRepeating: a permanent error stays, and the emergency brake is not waited out inside a slice.
func worthRepeating(err error) bool {
	c := inbox.CategoryOf(err)
	return !c.Permanent() && c != inbox.CategoryStopped && !errors.Is(err, errRunMovedOn)
}

func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
