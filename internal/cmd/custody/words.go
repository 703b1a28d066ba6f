package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"encoding/json"
)

// age is a duration as people say it, in two units at most: 45s, 12m, 3h12m, 2d4h.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	d = max(d, 0) // clocks differ by seconds
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < day:
		return twoUnits(d, time.Hour, "h", time.Minute, "m")
	}
	return twoUnits(d, day, "d", time.Hour, "h")
}

func twoUnits(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	words := fmt.Sprintf("%d%s", d/large, largeName)
	if rest := d % large / small; rest > 0 {
		words += fmt.Sprintf("%d%s", rest, smallName)
	}
	return words
}

// when is a time with its distance from now.
func when(t, now time.Time) string {
	if t.After(now) {
		return fmt.Sprintf("%s (in %s)", stamp(t), age(t.Sub(now)))
	}
	return fmt.Sprintf("%s (%s ago)", stamp(t), age(now.Sub(t)))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// printable shows what would steer a terminal instead of handing it on: keys, notes and messages are written by others.
func printable(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !shown(r) }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if shown(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(fmt.Sprintf("%+q", r), "'"))
	}
	return b.String()
}

func shown(r rune) bool { return unicode.IsPrint(r) || r == '\n' }

// jsonLine writes one object as one line.
func jsonLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// quoted is a word that a POSIX shell takes as it is, so that a command that is shown can be run.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._:/-", r))
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
