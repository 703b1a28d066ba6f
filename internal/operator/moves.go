package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"custody/internal/inbox"
)

// RefusedError is a move that the run's state does not allow. Nothing was written.
type RefusedError struct {
	Move string
	Run  inbox.Run // as it stands
	// MovedOn says that the state would allow the move, but is another one than was looked at.
	MovedOn bool
}

func (e *RefusedError) Error() string {
	if e.MovedOn {
		return fmt.Sprintf("%s refused: %s is %s, which it was not when it was looked at", e.Move, e.Run.RunKey(), describeState(e.Run))
	}
	return fmt.Sprintf("%s refused: %s is %s; %s", e.Move, e.Run.RunKey(), describeState(e.Run), rule(e.Move))
}

// describeState is the state with what an operator has to know about it to understand a refusal.
func describeState(run inbox.Run) string {
	switch {
	case run.State == inbox.StateDone && run.Mode == inbox.ModeDryRun:
		return "done, after a dry run"
	case run.State == inbox.StateDone:
		return "done, in delete mode"
	case run.Operation == nil:
		return string(run.State)
	case run.State == inbox.StateDismissed:
		return fmt.Sprintf("dismissed, by %s (%s)", run.Operation.By, run.Operation.Reason)
	case run.State.OpenIndex() == "open":
		// Whoever repeats a command that was broken off sees what it had done already.
		return fmt.Sprintf("%s, after the %s by %s at %s", run.State, run.Operation.Move, run.Operation.By,
			run.Operation.At.UTC().Format(time.RFC3339))
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
	return o.move(ctx, key, inbox.Dismiss(), by, reason)
}

// Act makes the move of that name with a run that somebody has looked at: not where it has meanwhile moved to another part of the
// index. Who gives up what has failed does not mean what another person has just started again.
func (o *Operator) Act(ctx context.Context, name string, seen inbox.Run, by, reason string) (inbox.Run, error) {
	m, known := operatorMove(name)
	if !known {
		return inbox.Run{}, invalid("move", "is %q, it must be retry, release or dismiss", name)
	}
	m.From = slices.DeleteFunc(slices.Clone(m.From), func(s inbox.State) bool { return s.OpenIndex() != seen.State.OpenIndex() })
	if len(m.From) == 0 {
		return inbox.Run{}, &RefusedError{Move: name, Run: seen}
	}
	return o.move(ctx, seen.RunKey(), m, by, reason)
}

func operatorMove(name string) (inbox.Move, bool) {
	for _, m := range inbox.Moves() {
		if m.By == inbox.ActorOperator && m.Name == name {
			return m, true
		}
	}
	return inbox.Move{}, false
}

func (o *Operator) move(ctx context.Context, key inbox.RunKey, m inbox.Move, by, reason string) (inbox.Run, error) {
	if err := CheckMover(m.Name, by, reason); err != nil {
		return inbox.Run{}, err
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
	full, _ := operatorMove(m.Name)
	return inbox.Run{}, &RefusedError{Move: m.Name, Run: *refused.Run, MovedOn: full.Leaves(refused.Run.State) && !m.Leaves(refused.Run.State)}
}

// CheckMover says what is wrong with who makes a move and why, before anything is read.
func CheckMover(move, by, reason string) error {
	if move == inbox.MoveDismiss && strings.TrimSpace(reason) == "" {
		return invalid("reason", "is empty: whoever looks at a dismissed run wants to know why")
	}
	if err := errors.Join(checkText("by", by, maxBy), checkText("reason", reason, maxReason)); err != nil {
		return err
	}
	if by == "" {
		return invalid("by", "is empty: who did it is kept in the run")
	}
	return nil
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
