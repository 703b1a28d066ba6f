package cleanup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// round is one try over what is left of a batch: tags and locks, the bucket where a null version asks for it, the holds, the
// decision, the record of the selection, the request, the record of the outcome.
type round struct {
	*slice
	batch batch
	try   int

	facts   retention.Facts
	decided []decided

	done       []settled   // what needs no further round
	again      []candidate // what S3 asks to send again
	unsent     bool        // the holds grew too old before a request could be sent
	last       bool        // something is settled and something else went wrong: no further round may follow
	unanswered bool        // the request had no answer, so that it may have been made
}

// decided is a candidate and what is to become of it.
type decided struct {
	candidate
	retention.Decision
	absent bool // it was gone when its marks were to be read
}

// decideAndDelete goes through the round. An error before the request settles nothing, and all of the batch is decided again;
// behind the request, what S3 answered is settled all the same.
func (r *round) decideAndDelete(ctx context.Context) error {
	if err := r.decide(ctx); err != nil {
		return err
	}
	if err := r.recordSelection(ctx); err != nil {
		return err
	}
	send := r.settleUnsent()
	fates, err := r.send(ctx, send)
	if err != nil {
		r.done, r.unanswered = nil, !errors.Is(err, errRunMovedOn)
		return err
	}
	r.settleSent(send, fates)
	if err := r.recordOutcome(ctx, send, fates); err != nil {
		r.last = true
		return err
	}
	return nil
}

func (r *round) decide(ctx context.Context) error {
	marks, err := r.readMarks(ctx, r.batch.items)
	if err != nil {
		return err
	}
	if r.facts, err = r.readFacts(ctx, r.batch.items); err != nil {
		return err
	}
	r.decided = make([]decided, len(r.batch.items))
	for i, c := range r.batch.items {
		facts := r.facts
		facts.OthersStay, facts.Marks = c.othersStay, marks[i]
		r.decided[i] = decided{candidate: c, Decision: retention.Decide(c.version, facts), absent: marks[i].Absent}
	}
	return nil
}

// settleUnsent settles what needs no request, and returns what is to be sent.
func (r *round) settleUnsent() []candidate {
	var send []candidate
	for _, d := range r.decided {
		switch {
		case d.absent:
			r.done = append(r.done, settled{candidate: d.candidate, kind: settledSent, fate: retention.Fate{Kind: retention.FateAbsent}})
		case !d.Delete:
			r.done = append(r.done, settled{candidate: d.candidate, kind: settledRetained, why: d.Reason})
		case r.run.Mode != inbox.ModeDelete:
			r.done = append(r.done, settled{candidate: d.candidate, kind: settledSelected})
		default:
			send = append(send, d.candidate)
		}
	}
	return send
}

// send makes the request, which must account for every version of it. Holds that grew too old meanwhile forbid it.
func (r *round) send(ctx context.Context, send []candidate) ([]retention.Fate, error) {
	if len(send) == 0 {
		return nil, nil
	}
	if r.movedOn.Load() {
		return nil, errRunMovedOn
	}
	fates, err := r.versions.Delete(ctx, r.run.Selection.Bucket, versionsOf(send), r.facts.Now.Add(holdsMaxAge))
	if err == nil && len(fates) != len(send) {
		err = fmt.Errorf("%d versions were sent and %d fates came back", len(send), len(fates))
	}
	if err != nil {
		// Without its record a selection says the same: its fate is unknown. So the record is tried, and no more.
		_ = r.recordUnanswered(ctx, send)
	}
	return fates, err
}

// leftOver is why versions are to be sent again.
func (r *round) leftOver() error {
	if r.unsent {
		return inbox.Failed(inbox.CategoryUnavailable,
			fmt.Errorf("%d versions were not sent: what comes before a request took longer than %s, and holds may not be older", len(r.again), holdsMaxAge))
	}
	return inbox.Failed(inbox.CategoryThrottled, fmt.Errorf("S3 asked in try %d to send %d versions again", r.try, len(r.again)))
}

func (r *round) settleSent(sent []candidate, fates []retention.Fate) {
	for i, c := range sent {
		if fates[i].Kind == retention.FateTransient {
			r.again = append(r.again, c)
			r.unsent = r.unsent || fates[i].Code == retention.CodeHoldsTooOld
			continue
		}
		r.done = append(r.done, settled{candidate: c, kind: settledSent, fate: fates[i]})
	}
}

// readMarks reads the tags and locks of the batch, where the stack or the bucket asks for it. They come before the holds, since
// reading a thousand of them takes longer than holds may be old.
func (s *slice) readMarks(ctx context.Context, batch []candidate) ([]retention.Marks, error) {
	if !s.ask.Any() {
		return make([]retention.Marks, len(batch)), nil
	}
	marks, err := s.versions.Marks(ctx, s.run.Selection.Bucket, versionsOf(batch), s.ask)
	if err != nil {
		return nil, fmt.Errorf("tags and locks: %w", err)
	}
	if len(marks) != len(batch) {
		return nil, fmt.Errorf("%d versions were asked for their marks and %d answered", len(batch), len(marks))
	}
	return marks, nil
}

func versionsOf(batch []candidate) []retention.Version {
	vs := make([]retention.Version, len(batch))
	for i, c := range batch {
		vs[i] = c.version
	}
	return vs
}

// readFacts reads what the decisions of this round rest on. The holds come last, right before the request. Versioning must have
// been enabled before the listing, too: while it was suspended, a null version that was listed may have given way to a young one
// of the same name.
func (s *slice) readFacts(ctx context.Context, batch []candidate) (retention.Facts, error) {
	f := retention.Facts{Cutoff: s.run.Selection.Cutoff, VersioningEnabled: true}
	if slices.ContainsFunc(batch, func(c candidate) bool { return c.version.ID == retention.NullID }) {
		state, err := s.versions.Versioning(ctx, s.run.Selection.Bucket)
		if err != nil {
			return f, err
		}
		f.VersioningEnabled = s.versioned && state == retention.VersioningEnabled
	}
	f.Now = s.now() // before the read: holds are at least as young as this
	held, err := s.holds.Covering(ctx, s.run.Scope)
	if err != nil {
		return f, fmt.Errorf("holds of %s: %w", s.run.Scope, err)
	}
	if retention.Stopped(held, f.Now) {
		return f, inbox.Failed(inbox.CategoryStopped, fmt.Errorf("the emergency brake is on for %s", s.run.Scope))
	}
	f.Holds = retention.NewCover(held, f.Now)
	return f, nil
}
