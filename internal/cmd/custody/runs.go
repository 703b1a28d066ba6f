package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"custody/internal/inbox"
	"custody/internal/operator"

	"github.com/spf13/cobra"
)

// queryFlags say which runs are meant: what runs lists and what the moves take with --all.
type queryFlags struct {
	states, categories []string
	scope              string
	olderThan          time.Duration
}

func (f *queryFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.states, "state", nil, "only runs in this `STATE`: "+strings.Join(wordsOf(operator.OpenStates()), ", ")+"; repeatable")
	flags.StringVar(&f.scope, "scope", "", "only runs of this `SCOPE`, such as warehouse:wh-17")
	flags.DurationVar(&f.olderThan, "older-than", 0, "only runs that have stood in their state for at least this `TIME`, such as 2h")
	flags.StringSliceVar(&f.categories, "category", nil, "only runs whose last error is of this `CATEGORY`, such as access_denied; repeatable")
}

func wordsOf[S ~string](values []S) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}

func (f *queryFlags) query() operator.Query {
	q := operator.Query{Scope: f.scope, OlderThan: f.olderThan}
	for _, s := range f.states {
		q.States = append(q.States, inbox.State(s))
	}
	for _, c := range f.categories {
		q.Categories = append(q.Categories, inbox.Category(c))
	}
	return q
}

// narrowed reports whether fewer than all runs are asked for.
func (f *queryFlags) narrowed() bool { return len(f.states) > 0 || f.narrowedWithin() }

// narrowedWithin reports whether fewer than all runs of their states are asked for.
func (f *queryFlags) narrowedWithin() bool {
	return len(f.categories) > 0 || f.scope != "" || f.olderThan > 0
}

// runsFlags are the flags of `runs`.
type runsFlags struct {
	tables tableFlags
	query  queryFlags
	watch  watchFlags
	asJSON bool
}

