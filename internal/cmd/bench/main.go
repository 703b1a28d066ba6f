// Command bench measures Custody beside what people delete versions with today, on one local S3, and writes the ratios as a table.
// `make bench` builds what it needs and runs it; README.md beside it says what each line means.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"custody/internal/cmd/bench/server"
)

// serveMode is the argument by which the program starts itself again as the server.
const serveMode = "serve"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) == 2 && os.Args[1] == serveMode {
		// The parent ends the server by closing its input. A Ctrl-C reaches it too, and must not take it from under a measure
		// that is still cleaning up.
		err = server.Serve(context.Background(), os.Stdin, os.Stdout)
	} else {
		err = run(ctx, os.Args[1:])
	}
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
