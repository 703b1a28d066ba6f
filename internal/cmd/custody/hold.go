package main

import (
	"fmt"
	"io"
	"time"

	"custody/internal/deployed"
	"custody/internal/operator"
	"custody/internal/retention"

	"github.com/spf13/cobra"
)

func newHold() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hold",
		Short: "Add, remove and list the reasons not to delete",
		Long: `hold keeps the holds table: a hold covers one key, or every key that begins with a prefix, for the runs of one
scope or, with scope *, for all. What it covers is not deleted while it is in force. Other systems may write
the table too.`,
		Example: `  custody hold list --scope warehouse:wh-17`,
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newHoldAdd(), newHoldRemove(), newHoldList())
	return cmd
}

// holdFlags are the flags of `hold add`.
type holdFlags struct {
	tables                                    tableFlags
	who                                       whoFlag
	log                                       logFlag
	scope, key, prefix, reason, note, expires string
	asJSON                                    bool
}

func newHoldAdd() *cobra.Command {
	var flags holdFlags
	cmd := &cobra.Command{
		Use:   "add ID --scope SCOPE (--key KEY | --prefix PREFIX) --reason WORD",
		Short: "Keep a key, or what begins with a prefix, from being deleted",
		Long: `add writes a hold under an ID of your choice. A run reads the holds before every batch, at most 5 s before it
deletes. An ID that the scope has already is refused unless it is the very same hold; a hold is never
replaced, remove it first.

Reasons: legal_hold, dispute_evidence, active_manifest, other. (The emergency brake is custody stop.)

Exit codes: 0 added, or there already; 1 failed; 2 usage; 4 another hold has the ID.`,
		Example: `  custody hold add dispute-991 --scope warehouse:wh-17 --prefix pod/wh-17/dispute-991/ \
      --reason dispute_evidence --note 'case 991' --expires 2099-01-31T00:00:00Z`,
		Args: oneArg("an ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return flags.add(cmd, args[0]) },
	}
	flags.tables.addHolds(cmd)
	flags.log.add(cmd)
	flags.who.add(cmd)
	f := cmd.Flags()
	f.StringVar(&flags.scope, "scope", "", "whose runs it holds back: `SCOPE` such as warehouse:wh-17, or * for all")
	f.StringVar(&flags.key, "key", "", "the one object `KEY` that it covers")
	f.StringVar(&flags.prefix, "prefix", "", "the `PREFIX` of the keys that it covers; end it in / to mean a folder")
	f.StringVar(&flags.reason, "reason", "", "`WORD`: legal_hold, dispute_evidence, active_manifest or other")
	f.StringVar(&flags.note, "note", "", "`TEXT` for whoever reads it later")
	f.StringVar(&flags.expires, "expires", "", "`TIME` at which it is over, RFC 3339; never without it")
	addJSON(cmd, &flags.asJSON)
	return cmd
}

func (f *holdFlags) add(cmd *cobra.Command, id string) error {
	row, err := f.row(id)
	if err != nil {
		return err
	}
	s, err := open(cmd.Context(), &f.tables, (*tableFlags).holdsTable)
	if err != nil {
		return err
	}
	journal, err := f.log.journal(cmd, s, &f.tables.stack, deployed.Operation{Action: deployed.ActionHoldAdd, By: row.By})
	if err != nil {
		return err
	}
	defer journal.close()
	stands, already, err := s.AddHold(cmd.Context(), row)
	if err != nil {
		journal.held(row, false, s.Now(), err)
		return s.explain(unsure(err, "custody hold list"))
	}
	journal.held(stands, already, s.Now(), nil)
	for _, warning := range operator.Warnings(stands.Hold) {
		warn(cmd.ErrOrStderr(), printable(warning))
	}
	return writeAdded(cmd.OutOrStdout(), stands, already, s.Now(), f.asJSON)
}

func (f *holdFlags) row(id string) (retention.Row, error) {
	by, err := f.who.who()
	if err != nil {
		return retention.Row{}, err
	}
	row := retention.Row{
		Hold: retention.Hold{Scope: f.scope, ID: id, Key: f.key, Prefix: f.prefix, Reason: retention.Reason(f.reason)},
		Note: f.note, By: by,
	}
	if f.expires != "" {
		if row.ExpiresAt, err = time.Parse(time.RFC3339, f.expires); err != nil {
			return retention.Row{}, usagef("--expires is %q, it must be an RFC 3339 time with an offset, such as 2026-12-31T00:00:00Z", f.expires)
		}
	}
	return row, nil
}

func writeAdded(w io.Writer, row retention.Row, already bool, now time.Time, asJSON bool) error {
	if asJSON {
		return jsonLine(w, holdChange{Done: "added", Already: already, holdLine: holdLineOf(row, now)})
	}
	verb := "added"
	if already {
		verb = "was there already"
	}
	fmt.Fprintf(w, "hold %s of %s %s: %s, %s\n", row.ID, row.Scope, verb, printable(operator.Covers(row.Hold)), endOf(row, now))
	return nil
}

// removeFlags are the flags of `hold remove`.
type removeFlags struct {
	tables  tableFlags
	who     whoFlag
	log     logFlag
	confirm confirmation
	scope   string
	asJSON  bool
}

func newHoldRemove() *cobra.Command {
	var flags removeFlags
	cmd := &cobra.Command{
		Use:   "remove ID --scope SCOPE",
		Short: "Let what a hold covers be deleted again",
		Long: `remove shows what a hold covers, asks, deletes it and prints what it said. What it covered goes with the next scan
of a run that selects it; runs that are done do not come back for it.

What was changed between the question and the answer stays, and is said.

Exit codes: 0 removed, 1 failed or not confirmed, 2 usage, 3 no such hold, 4 it was changed meanwhile.`,
		Example: `  custody hold remove dispute-991 --scope warehouse:wh-17
  custody hold remove dispute-991 --scope warehouse:wh-17 --yes    # in a script`,
		Args: oneArg("an ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return flags.remove(cmd, args[0]) },
	}
	flags.tables.addHolds(cmd)
	flags.log.add(cmd)
	flags.who.add(cmd)
	cmd.Flags().StringVar(&flags.scope, "scope", "", "the `SCOPE` that the hold stands under")
	flags.confirm.add(cmd)
	addJSON(cmd, &flags.asJSON)
	return cmd
}

func (f *removeFlags) remove(cmd *cobra.Command, id string) error {
	by, err := f.who.who()
	if err != nil {
		return err
	}
	s, err := open(cmd.Context(), &f.tables, (*tableFlags).holdsTable)
	if err != nil {
		return err
	}
	journal, err := f.log.journal(cmd, s, &f.tables.stack, deployed.Operation{Action: deployed.ActionHoldRemove, By: by})
	if err != nil {
		return err
	}
	defer journal.close()
	row, err := s.Hold(cmd.Context(), f.scope, id)
	if err != nil {
		return s.explain(err)
	}
	preview := func(w io.Writer) {
		grid(w, widthOf(w), holdRows([]retention.Row{row}, s.Now()))
		fmt.Fprintf(w, "placed %s\n", printable(signed(row, s.Now())))
	}
	if err := f.confirm.ask(cmd, preview, "Remove it, so that what it covers may be deleted?"); err != nil {
		return err
	}
	removed, err := s.RemoveHold(cmd.Context(), row)
	if err != nil {
		journal.held(row, false, s.Now(), err)
		return s.explain(unsure(err, "custody hold list"))
	}
	journal.held(removed, false, s.Now(), nil)
	if f.asJSON {
		return jsonLine(cmd.OutOrStdout(), holdChange{Done: "removed", holdLine: holdLineOf(removed, s.Now())})
	}
	fmt.Fprintf(cmd.OutOrStdout(), "hold %s of %s removed: it covered %s\n", printable(removed.ID), printable(removed.Scope), printable(operator.Covers(removed.Hold)))
	return nil
}

func newHoldList() *cobra.Command {
	var tables tableFlags
	var scope string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [--scope SCOPE]",
		Short: "List the holds and the brakes",
		Long: `list shows the holds that runs of a scope are decided by: its own and those for all. Without --scope it shows
those of every scope; that reads the whole holds table, which is small. Of each it says what it covers, why, until
when, and who placed it; --json has the rest. Rows that are over, and rows that cannot be understood (they hold
their whole scope), are shown and counted as such.

Exit codes: 0 listed, also when there is none; 1 failed; 2 usage.`,
		Example: `  custody hold list --scope warehouse:wh-17`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("scope") && scope == "" {
				return operator.CheckScope("")
			}
			s, err := open(cmd.Context(), &tables, (*tableFlags).holdsTable)
			if err != nil {
				return err
			}
			rows, err := s.ListHolds(cmd.Context(), scope)
			if err != nil {
				return s.explain(err)
			}
			return writeHolds(cmd.OutOrStdout(), rows, s.Now(), asJSON)
		},
	}
	tables.addHolds(cmd)
	cmd.Flags().StringVar(&scope, "scope", "", "only what runs of this `SCOPE` are decided by")
	addJSON(cmd, &asJSON)
	return cmd
}
