package cleanup

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
func (s *slice) deleteBatch(ctx context.Context, batch []candidate) batchResult {
	var result batchResult
	pause := firstPause
	for try := 1; ; try++ {
		done, again, err := s.tryBatch(ctx, batch)
		result.settled = append(result.settled, done...)
		result.uncertain = result.uncertain || errors.Is(err, errUnanswered)
		switch {
		case err == nil && len(again) == 0:
			return result
		case err == nil:
			batch = again
			err = inbox.Failed(inbox.CategoryThrottled,
				fmt.Errorf("S3 asked %d times to send versions again, %d are left", try, len(again)))
		}
		if try == batchTries || !worthRepeating(err) || !rest(ctx, s.Jitter(pause)) {
			result.err = err
			return result
		}
		pause *= 2
	}
}

// worthRepeating: a permanent error stays, and the emergency brake is not waited out inside a slice.
func worthRepeating(err error) bool {
	c := inbox.CategoryOf(err)
	return !c.Permanent() && c != inbox.CategoryStopped
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

// tryBatch is one round: the bucket where a null version asks for it, the holds, the decision, the request. It returns what is
// settled and what is to be sent again; with an error nothing is settled, and all of the batch is decided again.
func (s *slice) tryBatch(ctx context.Context, batch []candidate) (done []settled, again []candidate, err error) {
	facts, err := s.facts(ctx, batch)
	if err != nil {
		return nil, nil, err
	}
	var send []candidate
	for _, c := range batch {
		facts.OthersStay = c.othersStay
		d := retention.Decide(c.version, facts)
		switch {
		case !d.Delete:
			done = append(done, settled{candidate: c, kind: settledRetained, why: d.Reason})
		case s.run.Mode != inbox.ModeDelete:
			done = append(done, settled{candidate: c, kind: settledSelected})
		default:
			send = append(send, c)
		}
	}
	if len(send) == 0 {
		return done, nil, nil
	}
	sent, again, err := s.send(ctx, send, facts.Now.Add(holdsMaxAge))
	if err != nil {
		return nil, nil, err
	}
	return append(done, sent...), again, nil
}

// facts reads what the decisions of this round rest on. The holds come last, right before the request.
func (s *slice) facts(ctx context.Context, batch []candidate) (retention.Facts, error) {
	f := retention.Facts{Cutoff: s.run.Selection.Cutoff, VersioningEnabled: true}
	if slices.ContainsFunc(batch, func(c candidate) bool { return c.version.ID == retention.NullID }) {
		b, err := s.versions.Bucket(ctx, s.run.Selection.Bucket)
		if err != nil {
			return f, err
		}
		f.VersioningEnabled = b.Versioning == retention.VersioningEnabled
	}
	f.Now = s.now() // before the read: holds are at least as young as this
	held, err := s.holds.Covering(ctx, s.run.Scope)
	if err != nil {
		return f, fmt.Errorf("holds of %s: %w", s.run.Scope, err)
	}
	if retention.Stopped(held, f.Now) {
		return f, inbox.Failed(inbox.CategoryStopped, fmt.Errorf("the emergency brake is on for %s", s.run.Scope))
	}
	f.Holds = held
	return f, nil
}

// errUnanswered is a delete request of which nothing is known.
var errUnanswered = errors.New("nothing is known of a delete request")

// send makes the request and accounts for every version of it.
func (s *slice) send(ctx context.Context, send []candidate, sendBefore time.Time) (done []settled, again []candidate, err error) {
	vs := make([]retention.Version, len(send))
	for i, c := range send {
		vs[i] = c.version
	}
	fates, err := s.versions.Delete(ctx, s.run.Selection.Bucket, vs, sendBefore)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errUnanswered, err)
	}
	if len(fates) != len(send) {
		return nil, nil, fmt.Errorf("%d versions were sent and %d fates came back", len(send), len(fates))
	}
	for i, c := range send {
		if fates[i].Kind == retention.FateTransient {
			again = append(again, c)
			continue
		}
		done = append(done, settled{candidate: c, kind: settledSent, fate: fates[i]})
	}
	return done, again, nil
}
