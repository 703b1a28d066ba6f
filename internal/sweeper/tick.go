package sweeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custody/internal/inbox"
)

// tick is the work of one Tick.
type tick struct {
	*Sweeper
	now time.Time // of the reading: every row is judged by one time
	sum inbox.SweepSummary

	planned  []plan // the oldest rows that need a move, at most queueFactor times the limit
	eligible int    // all rows that need one
}

type plan struct {
	key      inbox.RunKey
	attempts int
	decision Decision
}

// queueFactor is how many moves are prepared for each that may be made. A move that is refused or fails does not use up the
// limit, so rows that cannot be moved do not starve the younger ones behind them.
const queueFactor = 2

// readOpen pages through all open rows: the count and the age are about all of them, whatever the limit of moves.
func (t *tick) readOpen(ctx context.Context) {
	var oldest time.Time
	complete := true
	age := func(since time.Time) {
		if oldest.IsZero() || !since.IsZero() && since.Before(oldest) {
			oldest = since
		}
	}
	for row, err := range t.runs.Rows(ctx, inbox.StatePending.OpenIndex()) {
		if err == nil && row.OpenSince.IsZero() {
			err = &inbox.BadRow{ItemKey: row.RunKey().ItemKey(), Err: errors.New("open_since is missing")}
		}
		if err != nil {
			bad, ok := t.bad(ctx, err)
			if !ok {
				complete = false
				break
			}
			t.sum.Open++
			age(bad.OpenSince) // nobody works on it, so it is the one whose age must be seen
			continue
		}
		t.sum.Open++
		age(row.OpenSince)
		t.plan(row)
	}
	if !oldest.IsZero() {
		t.sum.OldestOpenAge = max(0, t.now.Sub(oldest)) // the webhook's clock may be ahead of this one
	}
	// The oldest row comes first, so its age is known as soon as one row's is, even when the reading breaks off. Rows without
	// any time have an age that nobody knows: no zero is published for them.
	t.sum.Counted = !oldest.IsZero() || complete && t.sum.Open == 0
}

func (t *tick) plan(row inbox.Run) {
	d := Decide(row, t.now, t.settings)
	if d.Action == ActionLeave {
		return
	}
	t.eligible++
	if len(t.planned) < queueFactor*t.settings.Limit {
		t.planned = append(t.planned, plan{key: row.RunKey(), attempts: row.Attempts, decision: d})
	}
}

// maxCounted bounds the counting of rows that the sweeper does nothing about: three or four pages of the index. Whoever has
// more of them needs no exact number.
const maxCounted = 10_000

// count counts the rows of a partition, up to maxCounted. It is -1 when nothing is known: a zero would say that all is well.
func (t *tick) count(ctx context.Context, s inbox.State) int {
	rows := 0
	for _, err := range t.runs.Rows(ctx, s.OpenIndex()) {
		if err != nil {
			if _, ok := t.bad(ctx, err); !ok {
				if rows == 0 {
					return -1
				}
				break
			}
		}
		if rows++; rows == maxCounted {
			break
		}
	}
	return rows
}

// readReservations reads how long a reservation has been held past its deadline. Nobody but the producer can mend that: no
// delivery came for it, and no HTTP status shows what was never sent. It has half of the time that the reading of the runs
// left: an index of runs that takes too long does not hide this age, nor a reservations table that hangs the moves.
func (t *tick) readReservations(work context.Context) {
	if t.Reservations == nil {
		return
	}
	ctx, stop := halfOf(work)
	defer stop()
	deadline, err := t.Reservations.OldestHeld(ctx, t.now)
	if err != nil {
		t.failed(ctx, err)
		return
	}
	t.sum.ReservationsRead = true
	if !deadline.IsZero() {
		t.sum.OldestOverdue = max(0, t.now.Sub(deadline))
	}
}

// bad notes an error of the reading and returns the row that it is about; false when it is about more than one row.
func (t *tick) bad(ctx context.Context, err error) (*inbox.BadRow, bool) {
	row, ok := errors.AsType[*inbox.BadRow](err)
	if !ok {
		t.failed(ctx, err)
		return nil, false
	}
	t.sum.BadRows++
	t.note(err)
	return row, true
}

// move makes the planned moves until the limit is reached or the time is up. A move that fails does not stop the others.
func (t *tick) move(ctx context.Context) {
	tried := 0
	for _, p := range t.planned {
		if t.sum.Woken+t.sum.GivenUp == t.settings.Limit {
			break
		}
		if ctx.Err() != nil {
			t.note(fmt.Errorf("%d moves were not tried: %w", t.eligible-tried, context.Cause(ctx)))
			break
		}
		tried++
		t.moveOne(ctx, p)
	}
	t.sum.Limited = tried < t.eligible
}

func (t *tick) moveOne(ctx context.Context, p plan) {
	now := t.Now() // of the writing: it may come half a minute behind the reading
	var err error
	counter := &t.sum.Woken
	switch p.decision.Action {
	case ActionWake:
		_, err = t.runs.Move(ctx, p.key, inbox.Wake(), inbox.Change{
			Now: now, NewWake: t.NewWake(), WakeBefore: now.Add(-p.decision.Backoff),
		})
	case ActionGiveUp:
		counter = &t.sum.GivenUp
		_, err = t.runs.Move(ctx, p.key, inbox.GiveUp(), t.giveUp(p, now))
	case ActionLeave:
		return
	}
	if _, refused := errors.AsType[*inbox.Refused](err); refused {
		t.sum.Refused++
		return
	}
	if err != nil {
		t.failed(ctx, err)
		return
	}
	*counter++
}

// giveUp names the ceiling as the error. What each slice met stands in its own log line.
func (t *tick) giveUp(p plan, now time.Time) inbox.Change {
	return inbox.Change{
		Now: now, Ceiling: t.settings.AttemptCeiling,
		Err: inbox.LastError{
			Category: inbox.CategoryAttemptCeiling, At: now,
			Message: fmt.Sprintf("%d slices in a row made no progress, and the ceiling is %d; the lines of those slices say why",
				p.attempts, t.settings.AttemptCeiling),
		},
	}
}

func (t *tick) failed(ctx context.Context, err error) {
	t.sum.Errors++
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	t.note(err)
}

// note keeps the first problem; the others are counted.
func (t *tick) note(err error) {
	if t.sum.Problem == "" {
		t.sum.Problem = err.Error()
	}
}
