package main

import (
	"errors"
	"os"
	"strconv"
	"time"

	"custody/internal/config"
	"custody/internal/deployed"

	"github.com/spf13/cobra"
)

// tableFlags name the tables of a stack: each by itself, or both by the stack.
type tableFlags struct {
	inbox, holds string
	stack        stackFlag
}

func (f *tableFlags) addInbox(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.inbox, "table", "", "`NAME` of the inbox table (default: the stack's, else CUSTODY_TABLE)")
	f.stack.add(cmd)
}

func (f *tableFlags) addHolds(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.holds, "holds-table", "", "`NAME` of the holds table (default: the stack's, else CUSTODY_HOLDS_TABLE)")
	f.stack.add(cmd)
}

// table is one table, its name, and what gave it the name or could.
type table struct {
	name, flag, variable string
	from                 string // in words
}

// whichTable is one of the tables below. Its name may come of the stack, and is known only when that has been read.
type whichTable func(*tableFlags) (table, error)

func (f *tableFlags) inboxTable() (table, error) {
	return f.named(f.inbox, "--table", "CUSTODY_TABLE", deployed.OutputTable)
}

func (f *tableFlags) holdsTable() (table, error) {
	return f.named(f.holds, "--holds-table", "CUSTODY_HOLDS_TABLE", deployed.OutputHoldsTable)
}

func (f *tableFlags) named(given, flag, variable, output string) (table, error) {
	t := table{name: given, flag: flag, variable: variable, from: flag + " or " + variable + " names it"}
	if given != "" {
		return t, nil
	}
	name, fromStack, err := f.stack.value(variable, output)
	if fromStack {
		t.from = "the stack's output " + output + " names it"
	}
	t.name = name
	return t, err
}

// check refuses a table without a name, or with one that DynamoDB could not have given.
func (t table) check() error {
	if t.name == "" {
		return usagef("which table? Give --stack or %s, or set %s; a local stack's env file does: . ./local.env", t.flag, t.variable)
	}
	if err := config.Check(t.variable, t.name); err != nil {
		return usagef("%s: %w", t.flag, err)
	}
	return nil
}

// keepDismissed is how long the item of a dismissed run stays: the stack's own setting where it was read, or the environment has it.
func (f *stackFlag) keepDismissed() (time.Duration, error) {
	const variable = "CUSTODY_RETENTION_DAYS"
	setting, known := config.Lookup(variable)
	if !known {
		return 0, errors.New("this version has no setting " + variable)
	}
	value, given := os.LookupEnv(variable)
	if !given {
		value = setting.Default
	}
	if of, has := f.parameter("RetentionDays"); has {
		value = of
	}
	if err := config.Check(variable, value); err != nil {
		return 0, usagef("%w", err)
	}
	days, err := strconv.Atoi(value)
	return time.Duration(days) * 24 * time.Hour, err
}
