package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"custody/internal/deployed"
	"custody/internal/inbox"
	"custody/internal/operator"
	"custody/internal/retention"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/spf13/cobra"
)

// operatorLogVariable names the operator log where neither --operator-log nor --stack does.
const operatorLogVariable = "CUSTODY_OPERATOR_LOG"

// logFlag names the log group in which it is kept who did what.
type logFlag struct{ group string }

func (f *logFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.group, "operator-log", "", "log `GROUP` to record this in (default: the stack's, else "+operatorLogVariable+"; else none)")
}

// journal is what one command has done, on its way to the operator log. The item or the hold is the truth: what cannot be logged is
// done all the same, and the command ends as it would have ended.
type journal struct {
	log     *deployed.OperatorLog // nil: none is known, and nothing is written
	lacking error                 // why there is none, where there should be one
	ctx     context.Context
	stderr  io.Writer
	every   deployed.Operation // what all of them have in common
	waiting []deployed.Operation
	behind  bool // an attempt failed
}

// journal finds the log by the flag, the stack or the environment, in that order, as it is with the tables.
func (f *logFlag) journal(cmd *cobra.Command, s *session, stack *stackFlag, every deployed.Operation) (*journal, error) {
	every.Version = buildVersion()
	j := &journal{ctx: cmd.Context(), stderr: cmd.ErrOrStderr(), every: every}
	group, from := f.group, "--operator-log"
	if group == "" {
		var err error
		var fromStack bool
		group, fromStack, err = stack.value(operatorLogVariable, deployed.OutputOperatorLog)
		from = operatorLogVariable
		if fromStack {
			from = "the stack's output " + deployed.OutputOperatorLog
		}
		if err != nil { // a stack of an earlier version: no reason not to do what is to be done
			j.lacking = fmt.Errorf("stack %s, of Custody %s, has no output %s", stack.name(), firstOf(stack.read.Version(), "in an unknown version"), deployed.OutputOperatorLog)
			return j, nil
		}
	}
	if group == "" {
		return j, nil
	}
	if !isLogGroup(group) {
		wrong := fmt.Errorf("%s is %q, it must be the name of a log group: 1 to 512 characters of A-Z a-z 0-9 . - _ / #", from, group)
		if f.group != "" {
			return nil, &usageError{wrong}
		}
		j.lacking = wrong // nobody has typed it, and an emergency brake waits for no environment
		return j, nil
	}
	j.log = &deployed.OperatorLog{Client: cloudwatchlogs.NewFromConfig(s.connection.aws), Group: group}
	// `custody retry --all | head` must not end before what it did is logged.
	signal.Ignore(syscall.SIGPIPE)
	return j, nil
}

// isLogGroup is the rule for names in the API reference of CreateLogGroup.
func isLogGroup(name string) bool {
	return len(name) <= 512 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(".-_/#", r)
	})
}

// outcomeWord says how an action ended, by its error; "" where the command line was refused before anything was tried.
func outcomeWord(err error) string {
	switch codeOf(err) {
	case exitUsage:
		return ""
	case exitNotFound, exitRefused:
		return deployed.OperationRefused
	}
	return deployed.OperationUnanswered
}

// moved records a move of a run: the run as it is since, or with an error the one that was meant.
func (j *journal) moved(run inbox.Run, now time.Time, err error) {
	o := j.every
	o.Time, o.Run, o.Scope = now, run.RunKey().String(), run.Scope
	if err == nil {
		o.State = string(run.State)
		if run.Operation != nil {
			o.Time = run.Operation.At // the very time that the item keeps
		}
	}
	if refused, is := errors.AsType[*operator.RefusedError](err); is {
		o.State = string(refused.Run.State) // what it met
	}
	j.add(o, err)
}

// held records what was done to a row of the holds table, with the whole row.
func (j *journal) held(row retention.Row, already bool, now time.Time, err error) {
	o := j.every
	o.Time, o.Scope, o.HoldID, o.Already, o.Hold = now, row.Scope, row.ID, already, deployed.HoldRowOf(row)
	j.add(o, err)
}

// resumed records a brake that was lifted, or not: an error behind the row that was removed is one of reading what else is on.
func (j *journal) resumed(seen retention.Row, r operator.Resumed, now time.Time, err error) {
	if r.Row.ID != "" {
		j.held(r.Row, false, now, nil)
		return
	}
	j.held(seen, false, now, err)
}

// brakeRow is the row that a stop asks for.
func brakeRow(scope, by, reason string) retention.Row {
	return retention.Row{Hold: retention.Hold{Scope: scope, ID: operator.StopID, Reason: retention.ReasonStop}, Note: reason, By: by}
}

// flushAt bounds what is lost when the process is killed in the middle of many moves. 100 lines are far below a request's limit.
const flushAt = 100

func (j *journal) add(o deployed.Operation, err error) {
	o.Outcome = deployed.OperationDone
	if err != nil {
		o.Outcome, o.Problem = outcomeWord(err), err.Error()
	}
	if o.Outcome == "" || j.log == nil && j.lacking == nil {
		return
	}
	j.waiting = append(j.waiting, o)
	// After a failure the rest waits for the end: each attempt may take as long as writeWithin.
	if j.log != nil && len(j.waiting) >= flushAt && !j.behind {
		j.behind = j.flush() != nil
	}
}

// writeWithin bounds one attempt at the log, with the repetitions in it: whoever stops something at night waits for no log.
const writeWithin = 10 * time.Second

var errLogWait = fmt.Errorf("no answer within %s", writeWithin)

// flush writes what waits, also where the command was interrupted; what is missing goes on waiting.
func (j *journal) flush() error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(j.ctx), writeWithin, errLogWait)
	defer cancel()
	var err error
	j.waiting, err = j.log.Write(ctx, j.waiting)
	return err
}

// close writes the rest. What could not be written is said and shown, so that it can be kept.
func (j *journal) close() {
	if len(j.waiting) == 0 {
		return
	}
	err := j.lacking
	if j.log != nil {
		if err = j.flush(); err == nil {
			return
		}
	}
	these, those := "the record of this is", "the line would have been"
	if n := len(j.waiting); n > 1 {
		these, those = fmt.Sprintf("%d records of this are", n), "the lines would have been"
	}
	fmt.Fprintf(j.stderr, "custody: %s missing in the operator log, which changes nothing of what was done (%s); %s\n", these, printable(err.Error()), those)
	for _, o := range j.waiting {
		fmt.Fprintln(j.stderr, o.Line())
	}
}