func newRuns() *cobra.Command {
	var flags runsFlags
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the open, failed and recorded runs, the oldest first",
		Long: `runs is the recovery query: every run that has not ended, the one that stands in its state longest first. Open
runs (pending, running) go on by themselves; failed and recorded ones wait for an operator. It reads the
table's index page by page and never scans. What has ended, dry runs that are done among it, is not in the index:
custody show RUN finds it by name until its item expires, and custody report TYPE/KEY afterwards.

The index has neither the last error nor the progress, so the items of what is listed are read for them, 16 at a time:
those of the 1000 rows that stand longest, or of all where --category asks for them. Recorded runs have neither.

With --watch it looks again every 5 s (--every), in the same place of a terminal, below the last answer elsewhere,
until Ctrl-C, which is no failure.

Exit codes: 0 listed, also when there is nothing; 1 failed, also when a row could not be understood; 2 usage.`,
		Example: `  custody runs
  custody runs --state failed --scope warehouse:wh-17 --category access_denied
  custody runs --older-than 2h --watch
  custody runs --json | jq -r 'select(.state == "failed") | .run'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.list(cmd) },
	}
	flags.tables.addInbox(cmd)
	flags.query.add(cmd)
	flags.watch.add(cmd, 5*time.Second, "look again and again, until Ctrl-C")
	addJSON(cmd, &flags.asJSON)
	return cmd
}

func addJSON(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "one JSON object a line instead of text")
}

func (f *runsFlags) list(cmd *cobra.Command) error {
	if err := errors.Join(f.watch.check(), f.query.query().Check()); err != nil {
		return err
	}
	s, err := open(cmd.Context(), &f.tables, (*tableFlags).inboxTable)
	if err != nil {
		return err
	}
	if !f.watch.on {
		return f.once(cmd, s, cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	screen := canvas{out: cmd.OutOrStdout()}
	return again(cmd.Context(), f.watch.every, cmd.ErrOrStderr(), func() (bool, error) { return false, f.look(cmd, s, &screen) })
}

// look is one look of a watch. What could not be read is part of the picture: the next look may read it.
func (f *runsFlags) look(cmd *cobra.Command, s *session, screen *canvas) error {
	if f.asJSON {
		return f.once(cmd, s, cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s, every %s; Ctrl-C ends it\n", stamp(s.Now()), f.watch.every)
	l, err := s.Runs(cmd.Context(), f.query.query())
	if err != nil {
		return s.explain(err)
	}
	writeRuns(&text, l, s.Now(), widthOf(cmd.OutOrStdout()), paletteOf(cmd.OutOrStdout()), f.query)
	if err := s.unclear(&text, l); err != nil {
		fmt.Fprintln(&text, printable(err.Error()))
	}
	screen.show(text.Bytes())
	return nil
}

func (f *runsFlags) once(cmd *cobra.Command, s *session, out, complaints io.Writer) error {
	l, err := s.Runs(cmd.Context(), f.query.query())
	if err != nil {
		return s.explain(err)
	}
	if f.asJSON {
		for _, row := range l.Rows {
			if err := jsonLine(out, lineOf(row, s.Now())); err != nil {
				return err
			}
		}
	} else {
		writeRuns(out, l, s.Now(), widthOf(out), paletteOf(out), f.query)
	}
	return s.unclear(complaints, l)
}

// unclear says what of a listing could not be read.
func (s *session) unclear(w io.Writer, l operator.Listing) error {
	for _, row := range l.Bad {
		fmt.Fprintln(w, printable(row.Error()))
	}
	switch {
	case len(l.Bad) > 0:
		return fmt.Errorf("%d rows of the index could not be understood; they are no runs of this version, or were written by hand", len(l.Bad))
	case len(l.Unread) > 0:
		return fmt.Errorf("%s could not be read, so errors (?) and progress are missing: %w",
			counted(int64(len(l.Unread)), "item"), s.explain(l.Unread[0]))
	}
	return nil
}

// runLine is a run of the list as JSON. The names are kept: scripts stand on them.
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
	// What only the item has; absent where it was not read.
	Item *itemPart `json:"item,omitempty"`
}

type itemPart struct {
	Mode              inbox.Mode     `json:"mode,omitempty"`
	LastErrorCategory inbox.Category `json:"last_error_category,omitempty"`
	LastErrorAt       time.Time      `json:"last_error_at,omitzero"`
	Scan              int            `json:"scan"`
	Slices            int            `json:"slices"`
	Counters          inbox.Counters `json:"counters"`
}

// writeRuns writes the list. A column that there is no room for is left out, the least telling first.
func writeRuns(w io.Writer, l operator.Listing, now time.Time, width int, colors palette, asked queryFlags) {
	if len(l.Rows) > 0 {
		var table bytes.Buffer
		grid(&table, width, fit(width, runRows(l.Rows, now), "ATTEMPTS", "SCOPE", "PROGRESS", "WAITS FOR"))
		for line := range strings.Lines(table.String()) {
			fmt.Fprint(w, colors.state(line))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, countWords(l, asked))
	if l.Skipped > 0 {
		fmt.Fprintf(w, "errors and progress (?) of %d younger ones were not looked at; custody show, or --category, reads them\n", l.Skipped)
	}
}

// countWords counts what was asked for and nothing else: of a state that nobody looked for, 0 would be taken for the truth.
func countWords(l operator.Listing, asked queryFlags) string {
	var words []string
	if len(asked.states) == 0 {
		for _, partition := range []string{"open", "failed", "recorded"} {
			words = append(words, fmt.Sprintf("%d %s", l.Count(partition), partition))
		}
	}
	for _, state := range operator.OpenStates() {
		if slices.Contains(asked.states, string(state)) {
			words = append(words, fmt.Sprintf("%d %s", l.CountState(state), state))
		}
	}
	if asked.narrowedWithin() {
		words[len(words)-1] += " of those asked for"
	}
	return strings.Join(words, ", ")
}

func runRows(rows []operator.Row, now time.Time) [][]string {
	cells := [][]string{{"STATE", "AGE", "ATTEMPTS", "WAITS FOR", "ERROR", "PROGRESS", "SCOPE", "RUN"}}
	for _, row := range rows {
		cells = append(cells, []string{string(row.State), age(now.Sub(row.OpenSince)), fmt.Sprint(row.Attempts), waitsFor(row.Run, now),
			errorWord(row), progressWords(row), printable(row.Scope), printable(row.RunKey().String())})
	}
	return cells
}

func errorWord(row operator.Row) string {
	switch {
	case row.State == inbox.StateRecorded:
		return "-"
	case !row.Whole:
		return "?"
	case row.LastError == nil:
		return "-"
	}
	return printable(string(row.LastError.Category))
}

// progressWords are how far the run is: what is gone, or in a dry run would be, and in which scan.
func progressWords(row operator.Row) string {
	switch {
	case row.State == inbox.StateRecorded:
		return "-"
	case !row.Whole:
		return "?"
	case row.Slices == 0:
		return "-"
	}
	return fmt.Sprintf("%s, scan %d", goneWords(row.Run), row.Place.Scan)
}

// goneWords are what is gone after all scans, or in a dry run would be.
func goneWords(run inbox.Run) string {
	if run.Mode == inbox.ModeDryRun {
		return fmt.Sprintf("%d selected", run.Counters.Selected)
	}
	return fmt.Sprintf("%d deleted", run.Counters.Deleted)
}

func lineOf(row operator.Row, now time.Time) runLine {
	line := runLine{
		Run: row.RunKey().String(), CommandType: row.Type, RunKey: row.Key, State: row.State, Scope: row.Scope,
		AgeSeconds: int64(max(now.Sub(row.OpenSince), 0) / time.Second), OpenSince: row.OpenSince, ReceivedAt: row.ReceivedAt,
		Attempts: row.Attempts, NextAttemptAt: row.NextAttemptAt, LeaseExpiresAt: row.LeaseExpiresAt,
		WakeAt: row.WakeAt, WakeCount: row.WakeCount,
	}
	if !row.Whole {
		return line
	}
	line.Item = &itemPart{Mode: row.Mode, Scan: row.Place.Scan, Slices: row.Slices, Counters: row.Counters}
	if row.LastError != nil {
		line.Item.LastErrorCategory, line.Item.LastErrorAt = row.LastError.Category, row.LastError.At
	}
	return line
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
