package main

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"custody/internal/inbox"
)

// onTerminal reports whether what is written is seen on a terminal that can be drawn on.
func onTerminal(w io.Writer) bool {
	f, isFile := w.(*os.File)
	return isFile && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// palette colours words. The zero value colours nothing.
type palette struct{ on bool }

// paletteOf honours NO_COLOR (https://no-color.org): set to anything but "", it switches colours off.
func paletteOf(w io.Writer) palette {
	return palette{on: onTerminal(w) && os.Getenv("NO_COLOR") == ""}
}

const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (p palette) paint(color, words string) string {
	if !p.on || color == "" {
		return words
	}
	return "\x1b[" + color + "m" + words + "\x1b[0m"
}

func colorOf(s inbox.State) string {
	switch s {
	case inbox.StateFailed:
		return red
	case inbox.StateRecorded:
		return yellow
	case inbox.StateRunning, inbox.StateDone:
		return green
	case inbox.StatePending, inbox.StateDismissed:
	}
	return ""
}

// state colours a line's first word, where that is a state.
func (p palette) state(line string) string {
	for _, s := range inbox.States() {
		if rest, is := strings.CutPrefix(line, string(s)); is && (rest == "" || strings.ContainsAny(rest[:1], " ,")) {
			return p.paint(colorOf(s), string(s)) + rest
		}
	}
	return line
}
