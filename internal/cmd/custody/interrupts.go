package main

import (
	"context"
	"errors"
	"os"
	"sync"
)

// errInterrupted is the cause of a context that ended by Ctrl-C or SIGTERM.
var errInterrupted = errors.New("interrupted")

// interrupts is what a second Ctrl-C does, for whoever does not end at once after the first.
type interrupts struct {
	mu    sync.Mutex
	abort []func()
}

// withInterrupts ends the context at the first signal and the process at the second.
func withInterrupts(ctx context.Context, signals <-chan os.Signal) (context.Context, *interrupts) {
	ctx, cancel := context.WithCancelCause(ctx)
	i := &interrupts{}
	go func() {
		<-signals
		cancel(errInterrupted)
		<-signals
		i.run()
		os.Exit(exitFailed)
	}()
	return ctx, i
}

// onAbort adds what has to be done before a sudden end, newest first.
func (i *interrupts) onAbort(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.abort = append(i.abort, f)
}

func (i *interrupts) run() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n := len(i.abort) - 1; n >= 0; n-- {
		i.abort[n]()
	}
}
