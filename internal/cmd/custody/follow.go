package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"custody/internal/inbox"
	"custody/internal/operator"
)

// atRest reports whether a run goes no further by itself: it has ended, or an operator has to act.
func atRest(run inbox.Run) bool {
	return run.State != inbox.StatePending && run.State != inbox.StateRunning
}

// follow reads a run again and again until it is at rest or the user has seen enough, and returns it as it was last.
func (s *session) follow(ctx context.Context, f watchFlags, complaints io.Writer, run inbox.Run, each func(inbox.Run) error) (inbox.Run, error) {
	first := true
	err := again(ctx, f.every, complaints, func() (bool, error) {
		if !first {
			now, err := s.Inbox.Run(ctx, run.RunKey())
			switch {
			case err != nil:
				return false, s.explain(err)
			case now == nil:
				return false, s.explain(&operator.NotFoundError{What: "run " + run.RunKey().String(), LookedUp: []string{"item " + run.RunKey().ItemKey()}})
			}
			run = *now
		}
		first = false
		if err := each(run); err != nil {
			return true, err
		}
		return atRest(run), nil
	})
	return run, err
}

// followShown follows with the bar, or with lines.
func (s *session) followShown(ctx context.Context, f watchFlags, out, complaints io.Writer, run inbox.Run, expected int64) (inbox.Run, error) {
	bar := newProgress(out, expected)
	run, err := s.follow(ctx, f, complaints, run, func(run inbox.Run) error {
		bar.show(run, s.Now())
		return nil
	})
	bar.clear()
	return run, err
}

// enoughError is the cause of a context that ended because the user has waited long enough.
type enoughError struct{ time.Duration }

func (e *enoughError) Error() string { return "waited " + e.String() }

// waiting is a context of that time; 0 is no limit.
func waiting(ctx context.Context, enough time.Duration) (context.Context, context.CancelFunc) {
	if enough == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, enough, &enoughError{enough})
}

// unfinishedError is a run that was waited for and did not get to done.
type unfinishedError struct{ run inbox.Run }

func (e *unfinishedError) Error() string {
	run := e.run
	words := fmt.Sprintf("%s is %s", run.RunKey(), run.State)
	switch {
	case run.State == inbox.StateFailed && run.LastError != nil:
		words += fmt.Sprintf(", %s: %s; read %s", run.LastError.Category, run.LastError.Message, operator.Heading(run.LastError.Category))
	case run.State == inbox.StateDismissed && run.Operation != nil:
		words += fmt.Sprintf(", by %s: %s", run.Operation.By, run.Operation.Reason)
	case run.State == inbox.StateRecorded:
		words += ": the stack is in the record-only stage; `custody release " + quoted(run.RunKey().String()) + "` starts it"
	}
	return words
}

// ended says what became of a run that was waited for: an error unless it is done.
func ended(ctx context.Context, run inbox.Run) error {
	switch {
	case run.State == inbox.StateDone:
		return nil
	case !atRest(run) && ordered(ctx):
		return fmt.Errorf("%w; the run is %s and goes on, and `custody show %s --watch` follows it again",
			context.Cause(ctx), run.State, quoted(run.RunKey().String()))
	}
	return &unfinishedError{run}
}

// outcomeOf is a run that is at rest, in a line.
func outcomeOf(run inbox.Run) string {
	c := run.Counters
	words := fmt.Sprintf("%s is %s: ", run.RunKey(), run.State)
	if run.Mode == inbox.ModeDryRun {
		words += fmt.Sprintf("%d versions would have gone, nothing was deleted (dry run)", c.Selected)
	} else {
		words += fmt.Sprintf("%d versions deleted, %d already gone", c.Deleted, c.Absent)
	}
	var kept int64
	for _, n := range run.Place.Retained {
		kept += n
	}
	return words + fmt.Sprintf(", %d kept, %d refused, in %s", kept, run.Place.RefusedCount, counted(int64(run.Slices), "slice"))
}
