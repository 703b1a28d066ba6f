package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"custody/internal/deployed"
	"custody/internal/inbox"
	"custody/internal/operator"

	"github.com/spf13/cobra"
)

// moveCommand is one of the operator's moves as a command.
type moveCommand struct {
	name         string
	short, long  string
	example      string
	reasonFlag   string
	make         func(o *operator.Operator, ctx context.Context, key inbox.RunKey, by, reason string) (inbox.Run, error)
	done         string
	needsAReason bool
	needsAState  bool // with --all
}

func operatorMoves() []moveCommand {
	return []moveCommand{
		{
			name: inbox.MoveRetry, make: (*operator.Operator).Retry, short: "Start a failed run again",
			long: `retry puts a failed run before the cleanup function again, from the start of its selection: what S3 refused or
somebody mended lies anywhere in it. Attempts begin at 0. Any other state is refused.`,
			example: `  custody retry r-1 --reason 'bucket policy mended'
  custody retry --all --scope warehouse:wh-17 --category access_denied --reason 'role mended'`,
			reasonFlag: "`WHY` it is retried, kept in the run",
			done:       "it starts again from the first key",
		},
		{
			name: inbox.MoveRelease, make: (*operator.Operator).Release, short: "Start a recorded run, or one that ended as a dry run",
			long: `release starts a run that was claimed in the record-only stage, or one that is done after a dry run. Its first
slice pins the mode anew: whether it deletes is decided by DeleteScopes as they are then. Any other state is
refused.`,
			example: `  custody release cleanup.run/r-1
  custody release --all --older-than 24h --yes`,
			reasonFlag: "`WHY` it is released, kept in the run",
			done:       "its first slice decides whether it deletes",
		},
		{
			name: inbox.MoveDismiss, make: (*operator.Operator).Dismiss, short: "Give a run up, with a reason",
			long: `dismiss gives a run up: what it has not deleted stays. A slice that works on it is refused at its next write
and stops; the batch that it has on its way at that moment may still be deleted. The item expires after
CUSTODY_RETENTION_DAYS (90 without it). A run that has ended is refused. There is no way back: the producer
sends a new run.`,
			example: `  custody dismiss r-1 --reason 'wrong cutoff, see INC-7'
  custody dismiss r-1 r-2 --reason 'sent twice'
  custody dismiss --all --state pending --state running --scope warehouse:wh-17 --reason 'wrong cutoff, see INC-7'`,
			reasonFlag:   "`WHY` it is given up, kept in the run (required)",
			done:         "nothing more of it is deleted",
			needsAReason: true,
			needsAState:  true,
		},
	}
}

// severalAtOnce explains the choice of runs in the help of every move.
const severalAtOnce = `Several runs at once, named or chosen by --all with filters, are shown first, and nothing is done without a yes (--yes
for scripts). Then each is moved or not, one after the other, and said. A run that somebody moved after it was shown
is refused, and so is one whose state does not allow it. Broken off in the middle, each run is moved or not moved, and
the same command shows what is left.`

// moveFlags are the flags of a move.
type moveFlags struct {
	tables  tableFlags
	who     whoFlag
	log     logFlag
	query   queryFlags
	confirm confirmation
	all     bool
	reason  string
	asJSON  bool
}

func newMove(m moveCommand) *cobra.Command {
	var flags moveFlags
	cmd := &cobra.Command{
		Use:     m.name + " (RUN... | --all)",
		Short:   m.short,
		Long:    m.long + "\n\n" + severalAtOnce + "\n\n" + runName + "\n\nExit codes: 0 done, 1 failed, 2 usage, 3 no such run, 4 refused by the state, of one run at least.",
		Example: m.example,
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.move(cmd, m, args) },
	}
	if m.needsAReason {
		cmd.Use += " --reason WHY"
	}
	flags.tables.addInbox(cmd)
	flags.log.add(cmd)
	flags.who.add(cmd)
	cmd.Flags().StringVar(&flags.reason, "reason", "", m.reasonFlag)
	cmd.Flags().BoolVar(&flags.all, "all", false, "all runs that the filters leave")
	flags.query.add(cmd)
	flags.confirm.add(cmd)
	addJSON(cmd, &flags.asJSON)
	return cmd
}

