package sweeper_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	"custody/internal/sweeper"
)

// held are reservations of which the oldest one that is past its deadline is known.
type held struct {
	oldest time.Time
	err    error
	block  func(context.Context) error
	asked  []time.Time
}

func (h *held) OldestHeld(ctx context.Context, now time.Time) (time.Time, error) {
	h.asked = append(h.asked, now)
	if h.block != nil {
		if err := h.block(ctx); err != nil {
			return time.Time{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	return h.oldest, h.err
}

func TestTheAgeOfTheOldestOverdueReservation(t *testing.T) {
	t.Parallel()
	gone := errors.New("the reservations are away")
	stuckRun := open(stuck("a", time.Hour))
	for name, c := range map[string]struct {
		index index
		held  *held // nil: the stack takes no reservations
		want  inbox.SweepSummary
	}{
		"a stack without reservations has no such age": {
			index{}, nil, inbox.SweepSummary{Counted: true},
		},
		"none is overdue: the age is zero, and known": {
			index{}, &held{}, inbox.SweepSummary{Counted: true, ReservationsRead: true},
		},
		"one is": {
			index{}, &held{oldest: noon.Add(-time.Hour)}, inbox.SweepSummary{Counted: true, ReservationsRead: true, OldestOverdue: time.Hour},
		},
		"due at this very moment": {
			index{}, &held{oldest: noon}, inbox.SweepSummary{Counted: true, ReservationsRead: true},
		},
		"a deadline ahead of this clock is no negative age": {
			index{}, &held{oldest: noon.Add(time.Second)}, inbox.SweepSummary{Counted: true, ReservationsRead: true},
		},
		"as old as can be": {
			index{}, &held{oldest: time.UnixMilli(0)}, inbox.SweepSummary{Counted: true, ReservationsRead: true, OldestOverdue: noon.Sub(time.UnixMilli(0))},
		},
		"reservations that cannot be read have no age, and the runs are swept all the same": {
			index{rows: stuckRun}, &held{err: gone},
			inbox.SweepSummary{Counted: true, Open: 1, OldestOpenAge: time.Hour, Woken: 1, Errors: 1, Problem: "the reservations are away"},
		},
		"the age is published when every wake fails": {
			index{rows: stuckRun, refuse: away}, &held{oldest: noon.Add(-time.Minute)},
			inbox.SweepSummary{Counted: true, Open: 1, OldestOpenAge: time.Hour, Errors: 1, Problem: "wake: store unavailable",
				ReservationsRead: true, OldestOverdue: time.Minute},
		},
		"the age is published when the runs cannot be read": {
			index{rows: map[string][]any{"open": {gone}, "failed": {gone}, "recorded": {gone}}}, &held{oldest: noon.Add(-time.Minute)},
			inbox.SweepSummary{Failed: -1, Recorded: -1, Errors: 3, Problem: "the reservations are away",
				ReservationsRead: true, OldestOverdue: time.Minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sw := newSweeper(&c.index, settings)
			if c.held != nil {
				sw.Reservations = c.held
			}
			got := sw.Tick(t.Context())
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if c.held != nil && (len(c.held.asked) != 1 || !c.held.asked[0].Equal(noon)) {
				t.Errorf("asked %v, want once, for noon", c.held.asked)
			}
		})
	}
}

// Neither takes the other's time: an index of runs that hangs hides no reservation, and reservations that hang leave time to wake.
func TestRunsAndReservationsShareTheTimeOfATick(t *testing.T) {
	t.Parallel()
	wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, c := range map[string]struct {
		block func(context.Context, string) error
		held  held
		takes time.Duration
		want  inbox.SweepSummary
	}{
		"the index of runs hangs": {
			hang("open"), held{oldest: noon.Add(-time.Minute)}, 27500 * time.Millisecond,
			inbox.SweepSummary{Errors: 1, ReservationsRead: true, OldestOverdue: time.Minute},
		},
		"the reservations hang": {
			nil, held{block: wait}, 27500 * time.Millisecond,
			inbox.SweepSummary{Counted: true, Open: 1, OldestOpenAge: time.Hour, Woken: 1, Errors: 1},
		},
		"the wakes hang": {
			hang("move"), held{oldest: noon.Add(-time.Minute)}, 55 * time.Second,
			inbox.SweepSummary{Counted: true, Open: 1, OldestOpenAge: time.Hour, Errors: 1, ReservationsRead: true, OldestOverdue: time.Minute},
		},
		"both hang": {
			hang("open"), held{block: wait}, 41250 * time.Millisecond, inbox.SweepSummary{Errors: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sw := newSweeper(&index{rows: open(stuck("a", time.Hour)), block: c.block}, settings)
				sw.Reservations = &c.held
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				got := sw.Tick(ctx)
				if took := time.Since(began); took != c.takes {
					t.Errorf("took %s, want %s", took, c.takes)
				}
				if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(inbox.SweepSummary{}, "Problem")); diff != "" {
					t.Error(diff)
				}
				if !strings.Contains(got.Problem, "time of the sweep is used up") {
					t.Errorf("the problem is %q", got.Problem)
				}
			})
		})
	}
}

