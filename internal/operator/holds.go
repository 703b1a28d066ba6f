package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// ExistsError is a hold's id that its scope has already, with another content. Nothing was written.
type ExistsError struct{ Row retention.Row }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("hold %s of %s exists already (%s); remove it first, or choose another id", e.Row.ID, e.Row.Scope, Covers(e.Row.Hold))
}

// ChangedError is a hold that says something else than what was shown. Nothing was removed.
type ChangedError struct{ Row retention.Row }

func (e *ChangedError) Error() string {
	words := []string{Covers(e.Row.Hold)}
	for _, part := range []struct{ label, says string }{
		{"", e.Row.Problem}, {"by ", e.Row.By}, {"since ", second(e.Row.CreatedAt)}, {"until ", second(e.Row.ExpiresAt)}, {"note ", e.Row.Note},
	} {
		if part.says != "" {
			words = append(words, part.label+part.says)
		}
	}
	return fmt.Sprintf("hold %s of %s was changed after it was shown, and stays; now it says: %s", e.Row.ID, e.Row.Scope, strings.Join(words, ", "))
}

// second is a time as rows have it; "" for none.
func second(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Covers says in words what a hold covers and why.
func Covers(h retention.Hold) string {
	what := "everything of its scope"
	switch {
	case h.Key != "":
		what = fmt.Sprintf("key %q", h.Key)
	case h.Prefix != "":
		what = fmt.Sprintf("prefix %q", h.Prefix)
	}
	return what + ", " + string(h.Reason)
}

// AddHold writes the hold and returns it as it stands. True: the very same hold was there already, or an earlier try had
// written it.
func (o *Operator) AddHold(ctx context.Context, row retention.Row) (stands retention.Row, already bool, err error) {
	now := o.Now()
	row.ExpiresAt = wholeSecond(row.ExpiresAt)
	if err := CheckHold(row, now); err != nil {
		return retention.Row{}, false, err
	}
	row.CreatedAt = now
	there, err := o.Holds.Put(ctx, row, now)
	switch {
	case err != nil:
		return retention.Row{}, false, err
	case there == nil:
		return row, false, nil
	case sameHold(*there, row):
		return *there, true, nil
	}
	return retention.Row{}, false, &ExistsError{Row: *there}
}

// wholeSecond rounds up: the table keeps whole seconds, and a hold must not end before it was told to.
func wholeSecond(t time.Time) time.Time {
	if whole := t.Truncate(time.Second); whole.Before(t) {
		return whole.Add(time.Second)
	}
	return t
}

// sameHold compares what the hold does and says; who wrote it first does not matter to that.
func sameHold(a, b retention.Row) bool {
	return a.Key == b.Key && a.Prefix == b.Prefix && a.Reason == b.Reason && a.Note == b.Note && a.ExpiresAt.Equal(b.ExpiresAt)
}

// Hold reads one row, for whoever wants to see it before it goes.
func (o *Operator) Hold(ctx context.Context, scope, id string) (retention.Row, error) {
	if err := errors.Join(CheckScope(scope), checkID(id)); err != nil {
		return retention.Row{}, err
	}
	rows, err := o.Holds.Rows(ctx, scope)
	if err != nil {
		return retention.Row{}, err
	}
	for _, row := range rows {
		if row.ID == id {
			return row, nil
		}
	}
	return retention.Row{}, noHold(scope, id)
}

func noHold(scope, id string) error {
	return &NotFoundError{What: fmt.Sprintf("hold %s of %s", id, scope), LookedUp: []string{fmt.Sprintf("row %s of scope %s", id, scope)}}
}

// RemoveHold deletes the row that Hold has shown, and returns it.
func (o *Operator) RemoveHold(ctx context.Context, shown retention.Row) (retention.Row, error) {
	row, gone, err := o.Holds.RemoveShown(ctx, shown)
	switch {
	case err != nil:
		return retention.Row{}, err
	case row == nil:
		return retention.Row{}, noHold(shown.Scope, shown.ID)
	case !gone:
		return retention.Row{}, &ChangedError{Row: *row}
	}
	return *row, nil
}

// ListHolds reads the holds that a run of the scope is decided by: its own and those for all; with "" those of every scope.
// Rows that are over or cannot be understood are among them. They are sorted by scope and id.
func (o *Operator) ListHolds(ctx context.Context, scope string) ([]retention.Row, error) {
	rows, err := o.readHolds(ctx, scope)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b retention.Row) int {
		return cmp.Or(strings.Compare(a.Scope, b.Scope), strings.Compare(a.ID, b.ID))
	})
	return rows, nil
}

func (o *Operator) readHolds(ctx context.Context, scope string) ([]retention.Row, error) {
	if scope == "" {
		return o.Holds.AllRows(ctx)
	}
	if err := CheckScope(scope); err != nil {
		return nil, err
	}
	rows, err := o.Holds.Rows(ctx, scope)
	if err != nil || scope == retention.ScopeAll {
		return rows, err
	}
	all, err := o.Holds.Rows(ctx, retention.ScopeAll)
	return append(rows, all...), err
}

// Cover is what the holds table says about a run now.
type Cover struct {
	Stops []retention.Row // the emergency brake, where it is on for the run
	Holds []retention.Row // the other holds of its scope and for all
}

// Cover reads the rows of the run's scope and those for all that are in force.
func (o *Operator) Cover(ctx context.Context, run inbox.Run) (Cover, error) {
	// Not by ListHolds: a scope of an unknown form has rows all the same.
	var c Cover
	now := o.Now()
	for _, scope := range []string{run.Scope, retention.ScopeAll} {
		rows, err := o.Holds.Rows(ctx, scope)
		if err != nil {
			return Cover{}, err
		}
		for _, row := range rows {
			switch {
			case !row.InForce(now):
			case row.Reason == retention.ReasonStop:
				c.Stops = append(c.Stops, row)
			default:
				c.Holds = append(c.Holds, row)
			}
		}
	}
	return c, nil
}
