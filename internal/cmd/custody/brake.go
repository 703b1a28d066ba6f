package main

import (
	"fmt"
	"io"

	"custody/internal/deployed"
	"custody/internal/inbox"
	"custody/internal/operator"
	"custody/internal/retention"

	"github.com/spf13/cobra"
)

// stopFlags are the flags of `stop`.
type stopFlags struct {
	tables        tableFlags
	who           whoFlag
	log           logFlag
	scope, reason string
	asJSON        bool
}

func newStop() *cobra.Command {
	var flags stopFlags
	cmd := &cobra.Command{
		Use:   "stop [--scope SCOPE] --reason WHY",
		Short: "Put on the emergency brake: runs delete nothing until it is lifted",
		Long: `stop puts on the emergency brake, for every run or for those of one scope. It counts at once: no batch is sent
more than 5 s after the brake was put on. Runs that it covers park with the category stopped, which costs no
attempt, and go on by themselves after custody resume. Deliveries are still accepted.

Exit codes: 0 stopped, or stopped already; 1 failed; 2 usage; 4 the brake's row is another hold.`,
		Example: `  custody stop --scope warehouse:wh-17 --reason 'wrong cutoff, see INC-7'`,
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return flags.stop(cmd) },
	}
	flags.tables.addHolds(cmd)
	flags.log.add(cmd)
	flags.who.add(cmd)
	addScope(cmd, &flags.scope)
	cmd.Flags().StringVar(&flags.reason, "reason", "", "`WHY`, for whoever finds it (required)")
	addJSON(cmd, &flags.asJSON)
	return cmd
}

func (f *stopFlags) stop(cmd *cobra.Command) error {
	if f.reason == "" {
		return usagef("%s needs --reason: whoever finds everything stopped wants to know why", cmd.CommandPath())
	}
	by, err := f.who.who()
	if err != nil {
		return err
	}
	s, err := open(cmd.Context(), &f.tables, (*tableFlags).holdsTable)
	if err != nil {
		return err
	}
	journal, err := f.log.journal(cmd, s, &f.tables.stack, deployed.Operation{Action: deployed.ActionStop, By: by, Reason: f.reason})
	if err != nil {
		return err
	}
	defer journal.close()
	row, already, err := s.Stop(cmd.Context(), f.scope, by, f.reason)
	if err != nil {
		journal.held(brakeRow(f.scope, by, f.reason), false, s.Now(), err)
		return s.explain(unsure(err, "custody hold list"))
	}
	journal.held(row, already, s.Now(), nil)
	if f.asJSON {
		return jsonLine(cmd.OutOrStdout(), holdChange{Done: "stopped", Already: already, holdLine: holdLineOf(row, s.Now())})
	}
	word := "stopped"
	if already {
		word = "was stopped already"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s %s, %s\n`%s` lifts it\n", scopeWords(row.Scope), word, printable(signed(row, s.Now())), liftCommand(row))
	return nil
}

// resumeFlags are the flags of `resume`.
type resumeFlags struct {
	tables  tableFlags
	who     whoFlag
	log     logFlag
	confirm confirmation
	scope   string
	asJSON  bool
}

func newResume() *cobra.Command {
	var flags resumeFlags
	cmd := &cobra.Command{
		Use:   "resume [--scope SCOPE]",
		Short: "Lift the emergency brake",
		Long: `resume lifts the brake that custody stop put on for the same scope; without --scope, the one for all. It shows who
put it on and why, and asks first, since deletions go on (stop, which only ends them, never asks). Parked runs go on by
themselves, within a minute or so. It says when another brake still covers some of them.

Exit codes: 0 lifted, 1 failed or not confirmed, 2 usage, 3 no such brake, 4 the brake's row is another hold.`,
		Example: `  custody resume --scope warehouse:wh-17
  custody resume --scope warehouse:wh-17 --yes    # in a script`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.resume(cmd) },
	}
	flags.tables.addHolds(cmd)
	flags.log.add(cmd)
	flags.who.add(cmd)
	addScope(cmd, &flags.scope)
	flags.confirm.add(cmd)
	addJSON(cmd, &flags.asJSON)
	return cmd
}

func (f *resumeFlags) resume(cmd *cobra.Command) error {
	by, err := f.who.who()
	if err != nil {
		return err
	}
	s, err := open(cmd.Context(), &f.tables, (*tableFlags).holdsTable)
	if err != nil {
		return err
	}
	journal, err := f.log.journal(cmd, s, &f.tables.stack, deployed.Operation{Action: deployed.ActionResume, By: by})
	if err != nil {
		return err
	}
	defer journal.close()
	brake, err := s.Brake(cmd.Context(), f.scope)
	if err != nil {
		return s.explain(err)
	}
	preview := func(w io.Writer) {
		fmt.Fprintf(w, "the brake is on for %s, %s\n", scopeWords(brake.Scope), printable(signed(brake, s.Now())))
	}
	if err := f.confirm.ask(cmd, preview, "Lift it, so that runs go on deleting?"); err != nil {
		return err
	}
	resumed, err := s.Resume(cmd.Context(), f.scope)
	journal.resumed(brake, resumed, s.Now(), err)
	if err != nil {
		return s.explain(unsure(err, "custody hold list"))
	}
	if f.asJSON {
		return jsonLine(cmd.OutOrStdout(), resumedLine{
			holdChange: holdChange{Done: "resumed", holdLine: holdLineOf(resumed.Row, s.Now())}, StillStoppedBy: stillLines(s, resumed.Still)})
	}
	writeResumed(cmd.OutOrStdout(), s, resumed)
	return nil
}

func addScope(cmd *cobra.Command, scope *string) {
	cmd.Flags().StringVar(scope, "scope", retention.ScopeAll, "the `SCOPE` whose runs are meant, such as warehouse:wh-17, or * for all")
}

type resumedLine struct {
	holdChange
	StillStoppedBy []holdLine `json:"still_stopped_by"`
}

func stillLines(s *session, rows []retention.Row) []holdLine {
	lines := make([]holdLine, len(rows))
	for i, row := range rows {
		lines[i] = holdLineOf(row, s.Now())
	}
	return lines
}

func writeResumed(w io.Writer, s *session, r operator.Resumed) {
	fmt.Fprintf(w, "the brake for %s is lifted; it was on %s\n", scopeWords(r.Row.Scope), printable(signed(r.Row, s.Now())))
	for _, row := range r.Still {
		fmt.Fprintf(w, "still stopped: %s, %s\n`%s` lifts that\n", scopeWords(row.Scope), printable(signed(row, s.Now())), liftCommand(row))
	}
	if len(r.Still) == 0 {
		fmt.Fprintf(w, "parked runs (category %s) go on by themselves\n", inbox.CategoryStopped)
	}
}

func scopeWords(scope string) string {
	if scope == retention.ScopeAll {
		return "every scope"
	}
	return "scope " + printable(scope)
}

// liftCommand is how a brake is lifted: one that another system put on under a name of its own is a hold like others here.
func liftCommand(row retention.Row) string {
	scope := ""
	if row.Scope != retention.ScopeAll {
		scope = " --scope " + quoted(row.Scope)
	}
	if row.ID == operator.StopID {
		return "custody resume" + scope
	}
	return "custody hold remove " + quoted(row.ID) + " --scope " + quoted(row.Scope)
}
