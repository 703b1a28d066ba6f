package cleanup

import (
	"context"
	"errors"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// end makes the one move that ends the slice, and says how it ended. The write survives the cancellation of the function's
// context, since what was done must be known.
func (s *slice) end(ctx context.Context, why error) inbox.SliceOutcome {
	s.count()
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), lastWrite, errItemUnwritten)
	defer cancel()
	if why != nil {
		s.summary.Problem = why.Error()
	}
	if errors.Is(why, errRunMovedOn) {
		return inbox.SliceLeaseLost
	}
	move, change, outcome := s.lastMove(why)
	s.summary.Attempts = change.Attempts
	_, err := s.runs.Move(ctx, s.run.RunKey(), move, change)
	if err = s.ownWrite(err, move, change); err == nil {
		return outcome
	}
	s.summary.Problem, s.summary.InboxToCompletion = err.Error(), 0
	if errors.Is(err, errRunMovedOn) {
		return inbox.SliceLeaseLost
	}
	s.summary.Category = inbox.CategoryOf(err)
	return inbox.SliceUnwritten
}

// ownWrite recognises a refusal by our own earlier write, whose answer was lost: the run stands where the move left it, with
// the place and counters that only this worker could have written.
func (s *slice) ownWrite(err error, m inbox.Move, c inbox.Change) error {
	if err == nil {
		return nil
	}
	refused, ok := errors.AsType[*inbox.Refused](err)
	if ok && refused.Run != nil && refused.Run.State == m.To && refused.Run.LeaseToken == "" &&
		refused.Run.Slices == s.run.Slices && refused.Run.Counters == c.Counters && refused.Run.Wake == c.NewWake {
		return nil
	}
	return s.unwritten(err)
}

// lastMove chooses the move by what ended the work. It is pure but for the clock and the jitter.
func (s *slice) lastMove(why error) (inbox.Move, inbox.Change, inbox.SliceOutcome) {
	now := s.now()
	change := s.progress(now)
	if why == nil {
		change.TTL = now.Add(s.settings.Retention).Unix()
		s.summary.InboxToCompletion = now.Sub(s.run.ReceivedAt)
		return inbox.Complete(), change, inbox.SliceCompleted
	}
	if errors.Is(why, errOutOfBudget) || errors.Is(why, errOutOfTime) {
		change.NewWake = s.newID()
		return inbox.Yield(), change, inbox.SliceYielded
	}
	category := inbox.CategoryOf(why)
	s.summary.Category = category
	change.Err = inbox.LastError{Category: category, Message: bounded(why.Error()), At: now}
	if category.Permanent() {
		return inbox.Fail(), change, inbox.SliceFailed
	}
	if category == inbox.CategoryStopped {
		// The brake is nobody's failure: the attempt is taken back, so that the run goes on by itself when it is lifted.
		change.Attempts = max(0, change.Attempts-1)
		change.NextAttemptAt = now.Add(firstDelay)
		return inbox.Park(), change, inbox.SliceParked
	}
	change.NextAttemptAt = s.nextAttempt(now, change.Attempts)
	return inbox.Park(), change, inbox.SliceParked
}

// maxMessage bounds the error text in the item, in bytes.
const maxMessage = 1000

func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return message[:maxMessage] + "…"
}

// count takes what the slice did into its summary.
func (s *slice) count() {
	done := s.ledger.slice
	s.summary.Scan = s.ledger.place.Scan
	s.summary.Listed, s.summary.Deleted, s.summary.Absent = done.listed, done.deleted, done.absent
	s.summary.Refused, s.summary.RefusedVersions = done.refused.refusedCount, done.refused.refused
	s.summary.Retained = words(done.retained)
}

func words(m map[retention.Reason]int64) map[string]int64 {
	out := make(map[string]int64, len(m))
	for reason, n := range m {
		out[string(reason)] = n
	}
	return out
}
