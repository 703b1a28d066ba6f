package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"custody/internal/operator"
	"custody/internal/retention"
)

// holdLine is a row of the holds table as JSON. The names are the table's, but for what is worked out.
type holdLine struct {
	Scope     string           `json:"scope"`
	HoldID    string           `json:"hold_id"`
	Key       string           `json:"key,omitempty"`
	Prefix    string           `json:"prefix,omitempty"`
	Reason    retention.Reason `json:"reason"`
	Note      string           `json:"note,omitempty"`
	By        string           `json:"by,omitempty"`
	CreatedAt time.Time        `json:"created_at,omitzero"`
	ExpiresAt time.Time        `json:"expires_at,omitzero"`
	InForce   bool             `json:"in_force"`
	Problem   string           `json:"problem,omitempty"`
}

// holdChange is what was done to a row, as JSON.
type holdChange struct {
	Done    string `json:"done"`    // added, removed, stopped, resumed
	Already bool   `json:"already"` // it was so before
	holdLine
}

func holdLineOf(row retention.Row, now time.Time) holdLine {
	return holdLine{
		Scope: row.Scope, HoldID: row.ID, Key: row.Key, Prefix: row.Prefix, Reason: row.Reason, Note: row.Note, By: row.By,
		CreatedAt: utc(row.CreatedAt), ExpiresAt: utc(row.ExpiresAt), InForce: row.InForce(now), Problem: row.Problem,
	}
}

// utc keeps the zero time, which means that there is none, and whole seconds, which is what the table has.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Second)
}

func writeHolds(w io.Writer, rows []retention.Row, now time.Time, asJSON bool) error {
	if asJSON {
		for _, row := range rows {
			if err := jsonLine(w, holdLineOf(row, now)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(rows) == 0 {
		fmt.Fprintln(w, "no holds")
		return nil
	}
	width := widthOf(w)
	grid(w, width, fit(width, holdRows(rows, now), "BY"))
	fmt.Fprintln(w)
	fmt.Fprintln(w, strings.Join(wrap(holdCounts(rows, now), width), "\n"))
	return nil
}

func holdRows(rows []retention.Row, now time.Time) [][]string {
	lines := [][]string{{"SCOPE", "ID", "UNTIL", "BY", "COVERS"}}
	for _, row := range rows {
		lines = append(lines, []string{printable(row.Scope), printable(row.ID), endWord(row, now), orDash(printable(row.By)), coverWords(row)})
	}
	return lines
}

// holdCounts says what the list comes to. What cannot be understood is named: it holds more than whoever wrote it meant.
func holdCounts(rows []retention.Row, now time.Time) string {
	inForce, brakes, unreadable := 0, 0, 0
	for _, row := range rows {
		switch {
		case !row.InForce(now):
			continue
		case row.Problem != "":
			unreadable++
		case row.Reason == retention.ReasonStop:
			brakes++
		}
		inForce++
	}
	words := fmt.Sprintf("%d in force, %d over", inForce, len(rows)-inForce)
	if brakes > 0 {
		words += fmt.Sprintf("; the brake is ON in %d", brakes)
	}
	if unreadable > 0 {
		words += fmt.Sprintf("; %d cannot be understood, and while they stand nothing of their scope is deleted", unreadable)
	}
	return words
}

// coverWords is what stands last in a line, since it may be long.
func coverWords(row retention.Row) string {
	words := operator.Covers(row.Hold)
	if row.Problem != "" {
		words += ": " + row.Problem
	}
	if row.Note != "" {
		words += " (" + row.Note + ")"
	}
	return printable(words)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func endWord(row retention.Row, now time.Time) string {
	switch {
	case row.ExpiresAt.IsZero():
		return "no end"
	case !row.InForce(now):
		return "OVER"
	}
	return stamp(row.ExpiresAt)
}

func endOf(row retention.Row, now time.Time) string {
	if row.ExpiresAt.IsZero() {
		return "until it is removed"
	}
	return "until " + when(row.ExpiresAt, now)
}

// signed is who placed a row, when and why, as far as it says.
func signed(row retention.Row, now time.Time) string {
	words := "by " + orDash(row.By)
	if !row.CreatedAt.IsZero() {
		words += " since " + when(row.CreatedAt, now)
	}
	if row.Note != "" {
		words += ": " + row.Note
	}
	return words
}
