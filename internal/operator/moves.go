package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"custody/internal/inbox"
)

// RefusedError is a move that the run's state does not allow. Nothing was written.
type RefusedError struct {
	Move string
	Run  inbox.Run // as it stands
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s refused: %s is %s; %s", e.Move, e.Run.RunKey(), describeState(e.Run), rule(e.Move))
}

// describeState is the state with what an operator has to know about it to understand a refusal.
func describeState(run inbox.Run) string {
	switch {
	case run.State == inbox.StateDone && run.Mode == inbox.ModeDryRun:
		return "done, after a dry run"
	case run.State == inbox.StateDone:
		return "done, in delete mode"
	case run.State == inbox.StateDismissed && run.Operation != nil:
		return fmt.Sprintf("dismissed, by %s (%s)", run.Operation.By, run.Operation.Reason)
	}
	return string(run.State)
}

func rule(move string) string {
	switch move {
	case inbox.MoveRetry:
		return "only a failed run can be retried"
	case inbox.MoveRelease:
		return "only a recorded run, or one that is done after a dry run, can be released"
	case inbox.MoveDismiss:
		return "only a run that has not ended can be dismissed"
	}
	return "the state does not allow it"
}

// Moves lists the moves that an operator may make with the run as it stands. The store decides, by the same conditions.
func Moves(run inbox.Run) []string {
	var can []string
	for _, m := range inbox.Moves() {
		if m.By != inbox.ActorOperator || !m.Leaves(run.State) {
			continue
		}
		if m.Name == inbox.MoveRelease && run.State == inbox.StateDone && run.Mode != inbox.ModeDryRun {
			continue
		}
		can = append(can, m.Name)
	}
	return can
}

// Retry starts a failed run again, from the start of its selection.
func (o *Operator) Retry(ctx context.Context, key inbox.RunKey, by, reason string) (inbox.Run, error) {
	return o.move(ctx, key, inbox.Retry(), by, reason)
}

// Release starts a recorded run, or one that ended as a dry run.
func (o *Operator) Release(ctx context.Context, key inbox.RunKey, by, reason string) (inbox.Run, error) {
	return o.move(ctx, key, inbox.Release(), by, reason)
}

// Dismiss gives a run up. A slice that works on it is refused at its next write; what it deletes until then was selected by
// the same cutoff. The reason is required.
func (o *Operator) Dismiss(ctx context.Context, key inbox.RunKey, by, reason string) (inbox.Run, error) {
	if strings.TrimSpace(reason) == "" {
		return inbox.Run{}, invalid("reason", "is empty: whoever looks at a dismissed run wants to know why")
	}
	return o.move(ctx, key, inbox.Dismiss(), by, reason)
}

func (o *Operator) move(ctx context.Context, key inbox.RunKey, m inbox.Move, by, reason string) (inbox.Run, error) {
	if err := errors.Join(checkText("by", by, maxBy), checkText("reason", reason, maxReason)); err != nil {
		return inbox.Run{}, err
	}
	if by == "" {
		return inbox.Run{}, invalid("by", "is empty: who did it is kept in the run")
	}
	now := o.Now().Truncate(time.Millisecond) // as the item keeps it
	op := inbox.Operation{Move: m.Name, By: by, Reason: reason, At: now}
	run, err := o.Inbox.Move(ctx, key, m, inbox.Change{
		Now: now, NewWake: o.NewID(), TTL: now.Add(o.Retention).Unix(), Operation: op,
	})
	refused, ok := errors.AsType[*inbox.Refused](err)
	switch {
	case err == nil:
		return run, nil
	case !ok:
		return inbox.Run{}, err
	case refused.Run == nil:
		return inbox.Run{}, &NotFoundError{What: "run " + key.String(), LookedUp: []string{"item " + key.ItemKey()}}
	case refused.Run.Operation != nil && sameOperation(*refused.Run.Operation, op):
		return *refused.Run, nil // our own write, whose answer was lost
	}
	return inbox.Run{}, &RefusedError{Move: m.Name, Run: *refused.Run}
}

func sameOperation(a, b inbox.Operation) bool {
	return a.Move == b.Move && a.By == b.By && a.Reason == b.Reason && a.At.Equal(b.At)
}

// Texts of an operator are shown on others' terminals and kept in items of bounded size.
const (
	maxBy     = 128
	maxReason = 1000
)

func checkText(field, text string, most int) error {
	if len(text) > most {
		return invalid(field, "has %d bytes, at most %d are allowed", len(text), most)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return invalid(field, "is %q, it must be one line of printable UTF-8", text)
	}
	return nil
}