func (f *moveFlags) move(cmd *cobra.Command, m moveCommand, names []string) error {
	if err := f.checkChoice(cmd, m, names); err != nil {
		return err
	}
	if m.needsAReason && f.reason == "" {
		return usagef("%s needs --reason: whoever looks at the run wants to know why", cmd.CommandPath())
	}
	by, err := f.who.who()
	if err != nil {
		return err
	}
	if err := operator.CheckMover(m.name, by, f.reason); err != nil {
		return err
	}
	s, err := open(cmd.Context(), &f.tables, (*tableFlags).inboxTable)
	if err != nil {
		return err
	}
	journal, err := f.log.journal(cmd, s, &f.tables.stack, deployed.Operation{Action: m.name, By: by, Reason: f.reason})
	if err != nil {
		return err
	}
	defer journal.close()
	if len(names) == 1 {
		return f.one(cmd, s, m, by, names[0], journal)
	}
	rows, err := f.chosen(cmd, s, m, names)
	if err != nil {
		return err
	}
	return f.several(cmd, s, m, by, rows, journal)
}

// one moves a run that was named by itself: there is nothing to show that was not just said.
func (f *moveFlags) one(cmd *cobra.Command, s *session, m moveCommand, by, name string, j *journal) error {
	found, err := s.Find(cmd.Context(), name)
	if err != nil {
		return s.explain(err)
	}
	key := found.Run.RunKey()
	run, err := m.make(s.Operator, cmd.Context(), key, by, f.reason)
	if err != nil {
		j.moved(found.Run, s.Now(), err)
		return s.explain(unsure(err, "custody show "+quoted(key.String())))
	}
	j.moved(run, s.Now(), nil)
	return writeMove(cmd.OutOrStdout(), m, run, f.asJSON)
}

// unsure says after a failed write that it may have been made all the same, and what tells.
func unsure(err error, tells string) error {
	if err == nil || codeOf(err) != exitFailed {
		return err
	}
	return fmt.Errorf("%w; whether it was done is not known: `%s` tells", err, tells)
}

// moveLine is a move as JSON.
type moveLine struct {
	Move   string      `json:"move"`
	Run    string      `json:"run"`
	State  inbox.State `json:"state"`
	Scope  string      `json:"scope"`
	By     string      `json:"by"`
	Reason string      `json:"reason"`
	At     time.Time   `json:"at,omitzero"`
	// Of a run that was refused, state is what it met, and by, reason and at are empty.
	Outcome string `json:"outcome"`
	Problem string `json:"problem,omitempty"`
}

// The outcomes of a move.
const (
	outcomeMoved   = "moved"
	outcomeRefused = "refused"
)

func writeMove(w io.Writer, m moveCommand, run inbox.Run, asJSON bool) error {
	op := inbox.Operation{Move: m.name}
	if run.Operation != nil {
		op = *run.Operation
	}
	if asJSON {
		return jsonLine(w, moveLine{Move: op.Move, Run: run.RunKey().String(), State: run.State, Scope: run.Scope, By: op.By, Reason: op.Reason, At: op.At,
			Outcome: outcomeMoved})
	}
	done := m.done
	if m.name != inbox.MoveDismiss && run.State != inbox.StatePending {
		done = "the " + m.name + " was made, and its answer came late: this is where it led by now"
	}
	return said(fmt.Fprintf(w, "%s is %s, by %s: %s\n", run.RunKey(), run.State, op.By, done))
}

// said is the error of telling what was done, where there is nobody left to tell.
func said(_ int, err error) error {
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}
