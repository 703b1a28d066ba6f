package main

import (
	"errors"
	"os"
	"strconv"
	"time"

	"custody/internal/config"

	"github.com/spf13/cobra"
)

// tableFlags name the tables of a stack.
type tableFlags struct{ inbox, holds string }

func (f *tableFlags) addInbox(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.inbox, "table", "", "`NAME` of the inbox table (default: CUSTODY_TABLE)")
}

func (f *tableFlags) addHolds(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.holds, "holds-table", "", "`NAME` of the holds table (default: CUSTODY_HOLDS_TABLE)")
}

// table is one table and how its name was given. Where a name comes from is decided here alone.
type table struct{ name, flag, variable string }

func (f *tableFlags) inboxTable() table { return named(f.inbox, "--table", "CUSTODY_TABLE") }

func (f *tableFlags) holdsTable() table {
	return named(f.holds, "--holds-table", "CUSTODY_HOLDS_TABLE")
}

func named(given, flag, variable string) table {
	if given == "" {
		given = os.Getenv(variable)
	}
	return table{name: given, flag: flag, variable: variable}
}

// check refuses a table without a name, or with one that DynamoDB could not have given.
func (t table) check() error {
	if t.name == "" {
		return usagef("which table? Give %s, or set %s; a local stack's env file does: . ./local.env", t.flag, t.variable)
	}
	if err := config.Check(t.variable, t.name); err != nil {
		return usagef("%s: %w", t.flag, err)
	}
	return nil
}

// keepDismissed is how long the item of a dismissed run stays: the stack's own setting where the environment has it.
func keepDismissed() (time.Duration, error) {
	const variable = "CUSTODY_RETENTION_DAYS"
	setting, known := config.Lookup(variable)
	if !known {
		return 0, errors.New("this version has no setting " + variable)
	}
	value, given := os.LookupEnv(variable)
	if !given {
		value = setting.Default
	}
	if err := config.Check(variable, value); err != nil {
		return 0, usagef("%w", err)
	}
	days, err := strconv.Atoi(value)
	return time.Duration(days) * 24 * time.Hour, err
}
