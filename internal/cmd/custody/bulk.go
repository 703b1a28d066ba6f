package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"custody/internal/inbox"
	"custody/internal/operator"

	"github.com/spf13/cobra"
)

// chosen are the runs that a move of several means, as they were looked at.
func (f *moveFlags) chosen(cmd *cobra.Command, s *session, m moveCommand, names []string) ([]operator.Row, error) {
	if len(names) == 0 {
		return f.filtered(cmd, s, m)
	}
	var rows []operator.Row
	var problems []error
	seen := map[inbox.RunKey]bool{}
	for _, name := range names {
		found, err := s.Find(cmd.Context(), name)
		if err != nil {
			problems = append(problems, s.explain(err))
			continue
		}
		if key := found.Run.RunKey(); !seen[key] { // a run key and a delivery id may be the same run
			seen[key] = true
			rows = append(rows, operator.Row{Run: found.Run, Whole: true})
		}
	}
	return rows, errors.Join(problems...)
}

// filtered asks for the runs that the flags name and that the move may be made with.
func (f *moveFlags) filtered(cmd *cobra.Command, s *session, m moveCommand) ([]operator.Row, error) {
	q := f.query.query()
	if len(q.States) == 0 {
		q.States = m.openStates()
	}
	l, err := s.Runs(cmd.Context(), q)
	if err != nil {
		return nil, s.explain(err)
	}
	// Of a row that nobody can read nobody knows whether it is meant.
	return l.Rows, s.unclear(cmd.ErrOrStderr(), l)
}

// openStates are those that the move leaves and that a run can be listed in.
func (m moveCommand) openStates() []inbox.State {
	var all []inbox.State
	for _, s := range operator.OpenStates() {
		if m.leaves(s) {
			all = append(all, s)
		}
	}
	return all
}

func (m moveCommand) leaves(s inbox.State) bool {
	for _, move := range inbox.Moves() {
		if move.Name == m.name {
			return move.Leaves(s)
		}
	}
	return false
}

// checkChoice refuses a choice that cannot be meant.
func (f *moveFlags) checkChoice(cmd *cobra.Command, m moveCommand, names []string) error {
	switch {
	case len(names) == 0 && !f.all:
		return usagef("%s needs a RUN, or --all for all that the filters leave; `%s --help` shows examples", cmd.CommandPath(), cmd.CommandPath())
	case len(names) > 0 && (f.all || f.query.narrowed()):
		return usagef("a RUN and --all or a filter are both given: name the runs, or choose them by --all with filters")
	case m.needsAState && f.all && len(f.query.states) == 0:
		return usagef("%s --all needs --state: it would give up what runs as well as what failed", cmd.CommandPath())
	}
	if err := f.query.query().Check(); err != nil {
		return err
	}
	for _, state := range f.query.states {
		if !m.leaves(inbox.State(state)) {
			return usagef("--state %s: a run in that state cannot be moved by %s; it must be one of %s", state, m.name, strings.Join(wordsOf(m.openStates()), ", "))
		}
	}
	return nil
}

// several moves each of the runs or not, and says of each which.
func (f *moveFlags) several(cmd *cobra.Command, s *session, m moveCommand, by string, rows []operator.Row, j *journal) error {
	if len(rows) == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "custody: no run to %s\n", m.name)
		return nil
	}
	now := s.Now()
	preview := func(w io.Writer) {
		grid(w, widthOf(w), fit(widthOf(w), runRows(rows, now), "ATTEMPTS", "SCOPE", "PROGRESS", "WAITS FOR"))
		fmt.Fprintln(w)
	}
	if err := f.confirm.ask(cmd, preview, fmt.Sprintf("%s %s, as %s?", m.name, counted(int64(len(rows)), "run"), printable(by))); err != nil {
		return err
	}
	t := tally{move: m, out: cmd.OutOrStdout(), asJSON: f.asJSON, journal: j}
	err := t.make(cmd.Context(), s, rows, by, f.reason)
	t.sum(cmd.ErrOrStderr(), len(rows))
	return err
}

// tally makes the moves, one after the other, and counts.
type tally struct {
	move                    moveCommand
	out                     io.Writer
	asJSON                  bool
	journal                 *journal
	moved, refused, unknown int
}

// someRefusedError is a move of several of which some met another state.
type someRefusedError struct {
	move           string
	refused, count int
}

func (e *someRefusedError) Error() string {
	return fmt.Sprintf("%s of %s: %d refused; nothing was written for those", e.move, counted(int64(e.count), "run"), e.refused)
}

// make never leaves a run half moved: each move is one conditional write, which is waited for, and none is begun after the user
// has said stop. The first that fails ends it: the next ones would fail in the same way.
func (t *tally) make(ctx context.Context, s *session, rows []operator.Row, by, reason string) error {
	for _, row := range rows {
		if stopped(ctx) {
			return errors.New("interrupted; the same command goes on with what is left")
		}
		run, err := s.Act(context.WithoutCancel(ctx), t.move.name, row.Run, by, reason)
		refused, wasRefused := errors.AsType[*operator.RefusedError](err)
		t.record(row.Run, run, s.Now(), err)
		switch {
		case err == nil:
			t.moved++
			if err := writeMove(t.out, t.move, run, t.asJSON); err != nil {
				return err
			}
		case wasRefused || isA[*operator.NotFoundError](err):
			t.refused++
			if err := t.writeRefused(row.Run, refused, err); err != nil {
				return err
			}
		default:
			t.unknown++
			return s.explain(unsure(err, "custody show "+quoted(row.RunKey().String())))
		}
	}
	if t.refused > 0 {
		return &someRefusedError{t.move.name, t.refused, len(rows)}
	}
	return nil
}

// record comes before anything is printed: there may be nobody left to print to.
func (t *tally) record(seen, moved inbox.Run, now time.Time, err error) {
	if err != nil {
		moved = seen
	}
	t.journal.moved(moved, now, err)
}

func (t *tally) writeRefused(run inbox.Run, refused *operator.RefusedError, err error) error {
	if refused != nil {
		run = refused.Run
	}
	if t.asJSON {
		return jsonLine(t.out, moveLine{Move: t.move.name, Run: run.RunKey().String(), State: run.State, Scope: run.Scope,
			Outcome: outcomeRefused, Problem: err.Error()})
	}
	return said(fmt.Fprintf(t.out, "not moved: %s\n", printable(err.Error())))
}

func (t *tally) sum(w io.Writer, count int) {
	words := fmt.Sprintf("%d of %d moved, %d refused", t.moved, count, t.refused)
	if t.unknown > 0 {
		words += fmt.Sprintf(", %d unknown", t.unknown)
	}
	if rest := count - t.moved - t.refused - t.unknown; rest > 0 {
		words += fmt.Sprintf(", %d not tried", rest)
	}
	fmt.Fprintf(w, "custody: %s: %s\n", t.move.name, words)
}
