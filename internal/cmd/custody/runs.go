package main

import (
	"fmt"
	"io"
	"time"

	"custody/internal/inbox"
	"custody/internal/operator"

	"github.com/spf13/cobra"
)

func newRuns() *cobra.Command {
	var tables tableFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the open, failed and recorded runs, the oldest first",
		Long: `runs is the recovery query: every run that has not ended, the one that stands in its state longest first. Open
runs (pending, running) go on by themselves; failed and recorded ones wait for an operator. It reads the
table's index page by page and never scans. The index is a moment late; custody show reads the item itself.

Exit codes: 0 listed, also when there is nothing; 1 failed, also when a row could not be understood; 2 usage.`,
		Example: `  custody runs
  custody runs --json | jq -r 'select(.state == "failed") | .run'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := open(cmd.Context(), &tables, (*tableFlags).inboxTable)
			if err != nil {
				return err
			}
			a, err := s.Attention(cmd.Context())
			if err != nil {
				return s.explain(err)
			}
			if err := writeRuns(cmd.OutOrStdout(), a, s.Now(), asJSON); err != nil {
				return err
			}
			return badRows(cmd.ErrOrStderr(), a.Bad)
		},
	}
	tables.addInbox(cmd)
	addJSON(cmd, &asJSON)
	return cmd
}

func addJSON(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "one JSON object a line instead of text")
}

func badRows(w io.Writer, bad []*inbox.BadRow) error {
	if len(bad) == 0 {
		return nil
	}
	for _, row := range bad {
		fmt.Fprintln(w, printable(row.Error()))
	}
	return fmt.Errorf("%d rows of the index could not be understood; they are no runs of this version, or were written by hand", len(bad))
}

// runLine is a row of the index as JSON. The names are kept: scripts stand on them.
type runLine struct {
	Run            string      `json:"run"`
	CommandType    string      `json:"command_type"`
	RunKey         string      `json:"run_key"`
	State          inbox.State `json:"state"`
	Scope          string      `json:"scope"`
	AgeSeconds     int64       `json:"age_seconds"` // since open_since
	OpenSince      time.Time   `json:"open_since"`
	ReceivedAt     time.Time   `json:"received_at"`
	Attempts       int         `json:"attempts"`
	NextAttemptAt  time.Time   `json:"next_attempt_at,omitzero"`
	LeaseExpiresAt time.Time   `json:"lease_expires_at,omitzero"`
	WakeAt         time.Time   `json:"wake_at,omitzero"`
	WakeCount      int         `json:"wake_count"`
}

func writeRuns(w io.Writer, a operator.Attention, now time.Time, asJSON bool) error {
	if asJSON {
		for _, run := range a.Runs {
			if err := jsonLine(w, lineOf(run, now)); err != nil {
				return err
			}
		}
		return nil
	}
	rows := [][]string{{"STATE", "AGE", "ATTEMPTS", "WAITS FOR", "SCOPE", "RUN"}}
	for _, run := range a.Runs {
		rows = append(rows, []string{string(run.State), age(now.Sub(run.OpenSince)), fmt.Sprint(run.Attempts), waitsFor(run, now),
			printable(run.Scope), printable(run.RunKey().String())})
	}
	if len(a.Runs) > 0 {
		width := widthOf(w)
		grid(w, width, fit(width, rows, "ATTEMPTS", "SCOPE"))
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%d open, %d failed, %d recorded\n", a.Count("open"), a.Count("failed"), a.Count("recorded"))
	return nil
}

func lineOf(run inbox.Run, now time.Time) runLine {
	return runLine{
		Run: run.RunKey().String(), CommandType: run.Type, RunKey: run.Key, State: run.State, Scope: run.Scope,
		AgeSeconds: int64(max(now.Sub(run.OpenSince), 0) / time.Second), OpenSince: run.OpenSince, ReceivedAt: run.ReceivedAt,
		Attempts: run.Attempts, NextAttemptAt: run.NextAttemptAt, LeaseExpiresAt: run.LeaseExpiresAt,
		WakeAt: run.WakeAt, WakeCount: run.WakeCount,
	}
}

// waitsFor is the outlook in two words, from what the index projects.
func waitsFor(run inbox.Run, now time.Time) string {
	switch {
	case run.State == inbox.StateFailed || run.State == inbox.StateRecorded:
		return "operator"
	case run.LeaseExpiresAt.After(now):
		return "its slice"
	case run.NextAttemptAt.After(now):
		return "attempt in " + age(run.NextAttemptAt.Sub(now))
	case run.Wake != "":
		return "the stream"
	}
	return "the next sweep"
}
