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
	// batchTries is how often in a row a batch is tried of which nothing goes. With the pauses between the tries that is some
	// seconds; what has not gone by then parks the run.
	batchTries = 6
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
// are decided again, by holds that are read again: at the pace of all deleters where S3 asks to slow down, which ends when nothing
// goes through any more, and after a pause of their own otherwise.
func (s *slice) deleteBatch(ctx context.Context, b batch) batchResult {
	var result batchResult
	t := trials{pause: firstPause}
	for try := 1; ; try++ {
		began, ok := s.pace.wait(ctx, s.closing, len(b.items))
		if !ok {
			result.err = s.unbegun(ctx, result.err)
			return result
		}
		r := round{slice: s, batch: b, try: try}
		result.err = r.decideAndDelete(ctx)
		result.settled = append(result.settled, r.done...)
		result.uncertain = result.uncertain || r.unanswered
		s.pace.went(len(r.done))
		if result.err == nil && len(r.again) == 0 {
			return result
		}
		if result.err == nil {
			b.items, result.err = r.again, r.leftOver()
		}
		if !s.another(ctx, &t, r, began, result.err) {
			return result
		}
	}
}

// trials is what the tries of one batch have come to.
type trials struct {
	vain  int // tries in a row of which nothing went
	pause time.Duration
}

// another says whether the batch is tried once more behind a round that ended in err, and waits before that where it is nobody's turn.
func (s *slice) another(ctx context.Context, t *trials, r round, began time.Time, err error) bool {
	if r.last || !worthRepeating(err) || over(s.closing) { // its turn may be now, and then nothing below waits for it
		return false
	}
	if len(r.done) > 0 {
		t.vain = 0
	}
	slow := inbox.CategoryOf(err) == inbox.CategoryThrottled
	if slow && s.pace.slower(began) {
		return false
	}
	// A request that is refused as a whole says nothing of its versions: it was its turn at the wrong time.
	if whole := slow && len(r.again) == 0; !whole {
		t.vain++
	}
	switch {
	case t.vain == batchTries:
		return false
	case slow:
		return true
	}
	t.pause *= 2
	return rest(ctx, s.closing, s.Jitter(t.pause/2))
}

// unbegun is why a batch was not tried, or not again: never nil, since its versions are not settled.
func (s *slice) unbegun(ctx context.Context, before error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case before != nil:
		return before
	}
	return inbox.Failed(inbox.CategoryThrottled, errors.New("S3 asked to slow down, and the slice ended before the turn of this batch"))
}

// worthRepeating: a permanent error stays, and the emergency brake is not waited out inside a slice.
func worthRepeating(err error) bool {
	c := inbox.CategoryOf(err)
	return !c.Permanent() && c != inbox.CategoryStopped && !errors.Is(err, errRunMovedOn)
}

// rest waits; false when ctx or the slice ended before.
func rest(ctx context.Context, closing <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-closing:
		return false
	case <-t.C:
		return true
	}
}
