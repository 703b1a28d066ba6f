package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"custody/internal/operator"

	"github.com/spf13/cobra"
)

// runName explains RUN in the help of every command that takes one.
const runName = `RUN is a run key, with its command type in front where the key alone is not unique (cleanup.run/r-1), or a delivery id.`

func newShow() *cobra.Command {
	var tables tableFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show everything about one run: cause, what comes next, what you can do",
		Long: `show reads one run and says where it came from, what it may delete, its state and who holds its lease, where
it is, what it deleted and kept, its last error in words with the heading of the runbook, what happens next,
and what you can do. With CUSTODY_HOLDS_TABLE or --holds-table it also says which holds and brakes are in
force for it.

` + runName + `

Exit codes: 0 shown, 1 failed, 2 usage, 3 no such run.`,
		Example: `  custody show r-1
  custody show cleanup.run/r-1 --json | jq .last_error`,
		Args: oneArg("a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := open(cmd.Context(), &tables, (*tableFlags).inboxTable)
			if err != nil {
				return err
			}
			found, err := s.Find(cmd.Context(), args[0])
			if err != nil {
				return s.explain(err)
			}
			v := view{Found: found, now: s.Now()}
			v.cover, v.coverProblem = s.coverOf(cmd.Context(), found)
			return writeShow(cmd.OutOrStdout(), v, asJSON)
		},
	}
	tables.addInbox(cmd)
	tables.addHolds(cmd)
	addJSON(cmd, &asJSON)
	return cmd
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
	v.text(sheet{out: w, width: widthOf(w)})
	return nil
}
