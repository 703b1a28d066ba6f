package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"custody/internal/inbox"
	"custody/internal/operator"

	"github.com/spf13/cobra"
)

// runName explains RUN in the help of every command that takes one.
const runName = `RUN is a run key, with its command type in front where the key alone is not unique (cleanup.run/r-1), or a delivery id.`

// showFlags are the flags of `show`.
type showFlags struct {
	tables   tableFlags
	watch    watchFlags
	expected int64
	asJSON   bool
}

func newShow() *cobra.Command {
	var flags showFlags
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show everything about one run: cause, what comes next, what you can do",
		Long: `show reads one run and says where it came from, what it may delete, its state and who holds its lease, where
it is, what it deleted and kept, its last error in words with the heading of the runbook, what happens next,
and what you can do. With CUSTODY_HOLDS_TABLE or --holds-table it also says which holds and brakes are in
force for it. Of a delivery that started no run, such as a reservation.expire, it says what became of that.

With --watch it follows an open run until it has ended or waits for an operator: with a bar on a terminal, with a line
now and then elsewhere. How many versions there are is not known before a first scan has ended; --expect N, such as
the number that custody plan says, lets the bar tell the time that is left. Ctrl-C ends the watch and is no failure.

` + runName + `

Exit codes: 0 shown, 1 failed, 2 usage, 3 no such run.`,
		Example: `  custody show r-1
  custody show r-1 --watch
  custody show cleanup.run/r-1 --json | jq .last_error`,
		Args: oneArg("a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return flags.show(cmd, args[0]) },
	}
	flags.tables.addInbox(cmd)
	flags.tables.addHolds(cmd)
	flags.watch.add(cmd, time.Second, "follow an open run until it is at rest, or until Ctrl-C")
	addExpect(cmd, &flags.expected)
	addJSON(cmd, &flags.asJSON)
	return cmd
}

func addExpect(cmd *cobra.Command, expected *int64) {
	cmd.Flags().Int64Var(expected, "expect", 0, "`N` versions are expected to go: the bar is of them until the first scan ends")
}

func (f *showFlags) show(cmd *cobra.Command, name string) error {
	if err := f.watch.check(); err != nil {
		return err
	}
	if f.expected < 0 {
		return usagef("--expect is %d, it must not be negative", f.expected)
	}
	s, err := open(cmd.Context(), &f.tables, (*tableFlags).inboxTable)
	if err != nil {
		return err
	}
	found, err := s.Find(cmd.Context(), name)
	if none, ok := errors.AsType[*operator.NoRunError](err); ok {
		return writeDelivery(cmd.OutOrStdout(), none.Delivery, s.Now(), f.asJSON)
	}
	if err != nil {
		return s.explain(err)
	}
	if f.watch.on && f.asJSON {
		return f.watchJSON(cmd, s, found)
	}
	if err := s.write(cmd, found, f.asJSON); err != nil || !f.watch.on || atRest(found.Run) {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout())
	run, err := s.followShown(cmd.Context(), f.watch, cmd.OutOrStdout(), cmd.ErrOrStderr(), found.Run, f.expected)
	if err != nil || !atRest(run) {
		return err
	}
	found.Run = run
	fmt.Fprintln(cmd.OutOrStdout())
	return s.write(cmd, found, false)
}

// watchJSON writes the run whenever it has changed.
func (f *showFlags) watchJSON(cmd *cobra.Command, s *session, found operator.Found) error {
	var before *inbox.Run
	_, err := s.follow(cmd.Context(), f.watch, cmd.ErrOrStderr(), found.Run, func(run inbox.Run) error {
		if before != nil && reflect.DeepEqual(*before, run) {
			return nil
		}
		before, found.Run = &run, run
		return s.write(cmd, found, true)
	})
	return err
}

// write reads what belongs to the run and writes all of it.
func (s *session) write(cmd *cobra.Command, found operator.Found, asJSON bool) error {
	v := view{Found: found, now: s.Now()}
	v.cover, v.coverProblem = s.coverOf(cmd.Context(), found)
	v.origin, v.originProblem = s.Origin(cmd.Context(), found.Run)
	if stopped(cmd.Context()) {
		return nil
	}
	return writeShow(cmd.OutOrStdout(), v, asJSON)
}

// coverOf reads the holds where it can. A run is shown without them, too: the holds table may be what is broken.
func (s *session) coverOf(ctx context.Context, found operator.Found) (operator.Cover, error) {
	if s.Holds == nil {
		return operator.Cover{}, errors.New("not looked at: --holds-table or CUSTODY_HOLDS_TABLE names the table")
	}
	cover, err := s.Cover(ctx, found.Run)
	if err != nil {
		return operator.Cover{}, fmt.Errorf("could not be read, and while they cannot be, nothing is deleted: %w", s.explain(err))
	}
	return cover, nil
}

func writeShow(w io.Writer, v view, asJSON bool) error {
	if asJSON {
		return jsonLine(w, v.object())
	}
	v.text(sheet{out: w, width: widthOf(w), colors: paletteOf(w)})
	return nil
}
