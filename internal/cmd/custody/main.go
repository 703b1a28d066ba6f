// Command custody is the developer's and operator's tool. It owns flags and output and nothing else: what it does is
// in the packages it imports, which may be any but another command.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"custody/internal/deployed"
	"custody/internal/operator"
)

// The exit codes. The root command's help documents them.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitNotFound = 3
	exitRefused  = 4
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // by nohup it is, and stays so
		signal.Notify(signals, syscall.SIGHUP) // a terminal that is closed
	}
	ctx, interrupts := withInterrupts(context.Background(), signals)
	root := newRoot(interrupts)
	os.Exit(exitCode(root.ExecuteContext(ctx)))
}

// exitCode says what went wrong, and how it is told to the caller.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(os.Stderr, "custody:", printable(err.Error()))
	return codeOf(err)
}

func codeOf(err error) int {
	if isA[*usageError](err) || isA[*operator.InvalidError](err) || isA[*operator.AmbiguousError](err) {
		return exitUsage
	}
	if isA[*operator.NotFoundError](err) || isA[*operator.NoRunError](err) || isA[*deployed.NoStackError](err) {
		return exitNotFound
	}
	if isA[*operator.RefusedError](err) || isA[*someRefusedError](err) || isA[*operator.ExistsError](err) || isA[*operator.ChangedError](err) ||
		isConflict(err) {
		return exitRefused
	}
	return exitFailed
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
