package operator

import (
	"context"
	"fmt"
	"iter"
	"time"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// runs is the inbox table's runs.
type runs interface {
	// Run reads a run with strong consistency; nil when there is none.
	Run(ctx context.Context, key inbox.RunKey) (*inbox.Run, error)
	// Rows reads one partition of the index, oldest first. A *inbox.BadRow is one row that could not be understood, and the
	// sequence goes on; any other error ends it.
	Rows(ctx context.Context, partition string) iter.Seq2[inbox.Run, error]
	// Move makes one conditional write and returns the run behind it. *inbox.Refused says that the condition did not hold;
	// any other error that the move may or may not have been made.
	Move(ctx context.Context, key inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error)
}

// deliveries is the inbox table's deliveries.
type deliveries interface {
	// Delivery reads a delivery with strong consistency; nil when there is none.
	Delivery(ctx context.Context, id string) (*inbox.Delivery, error)
}

// Inbox is the inbox table.
type Inbox interface {
	runs
	deliveries
}

type holdReader interface {
	// Rows reads the rows of one scope with strong consistency, those that are over or cannot be understood included.
	Rows(ctx context.Context, scope string) ([]retention.Row, error)
	// AllRows reads the rows of every scope.
	AllRows(ctx context.Context) ([]retention.Row, error)
}

type holdWriter interface {
	// Put writes the row where its scope has none of that id, or one that is over; else it returns the row that stands there.
	Put(ctx context.Context, row retention.Row, now time.Time) (*retention.Row, error)
	// Remove deletes a row of that reason, and returns what the row said and whether it is gone. Nil: there was none.
	Remove(ctx context.Context, scope, id string, only retention.Reason) (*retention.Row, bool, error)
	// RemoveShown is the same for a row that still says what this one says.
	RemoveShown(ctx context.Context, shown retention.Row) (*retention.Row, bool, error)
}

// Holds is the holds table.
type Holds interface {
	holdReader
	holdWriter
}

// Operator answers a person's questions and makes their moves. It is safe for concurrent use where its parts are.
type Operator struct {
	Inbox     Inbox
	Holds     Holds
	Types     []string      // the command types that a bare run key is looked up under
	Retention time.Duration // a dismissed run's item expires after it
	Now       func() time.Time
	NewID     func() string // wakes; never the same twice
}

// InvalidError is something that cannot be asked like this.
type InvalidError struct {
	Field   string
	Problem string // what it is, and what is allowed
}

func (e *InvalidError) Error() string { return e.Field + " " + e.Problem }

func invalid(field, problem string, args ...any) error {
	return &InvalidError{Field: field, Problem: fmt.Sprintf(problem, args...)}
}
