package sweeper

import (
	"context"
	"crypto/rand"
	"iter"
	"time"

	"custody/internal/inbox"
)

// Runs is the index of runs, and the runs behind it.
type Runs interface {
	// Rows reads one partition of the index `open`, the run that is in it for the longest time first. The rows are as old as
	// the index. A *inbox.BadRow is one row that could not be understood, and the sequence goes on; any other error ends it.
	Rows(ctx context.Context, partition string) iter.Seq2[inbox.Run, error]
	// Move makes one move of one run. *inbox.Refused means that its condition did not hold; after any other error nobody
	// knows whether the move was made, and making it again is harmless.
	Move(ctx context.Context, key inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error)
}

// Reservations is the application's table of reservations.
type Reservations interface {
	// OldestHeld is the deadline of the reservation that is held past it for the longest, at the given time; zero when none is.
	// It costs the same however many reservations are held.
	OldestHeld(ctx context.Context, now time.Time) (time.Time, error)
}

// Sweeper makes ticks. It keeps nothing between them.
type Sweeper struct {
	Now          func() time.Time
	NewWake      func() string // a value that was never used before
	Reservations Reservations  // nil where the stack takes none

	runs     Runs
	settings Settings
}

// New makes a sweeper with the real clock and random wakes.
func New(runs Runs, s Settings) *Sweeper {
	return &Sweeper{Now: time.Now, NewWake: rand.Text, runs: runs, settings: s}
}

// Tick sweeps once. It has no error: whatever went wrong is in the summary, which is there in any case, in time to be
// published before the context's deadline.
func (s *Sweeper) Tick(ctx context.Context) inbox.SweepSummary {
	began := s.Now()
	work, stop := withinBudget(ctx)
	defer stop()
	reading, stopReading := halfOf(work)
	defer stopReading()

	t := &tick{Sweeper: s, now: began}
	t.readOpen(reading)
	t.sum.Failed = t.count(reading, inbox.StateFailed)
	t.sum.Recorded = t.count(reading, inbox.StateRecorded)
	t.readReservations(work)
	t.move(work)
	t.sum.Duration = s.Now().Sub(began)
	return t.sum
}
