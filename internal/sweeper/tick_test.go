package sweeper_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"custody/internal/inbox"
	"custody/internal/sweeper"
)

// index is an in-memory index with scripted troubles.
type index struct {
	rows   map[string][]any                              // by partition: inbox.Run, or error
	refuse func(key inbox.RunKey) error                  // answer to a move; nil: made
	block  func(ctx context.Context, where string) error // called before every row and move
	moves  []moved
}

type moved struct {
	Run, Move string
	Change    inbox.Change
}

func (x *index) Rows(ctx context.Context, partition string) iter.Seq2[inbox.Run, error] {
	return func(yield func(inbox.Run, error) bool) {
		if err := x.wait(ctx, partition); err != nil {
			yield(inbox.Run{}, err)
			return
		}
		for _, entry := range x.rows[partition] {
			if err := x.wait(ctx, partition+" row"); err != nil {
				yield(inbox.Run{}, err)
				return
			}
			run, _ := entry.(inbox.Run)
			err, _ := entry.(error)
			_, bad := errors.AsType[*inbox.BadRow](err)
			if !yield(run, err) || err != nil && !bad {
				return
			}
		}
	}
}

func (x *index) Move(ctx context.Context, key inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error) {
	if err := x.wait(ctx, "move"); err != nil {
		return inbox.Run{}, err
	}
	x.moves = append(x.moves, moved{key.Key, m.Name, c})
	if x.refuse != nil {
		return inbox.Run{}, x.refuse(key)
	}
	return inbox.Run{}, nil
}

func (x *index) wait(ctx context.Context, where string) error {
	if x.block == nil {
		return nil
	}
	return x.block(ctx, where)
}

// names lists what was tried, as "wake r-1".
func (x *index) names() []string {
	var all []string
	for _, m := range x.moves {
		all = append(all, m.Move+" "+m.Run)
	}
	return all
}

func open(rows ...any) map[string][]any { return map[string][]any{"open": rows} }

// stuck is a run that needs a wake now.
func stuck(key string, age time.Duration) inbox.Run {
	return inbox.Run{Type: "cleanup.run", Key: key, State: inbox.StatePending, OpenSince: noon.Add(-age)}
}

func spent(key string, age time.Duration) inbox.Run {
	r := stuck(key, age)
	r.Attempts = 12
	return r
}

func busy(key string, age time.Duration) inbox.Run {
	r := stuck(key, age)
	r.State, r.LeaseExpiresAt = inbox.StateRunning, noon.Add(time.Minute)
	return r
}

// badRow is a row of which not even the age can be read.
func badRow(pk string) error {
	return &inbox.BadRow{ItemKey: pk, Err: errors.New("attempts is no number")}
}

func badRowSince(pk string, age time.Duration) error {
	return &inbox.BadRow{ItemKey: pk, OpenSince: noon.Add(-age), Err: errors.New("attempts is no number")}
}

func refused(key inbox.RunKey) error { return &inbox.Refused{Move: inbox.MoveWake} }

func away(inbox.RunKey) error { return fmt.Errorf("wake: %w", inbox.ErrUnavailable) }

func newSweeper(x *index, s sweeper.Settings) *sweeper.Sweeper {
	sw := sweeper.New(x, s)
	sw.Now = func() time.Time { return noon }
	wakes := 0
	sw.NewWake = func() string { wakes++; return fmt.Sprintf("new-%d", wakes) }
	return sw
}

