package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// usageError is a command line that cannot be meant.
type usageError struct{ error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func newRoot(i *interrupts) *cobra.Command {
	root := &cobra.Command{
		Use:   "custody",
		Short: "Work with Custody: signed deliveries, durable runs, deleted object versions",
		Long: `custody works with a Custody stack from the outside.

Custody takes signed HTTP deliveries into custody before it acknowledges them, and deletes expired S3 object versions
from there. This tool shows an operator what runs there are and moves them, keeps the holds and the emergency brake,
signs and sends deliveries as a producer does, checks a stack after its deployment, and starts the whole of it on this
machine.

The tables are named by --stack, whose outputs name them, or each by --table and --holds-table; without these by
CUSTODY_TABLE and CUSTODY_HOLDS_TABLE, or by CUSTODY_STACK_NAME. The command line goes before the environment, and
there what names one table before what names the stack. AWS is reached by the standard environment: AWS_PROFILE,
AWS_REGION, AWS_ENDPOINT_URL_DYNAMODB and the others.

What retry, release, dismiss, stop, resume, hold add and hold remove do is recorded, with who did it, in the operator
log: the log group that --operator-log, --stack or CUSTODY_OPERATOR_LOG names, as with the tables. Where none of them
does, nothing is recorded there. A log that cannot be written changes neither what is done nor the exit code.

Sending needs nothing of AWS, but CUSTODY_URL, CUSTODY_SIGNING_KEY and, unless the stack's scheme is timestamped,
CUSTODY_SIGNATURE_SCHEME.

Exit codes:
  0  done
  1  failed: the store did not answer, a delivery was not acknowledged, or something is broken
  2  the command line cannot be meant
  3  not found: no such run, delivery, hold, brake or stack
  4  refused: the run's state, a hold that is there, or an earlier delivery does not allow it`,
		Example: `  custody local --env-file local.env         # the whole stack on this machine, until Ctrl-C
  . ./local.env && custody runs              # in another shell: what wants attention
  custody show r-1                           # everything about one run
  custody runs --stack custody               # the same of a deployed stack`,
		SilenceErrors: true, // main says it, once
		SilenceUsage:  true, // a failure is no question about usage
		Args:          noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if strings.Contains(err.Error(), "invalid duration") || strings.Contains(err.Error(), "in duration") { // of package time, which has no days
			return usagef("%w; a time is given in hours, minutes and seconds, as in 48h, 1h30m or 90s", err)
		}
		return usagef("%w; `%s --help` lists the flags", err, cmd.CommandPath())
	})
	root.AddCommand(newRuns(), newShow(), newHold(), newStop(), newResume(), newReport(), newPlan(), newSign(), newSend(), newCheck(), newLocal(i), newVersion())
	for _, m := range operatorMoves() {
		root.AddCommand(newMove(m))
	}
	teach(root)
	return root
}

// teach gives the library's own commands examples like the others'.
func teach(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for path, example := range map[string]string{
		"help":                  "  custody help hold add",
		"completion":            "  source <(custody completion bash)    # in ~/.bashrc, behind bash-completion",
		"completion bash":       "  source <(custody completion bash)",
		"completion zsh":        "  custody completion zsh > _custody    # in a folder of $fpath, behind compinit",
		"completion fish":       "  custody completion fish > custody.fish    # in ~/.config/fish/completions",
		"completion powershell": "  custody completion powershell > custody.ps1",
	} {
		if cmd, _, err := root.Find(strings.Fields(path)); err == nil {
			cmd.Example = example
		}
	}
}

// noArgs refuses an argument by name: a misspelled command is one.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2 // the library's own where it says it itself: letters that differ
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usagef("%s has no command %q; is `%s %s` meant?", cmd.CommandPath(), args[0], cmd.CommandPath(), near[0])
	}
	return usagef("%s takes no argument, and there is no command %q; `%s --help` lists what there is", cmd.CommandPath(), args[0], cmd.CommandPath())
}

// oneArg asks for exactly one argument, and names it.
func oneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usagef("%s needs %s; `%s --help` shows an example", cmd.CommandPath(), name, cmd.CommandPath())
		case len(args) > 1:
			return usagef("%s takes %s and nothing else, but was given %d arguments; is something not quoted?", cmd.CommandPath(), name, len(args))
		}
		return nil
	}
}
