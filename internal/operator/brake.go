package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"custody/internal/retention"
)

// StopID names the brake's row in each scope, so that resume finds what stop wrote, and a second stop meets the first.
const StopID = "custody-stop"

// Stop puts on the emergency brake for a scope, or with "*" for all: runs that it covers delete nothing and park, until it is
// lifted. It returns the row as it stands; true says that the brake was on before.
func (o *Operator) Stop(ctx context.Context, scope, by, reason string) (row retention.Row, already bool, err error) {
	if err := checkStop(scope, by, reason); err != nil {
		return retention.Row{}, false, err
	}
	now := o.Now()
	row = retention.Row{
		Hold: retention.Hold{Scope: scope, ID: StopID, Reason: retention.ReasonStop},
		Note: reason, By: by, CreatedAt: now,
	}
	there, err := o.Holds.Put(ctx, row, now)
	switch {
	case err != nil:
		return retention.Row{}, false, err
	case there == nil:
		return row, false, nil
	case there.Reason != retention.ReasonStop:
		return retention.Row{}, false, &ExistsError{Row: *there}
	}
	return *there, true, nil
}

func checkStop(scope, by, reason string) error {
	problems := []error{CheckScope(scope), checkText("by", by, maxBy), checkText("reason", reason, maxNote)}
	if by == "" {
		problems = append(problems, invalid("by", "is empty: who stopped is kept in the brake"))
	}
	if strings.TrimSpace(reason) == "" {
		problems = append(problems, invalid("reason", "is empty: whoever finds everything stopped wants to know why"))
	}
	return errors.Join(problems...)
}

// Resumed is a brake that was lifted.
type Resumed struct {
	Row   retention.Row   // what it said
	Still []retention.Row // other brakes that are on for the same runs, or for some of them
}

// Brake reads the brake that Resume would lift.
func (o *Operator) Brake(ctx context.Context, scope string) (retention.Row, error) {
	row, err := o.Hold(ctx, scope, StopID)
	if isA[*NotFoundError](err) {
		still, err := o.brakes(ctx, scope)
		return retention.Row{}, errors.Join(notStopped(scope, still), err)
	}
	if err != nil {
		return retention.Row{}, err
	}
	if row.Reason != retention.ReasonStop {
		return retention.Row{}, &ExistsError{Row: row}
	}
	return row, nil
}

// Resume lifts the brake that Stop put on for the scope. The runs that it parked go on by themselves. With an error of the read
// behind it, the brake is lifted and what else is on is not known.
func (o *Operator) Resume(ctx context.Context, scope string) (Resumed, error) {
	if err := CheckScope(scope); err != nil {
		return Resumed{}, err
	}
	row, gone, err := o.Holds.Remove(ctx, scope, StopID, retention.ReasonStop)
	switch {
	case err != nil:
		return Resumed{}, err
	case row != nil && !gone:
		return Resumed{}, &ExistsError{Row: *row}
	}
	still, err := o.brakes(ctx, scope)
	if row == nil {
		return Resumed{}, errors.Join(notStopped(scope, still), err)
	}
	if err != nil {
		err = fmt.Errorf("%s goes on, but which other brakes are on is not known: %w", scope, err)
	}
	return Resumed{Row: *row, Still: still}, err
}

func notStopped(scope string, still []retention.Row) error {
	looked := []string{fmt.Sprintf("row %s of scope %s", StopID, scope)}
	for _, row := range still {
		looked = append(looked, fmt.Sprintf("but found the brake %s of scope %s on, by %s", row.ID, row.Scope, row.By))
	}
	return &NotFoundError{What: "brake to lift for " + scope, LookedUp: looked}
}

// brakes are those in force that touch runs of the scope: its own and those for all; for "*" those of every scope.
func (o *Operator) brakes(ctx context.Context, scope string) ([]retention.Row, error) {
	if scope == retention.ScopeAll {
		scope = ""
	}
	rows, err := o.readHolds(ctx, scope)
	var on []retention.Row
	for _, row := range rows {
		if row.Reason == retention.ReasonStop && row.InForce(o.Now()) {
			on = append(on, row)
		}
	}
	return on, err
}