func TestTick(t *testing.T) {
	t.Parallel()
	gone := errors.New("the table is away")
	limited := func(n int) sweeper.Settings { s := settings; s.Limit = n; return s }
	for name, c := range map[string]struct {
		index    index
		settings sweeper.Settings
		moves    []string
		want     inbox.SweepSummary
	}{
		"no rows at all are counted as none": {index{}, settings, nil, inbox.SweepSummary{Counted: true}},
		"what is stuck is woken, what is spent is given up, what is at work is left": {
			index{rows: open(stuck("a", 3*time.Hour), busy("b", 2*time.Hour), spent("c", time.Hour))}, settings,
			[]string{"wake a", "give up c"},
			inbox.SweepSummary{Counted: true, Open: 3, OldestOpenAge: 3 * time.Hour, Woken: 1, GivenUp: 1},
		},
		"failed and recorded runs are counted and left": {
			index{rows: map[string][]any{"failed": {spent("a", 0), spent("b", 0)}, "recorded": {stuck("c", 0)}}}, settings, nil,
			inbox.SweepSummary{Counted: true, Failed: 2, Recorded: 1},
		},
		"a bad row is passed by and counted": {
			index{rows: open(badRow("run#x"), stuck("a", time.Hour), badRow("run#y"), stuck("b", time.Minute))}, settings,
			[]string{"wake a", "wake b"},
			inbox.SweepSummary{Counted: true, Open: 4, OldestOpenAge: time.Hour, Woken: 2, BadRows: 2, Problem: `row "run#x": attempts is no number`},
		},
		"bad rows alone have an age that nobody knows": {
			index{rows: open(badRow("run#x"))}, settings, nil,
			inbox.SweepSummary{Open: 1, BadRows: 1, Problem: `row "run#x": attempts is no number`},
		},
		"a bad row that is the oldest is seen by its age": {
			index{rows: open(badRowSince("run#x", 9*time.Hour), stuck("a", time.Hour), badRowSince("run#y", time.Minute))}, settings,
			[]string{"wake a"},
			inbox.SweepSummary{Counted: true, Open: 3, OldestOpenAge: 9 * time.Hour, Woken: 1, BadRows: 2, Problem: `row "run#x": attempts is no number`},
		},
		"bad rows alone have an age where they tell it": {
			index{rows: open(badRowSince("run#x", time.Hour), badRow("run#y"), badRowSince("run#z", 2*time.Hour))}, settings, nil,
			inbox.SweepSummary{Counted: true, Open: 3, OldestOpenAge: 2 * time.Hour, BadRows: 3, Problem: `row "run#x": attempts is no number`},
		},
		"a bad row in front of a reading that breaks off tells the oldest age": {
			index{rows: open(badRowSince("run#x", time.Hour), gone)}, settings, nil,
			inbox.SweepSummary{Counted: true, Open: 1, OldestOpenAge: time.Hour, BadRows: 1, Errors: 1, Problem: `row "run#x": attempts is no number`},
		},
		"a bad row from a clock ahead of this one has the age zero": {
			index{rows: open(badRowSince("run#x", -time.Minute))}, settings, nil,
			inbox.SweepSummary{Counted: true, Open: 1, BadRows: 1, Problem: `row "run#x": attempts is no number`},
		},
		"a reading that breaks off behind a row without its age knows nothing": {
			index{rows: open(badRow("run#x"), gone)}, settings, nil,
			inbox.SweepSummary{Open: 1, BadRows: 1, Errors: 1, Problem: `row "run#x": attempts is no number`},
		},
		"a row without its age is a bad row": {
			index{rows: open(inbox.Run{Type: "cleanup.run", Key: "a", State: inbox.StatePending}, stuck("b", time.Minute))}, settings,
			[]string{"wake b"},
			inbox.SweepSummary{Counted: true, Open: 2, OldestOpenAge: time.Minute, Woken: 1, BadRows: 1, Problem: `row "run#cleanup.run#a": open_since is missing`},
		},
		"bad rows elsewhere are counted too": {
			index{rows: map[string][]any{"failed": {badRow("run#x"), spent("a", 0)}}}, settings, nil,
			inbox.SweepSummary{Counted: true, Failed: 2, BadRows: 1, Problem: `row "run#x": attempts is no number`},
		},
		"the age is published when every move fails, and every move is tried": {
			index{rows: open(stuck("a", time.Hour), spent("b", time.Minute)), refuse: away}, settings,
			[]string{"wake a", "give up b"},
			inbox.SweepSummary{Counted: true, Open: 2, OldestOpenAge: time.Hour, Errors: 2, Problem: "wake: store unavailable"},
		},
		"a refused move is an answer and no error": {
			index{rows: open(stuck("a", time.Hour), stuck("b", time.Minute)), refuse: refused}, settings,
			[]string{"wake a", "wake b"},
			inbox.SweepSummary{Counted: true, Open: 2, OldestOpenAge: time.Hour, Refused: 2},
		},
		"an index that cannot be read gives no age, and nothing to do": {
			index{rows: map[string][]any{"open": {gone}, "failed": {gone}, "recorded": {gone}}}, settings, nil,
			inbox.SweepSummary{Failed: -1, Recorded: -1, Errors: 3, Problem: "the table is away"},
		},
		"a reading that breaks off knows the oldest, which comes first, and goes on with the rest": {
			index{rows: map[string][]any{"open": {stuck("a", time.Hour), gone, stuck("b", 0)}, "failed": {spent("c", 0), gone, spent("d", 0)}}}, settings,
			[]string{"wake a"},
			inbox.SweepSummary{Counted: true, Open: 1, OldestOpenAge: time.Hour, Failed: 1, Woken: 1, Errors: 2, Problem: "the table is away"},
		},
		"the oldest is told by its age, not by its place": {
			index{rows: open(busy("a", time.Hour), busy("b", 2*time.Hour))}, settings, nil,
			inbox.SweepSummary{Counted: true, Open: 2, OldestOpenAge: 2 * time.Hour},
		},
		"a row from a clock ahead of this one has the age zero": {
			index{rows: open(busy("a", -time.Minute))}, settings, nil, inbox.SweepSummary{Counted: true, Open: 1},
		},
		"the limit counts wakes and giving up together": {
			index{rows: open(stuck("a", 4), spent("b", 3), stuck("c", 2), stuck("d", 1))}, limited(2),
			[]string{"wake a", "give up b"},
			inbox.SweepSummary{Counted: true, Open: 4, OldestOpenAge: 4, Woken: 1, GivenUp: 1, Limited: true},
		},
		"a limit that is just enough was not reached": {
			index{rows: open(stuck("a", 2), busy("b", 1), stuck("c", 1))}, limited(2),
			[]string{"wake a", "wake c"},
			inbox.SweepSummary{Counted: true, Open: 3, OldestOpenAge: 2, Woken: 2},
		},
		"moves that are refused do not use up the limit, and are bounded too": {
			index{rows: open(stuck("a", 9), stuck("b", 8), stuck("c", 7), stuck("d", 6), stuck("e", 5)), refuse: refused}, limited(2),
			[]string{"wake a", "wake b", "wake c", "wake d"},
			inbox.SweepSummary{Counted: true, Open: 5, OldestOpenAge: 9, Refused: 4, Limited: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := newSweeper(&c.index, c.settings).Tick(t.Context())
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.moves, c.index.names(), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChangesCarryWhatTheMovesNeed(t *testing.T) {
	t.Parallel()
	late := stuck("a", time.Hour)
	late.Wake, late.WakeAt, late.WakeCount = "old", noon.Add(-30*time.Minute), 2
	x := &index{rows: open(late, spent("b", time.Hour), stuck("c", time.Hour))}
	newSweeper(x, settings).Tick(t.Context())
	want := []moved{
		{"a", inbox.MoveWake, inbox.Change{Now: noon, NewWake: "new-1", WakeBefore: noon.Add(-8 * time.Minute)}},
		{"b", inbox.MoveGiveUp, inbox.Change{Now: noon, Ceiling: 12, Err: inbox.LastError{
			Category: inbox.CategoryAttemptCeiling, At: noon,
			Message: "12 slices in a row made no progress, and the ceiling is 12; the lines of those slices say why"}}},
		{"c", inbox.MoveWake, inbox.Change{Now: noon, NewWake: "new-2", WakeBefore: noon.Add(-2 * time.Minute)}},
	}
	if diff := cmp.Diff(want, x.moves); diff != "" {
		t.Error(diff)
	}
}

func TestWakesOfTheRealSweeperAreNeverTheSame(t *testing.T) {
	t.Parallel()
	x := &index{rows: open(stuck("a", time.Hour), stuck("b", time.Hour))}
	for range 50 {
		sweeper.New(x, settings).Tick(t.Context())
	}
	seen := map[string]bool{}
	for _, m := range x.moves {
		if len(m.Change.NewWake) < 20 || seen[m.Change.NewWake] {
			t.Fatalf("wake %q", m.Change.NewWake)
		}
		seen[m.Change.NewWake] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d wakes", len(seen))
	}
}

func TestThousandRowsAreReadAndTheOldestAreWoken(t *testing.T) {
	t.Parallel()
	var rows []any
	for i := range 1000 {
		rows = append(rows, stuck(fmt.Sprintf("r-%04d", i), time.Hour-time.Duration(i)*time.Second))
	}
	x := &index{rows: open(rows...)}
	got := newSweeper(x, settings).Tick(t.Context())
	want := inbox.SweepSummary{Counted: true, Open: 1000, OldestOpenAge: time.Hour, Woken: 500, Limited: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if first, last := x.moves[0].Run, x.moves[len(x.moves)-1].Run; first != "r-0000" || last != "r-0499" {
		t.Errorf("woken from %s to %s", first, last)
	}
}

func TestCountingIsBounded(t *testing.T) {
	t.Parallel()
	many := make([]any, 10_050)
	for i := range many {
		many[i] = spent("r", 0)
	}
	got := newSweeper(&index{rows: map[string][]any{"failed": many, "recorded": many}}, settings).Tick(t.Context())
	if got.Failed != 10_000 || got.Recorded != 10_000 {
		t.Errorf("counted %d failed and %d recorded", got.Failed, got.Recorded)
	}
}

// hang waits for the context at one place, as a call to a store that does not answer.
func hang(at string) func(context.Context, string) error {
	return func(ctx context.Context, where string) error {
		if where != at {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
}

// slow takes the given time at one place.
func slow(at string, pause time.Duration) func(context.Context, string) error {
	return func(ctx context.Context, where string) error {
		if where != at {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
			return nil
		}
	}
}

func TestTickEndsInTimeToBePublished(t *testing.T) {
	t.Parallel()
	rows := func() map[string][]any {
		return map[string][]any{"open": {stuck("a", time.Hour), stuck("b", time.Hour), stuck("c", time.Hour)}, "failed": {spent("d", 0)}}
	}
	for name, c := range map[string]struct {
		block  func(context.Context, string) error
		within time.Duration
		takes  time.Duration
		want   inbox.SweepSummary
		says   string
	}{
		"a store that never answers leaves half of the time unused": {
			hang("open"), time.Minute, 27500 * time.Millisecond,
			inbox.SweepSummary{Failed: 1, Errors: 1}, "time of the sweep is used up"},
		"a move that never answers ends five seconds before the deadline": {
			hang("move"), time.Minute, 55 * time.Second,
			inbox.SweepSummary{Counted: true, Open: 3, OldestOpenAge: time.Hour, Failed: 1, Errors: 1, Limited: true}, "time of the sweep is used up"},
		"slow moves stop when the time is up": {
			slow("move", 30*time.Second), time.Minute, 55 * time.Second,
			inbox.SweepSummary{Counted: true, Open: 3, OldestOpenAge: time.Hour, Failed: 1, Woken: 1, Errors: 1, Limited: true}, "time of the sweep is used up"},
		"a long index is read for half of the time, and its oldest rows are woken": {
			slow("open row", 20*time.Second), time.Minute, 27500 * time.Millisecond,
			inbox.SweepSummary{Counted: true, Open: 1, OldestOpenAge: time.Hour, Failed: 1, Woken: 1, Errors: 1}, "time of the sweep is used up"},
		"a short time keeps a quarter back": {
			hang("move"), 4 * time.Second, 3 * time.Second,
			inbox.SweepSummary{Counted: true, Open: 3, OldestOpenAge: time.Hour, Failed: 1, Errors: 1, Limited: true}, "time of the sweep is used up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				x := &index{rows: rows(), block: c.block}
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), c.within)
				defer cancel()
				got := newSweeper(x, settings).Tick(ctx)
				if took := time.Since(began); took != c.takes {
					t.Errorf("took %s, want %s", took, c.takes)
				}
				if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(inbox.SweepSummary{}, "Problem")); diff != "" {
					t.Error(diff)
				}
				if !strings.Contains(got.Problem, c.says) {
					t.Errorf("the problem is %q", got.Problem)
				}
			})
		})
	}
}

func TestTickMeasuresItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := &index{rows: open(stuck("a", time.Hour)), block: slow("move", 3*time.Second)}
		if got := sweeper.New(x, settings).Tick(t.Context()); got.Duration != 3*time.Second {
			t.Errorf("took %s", got.Duration)
		}
	})
}
