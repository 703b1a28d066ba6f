package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"custody/internal/inbox"
)

// Query says which of the runs that have not ended are asked for. Its zero value asks for all of them.
type Query struct {
	States     []inbox.State    // any of these; empty: any
	Scope      string           // "": any
	OlderThan  time.Duration    // stands in its state for at least this
	Categories []inbox.Category // of the last error, any of these; empty: any, and none
}

// OpenStates lists the states that a run can be listed in. The others leave the index.
func OpenStates() []inbox.State {
	return slices.DeleteFunc(inbox.States(), func(s inbox.State) bool { return s.OpenIndex() == "" })
}

// Check says what cannot be asked.
func (q Query) Check() error {
	var problems []error
	for _, s := range q.States {
		if !slices.Contains(OpenStates(), s) {
			problems = append(problems, unlisted(s))
		}
	}
	if q.Scope != "" {
		problems = append(problems, checkRunScope(q.Scope))
	}
	if q.OlderThan < 0 {
		problems = append(problems, invalid("older than", "is %s, it must not be negative", q.OlderThan))
	}
	for _, c := range q.Categories {
		if !slices.Contains(inbox.Categories(), c) {
			problems = append(problems, invalid("category", "is %q, it must be one of %s", c, joined(inbox.Categories())))
		}
	}
	return errors.Join(problems...)
}

// unlisted says of a state why no list has it, and how its runs are found instead.
func unlisted(s inbox.State) error {
	if !slices.Contains(inbox.States(), s) {
		return invalid("state", "is %q, it must be one of %s", s, joined(OpenStates()))
	}
	return invalid("state", "is %q, it must be one of %s: a run that has ended leaves the index, so no list and no filter has it. "+
		"Name it, by its key or by a delivery id, as in `custody show r-1`; docs/rollout.md, stage 3, finds dry runs that are done by a scan",
		s, joined(OpenStates()))
}

// checkRunScope is CheckScope without "*": no run is of every scope.
func checkRunScope(scope string) error {
	if scope == "*" {
		return invalid("scope", "is *, which no run has; leave it out for the runs of every scope")
	}
	return CheckScope(scope)
}

func joined[S ~string](words []S) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = string(w)
	}
	return strings.Join(all, ", ")
}

// asks reports whether a run is one of those that are asked for, as far as the index tells.
func (q Query) asks(run inbox.Run, now time.Time) bool {
	return run.State.OpenIndex() != "" &&
		(len(q.States) == 0 || slices.Contains(q.States, run.State)) &&
		(q.Scope == "" || run.Scope == q.Scope) &&
		(q.OlderThan == 0 || now.Sub(run.OpenSince) >= q.OlderThan) // clocks differ: a run may be of the future
}

// asksItem reports the same of a whole item.
func (q Query) asksItem(run inbox.Run, now time.Time) bool {
	return q.asks(run, now) && (len(q.Categories) == 0 || run.LastError != nil && slices.Contains(q.Categories, run.LastError.Category))
}

// partitions are those parts of the index that can hold what is asked for.
func (q Query) partitions() []string {
	states := q.States
	if len(states) == 0 {
		states = OpenStates()
	}
	var all []string
	for _, s := range states {
		if p := s.OpenIndex(); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// Row is a run in a list.
type Row struct {
	inbox.Run      // what the index projects, or the whole item
	Whole     bool // the item was read: its last error and its progress are known
}

// Listing is the answer of the recovery query, the run that stands in its state longest first.
type Listing struct {
	Rows []Row
	Bad  []*inbox.BadRow // rows that could not be understood
	// Unread says of each item that could not be read why. Its row is listed without it, and where a category is asked for it
	// is not, since nobody knows.
	Unread []error
	// Skipped counts the rows whose items were not looked at, since there are more than MostItems.
	Skipped int
}

const (
	// MostItems is how many items one listing reads where nobody asks for a category: the rows that stand longest have them.
	// Thousands of runs that wait are one story, and a screen that is drawn again every few seconds must not read them all.
	MostItems = 1000
	// readsAtOnce bounds the reads on their way. At 5 ms each, a thousand items are read in a third of a second.
	readsAtOnce = 16
)

// Runs asks the index for the runs that have not ended, page by page; it never scans. The index does not hold the last error
// and the progress, so the items of what is found are read, one by one, and where one was read, it is what is listed: the index
// is a moment late. A recorded run has neither, and its item is left alone.
func (o *Operator) Runs(ctx context.Context, q Query) (Listing, error) {
	if err := q.Check(); err != nil {
		return Listing{}, err
	}
	var l Listing
	now := o.Now()
	for _, partition := range q.partitions() {
		for run, err := range o.Inbox.Rows(ctx, partition) {
			if bad, ok := errors.AsType[*inbox.BadRow](err); ok {
				l.Bad = append(l.Bad, bad)
				continue
			}
			if err != nil {
				return Listing{}, err
			}
			if q.asks(run, now) {
				l.Rows = append(l.Rows, Row{Run: run})
			}
		}
	}
	l.sort()
	if err := o.readItems(ctx, &l, q, now); err != nil {
		return Listing{}, err
	}
	l.sort()
	return l, nil
}

func (l *Listing) sort() {
	slices.SortStableFunc(l.Rows, func(x, y Row) int { return x.OpenSince.Compare(y.OpenSince) })
}

// readItems puts the items in the place of their rows, and takes those rows out that are no longer what is asked for.
func (o *Operator) readItems(ctx context.Context, l *Listing, q Query, now time.Time) error {
	wanted := l.wanted(q)
	items, errs := make([]*inbox.Run, len(wanted)), make([]error, len(wanted))
	var reads errgroup.Group
	reads.SetLimit(readsAtOnce)
	for n, i := range wanted {
		reads.Go(func() error {
			items[n], errs[n] = o.Inbox.Run(ctx, l.Rows[i].RunKey())
			return nil
		})
	}
	_ = reads.Wait() // each read has its own error
	if ctx.Err() != nil {
		return fmt.Errorf("read the items of the runs: %w", errors.Join(errs...))
	}
	out := map[int]bool{}
	for n, i := range wanted {
		switch {
		case errs[n] != nil:
			l.Unread = append(l.Unread, errs[n])
			out[i] = len(q.Categories) > 0
		case items[n] == nil || !q.asksItem(*items[n], now):
			out[i] = true // it has moved on since the index was written, or has another error
		default:
			l.Rows[i] = Row{Run: *items[n], Whole: true}
		}
	}
	var kept []Row
	for i, row := range l.Rows {
		if !out[i] {
			kept = append(kept, row)
		}
	}
	l.Rows = kept
	return nil
}

// wanted are the places of the rows whose items are read.
func (l *Listing) wanted(q Query) []int {
	var all []int
	for i, row := range l.Rows {
		switch {
		case len(q.Categories) > 0:
			all = append(all, i)
		case row.State == inbox.StateRecorded:
		case len(all) < MostItems:
			all = append(all, i)
		default:
			l.Skipped++
		}
	}
	return all
}

// CountState counts the runs in a state.
func (l Listing) CountState(state inbox.State) int {
	n := 0
	for _, row := range l.Rows {
		if row.State == state {
			n++
		}
	}
	return n
}

// Count counts the runs of one partition of the index, such as "failed".
func (l Listing) Count(partition string) int {
	n := 0
	for _, row := range l.Rows {
		if row.State.OpenIndex() == partition {
			n++
		}
	}
	return n
}
