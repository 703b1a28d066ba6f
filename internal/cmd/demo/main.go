// Command demo walks one signed delivery from HTTP to an empty scan on the local stack, with the built functions, and says at
// each step whether what should be true is true. It exits 0 only when every step was. It needs Go, and nothing else.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// atMost bounds the whole demo: a run that never ends must not hang a build.
const atMost = 3 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, atMost)
	s := newStory(os.Stdout)
	err := s.tell(ctx)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}
