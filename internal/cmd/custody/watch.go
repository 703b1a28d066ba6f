package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// watchFlags say whether and how often to look again.
type watchFlags struct {
	on    bool
	every time.Duration
}

// A look costs a few reads. More often than soonest nobody sees, and the table's readers would notice.
const (
	soonest = 200 * time.Millisecond
	latest  = time.Hour
)

func (f *watchFlags) add(cmd *cobra.Command, every time.Duration, what string) {
	cmd.Flags().BoolVar(&f.on, "watch", false, what)
	cmd.Flags().DurationVar(&f.every, "every", every, "with --watch, look again after this `TIME`")
}

func (f *watchFlags) check() error {
	if f.every < soonest || f.every > latest {
		return usagef("--every is %s, it must be from %s to %s", f.every, soonest, latest)
	}
	return nil
}

// stopped reports whether it was the user who ended it, which is how a watch ends.
func stopped(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errInterrupted) }

// ordered reports whether it has ended as the user said, by a signal or after a time: no failure of what was watched.
func ordered(ctx context.Context) bool { return stopped(ctx) || isA[*enoughError](context.Cause(ctx)) }

// patientFor is how many looks in a row may go wrong: what is watched at night is watched through a failure.
const patientFor = 3

// again repeats the look until it says that it has seen the end, or the user says so.
func again(ctx context.Context, every time.Duration, complaints io.Writer, look func() (end bool, err error)) error {
	failed := 0
	for {
		end, err := look()
		switch {
		case ordered(ctx):
			return nil
		case err == nil && end:
			return nil
		case err == nil:
			failed = 0
		case codeOf(err) != exitFailed:
			return err
		default:
			if failed++; failed >= patientFor {
				return fmt.Errorf("%d looks in a row went wrong: %w", failed, err)
			}
			fmt.Fprintf(complaints, "custody: %s; looking again in %s\n", printable(err.Error()), every)
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
}

// canvas shows one text after the other: in the same place of a terminal, below one another elsewhere.
type canvas struct {
	out   io.Writer
	drawn bool
}

const (
	home       = "\x1b[H"
	clearBelow = "\x1b[J"
	clearRight = "\x1b[K"
)

func (c *canvas) show(text []byte) {
	f, isFile := c.out.(*os.File)
	if !isFile || !onTerminal(c.out) {
		if c.drawn {
			fmt.Fprintln(c.out)
		}
		c.drawn = true
		_, _ = c.out.Write(text)
		return
	}
	if !c.drawn {
		fmt.Fprint(c.out, home+clearBelow)
	}
	c.drawn = true
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if _, height, err := term.GetSize(int(f.Fd())); err == nil && height > 3 && len(lines) > height-1 {
		shown, last := height-3, lines[len(lines)-1] // which sums up
		lines = append(lines[:shown:shown], fmt.Appendf(nil, "... and %d lines more than the terminal has", len(lines)-shown-1), last)
	}
	// Each line over the one that was there, in one write: nothing flickers.
	fmt.Fprint(c.out, home+string(bytes.Join(lines, []byte(clearRight+"\n")))+clearRight+"\n"+clearBelow)
}
