package main

import (
	"fmt"

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
from there. This tool starts the whole of it on this machine.

Exit codes: 0 done, 1 failed, 2 the command line cannot be meant.`,
		Example: `  custody local                              # the whole stack on free ports, until Ctrl-C
  custody local --port 8080 --env-file local.env
  . ./local.env && aws s3api list-object-versions --bucket "$CUSTODY_BUCKET"`,
		SilenceErrors: true, // main says it, once
		SilenceUsage:  true, // a failure is no question about usage
		Args:          noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; `%s --help` lists the flags", err, cmd.CommandPath())
	})
	root.AddCommand(newLocal(i), newVersion())
	return root
}

// noArgs refuses an argument by name: a misspelled command is one.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("%s takes no argument, and there is no command %q; `%s --help` lists what there is", cmd.CommandPath(), args[0], cmd.CommandPath())
}