const reservationsTable = "reservations"

// withReservations gives the table a neighbour, as the template makes it.
func (x *table) withReservations(t *testing.T) *sweeper.Sweeper {
	t.Helper()
	if err := (localaws.Tables{Reservations: reservationsTable}).Make(t.Context(), x.db); err != nil {
		t.Fatal(err)
	}
	sw := x.sweeper(settings)
	sw.Reservations = dynamostore.NewReservations(x.Store, reservationsTable)
	return sw
}

func (x *table) reserve(t *testing.T, id, status string, ago time.Duration) {
	t.Helper()
	_, err := x.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(reservationsTable), Item: map[string]types.AttributeValue{
		"reservation_id": text(id), "status": text(status), "expires_at": at(ago),
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// The age follows the reservation through its life, and a tick asks once, however many are held.
func TestSweepSeesTheOldestOverdueReservationInTheTable(t *testing.T) {
	t.Parallel()
	x := newTable(t)
	sw := x.withReservations(t)
	queries := 0
	x.down = func(operation string) bool {
		if operation == "Query" {
			queries++
		}
		return false
	}
	tick := func(when string, want time.Duration) {
		t.Helper()
		queries = 0
		got := sw.Tick(t.Context())
		if diff := cmp.Diff(inbox.SweepSummary{Counted: true, ReservationsRead: true, OldestOverdue: want}, got); diff != "" {
			t.Errorf("%s:\n%s", when, diff)
		}
		if queries != 4 { // open, failed, recorded, and one for the reservations
			t.Errorf("%s: %d queries", when, queries)
		}
	}
	tick("no reservations", 0)
	x.reserve(t, "r-early", "held", -time.Millisecond)
	tick("held, and not due", 0)
	x.reserve(t, "r-1", "held", time.Minute)
	x.reserve(t, "r-2", "held", time.Hour)
	x.reserve(t, "r-3", "paid", 24*time.Hour)
	tick("held, and overdue", time.Hour)
	for i := range 300 {
		x.reserve(t, fmt.Sprint("r-more-", i), "held", time.Duration(i)*time.Second)
	}
	tick("many are", time.Hour)
	e := inbox.Expiry{ReservationID: "r-2", ExpiresAt: noon.Add(-time.Hour), At: noon}
	store := dynamostore.NewReservations(x.Store, reservationsTable)
	if refused, err := store.Expire(t.Context(), inbox.Delivery{ID: "d-1", ReceivedAt: noon}, e); refused != nil || err != nil {
		t.Fatalf("%+v, %v", refused, err)
	}
	tick("the oldest has expired", 299*time.Second)
}

func TestReservationsThatCannotBeReadAreAnErrorAndNoZero(t *testing.T) {
	t.Parallel()
	for name, table := range map[string]string{"no such table": "nowhere", "no such index": tableName} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTable(t)
			x.claim(t, "a", time.Hour)
			sw := x.sweeper(settings)
			sw.Reservations = dynamostore.NewReservations(x.Store, table)
			got := sw.Tick(t.Context())
			if got.ReservationsRead || got.Errors != 1 || got.Woken != 1 || !strings.Contains(got.Problem, "read the oldest held reservation") {
				t.Errorf("%+v", got)
			}
		})
	}
}
