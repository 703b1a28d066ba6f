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
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, interrupts := withInterrupts(context.Background(), signals)
	root := newRoot(interrupts)
	os.Exit(exitCode(root.ExecuteContext(ctx)))
}

// exitCode says what went wrong, and how it is told to the caller.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(os.Stderr, "custody:", err)
	if _, usage := errors.AsType[*usageError](err); usage {
		return exitUsage
	}
	return exitFailed
}
