package dynamostore_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
)

// ready is a run in the state with which every move's further conditions hold, given change.
func ready(state inbox.State, m string) inbox.Run {
	run := newRun()
	run.State, run.Open = state, state.OpenIndex()
	run.Attempts = 3
	run.Wake, run.WakeAt, run.WakeCount = "wake-1", now.Add(-time.Hour), 2
	run.NextAttemptAt = now
	run.LeaseToken, run.LeaseExpiresAt, run.LeaseRecord = "token-1", now, "record-1"
	run.Cause = &inbox.LastError{Category: inbox.CategoryThrottled, Message: "of an earlier life", At: now}
	if state == inbox.StateDone || state == inbox.StateDismissed || state == inbox.StateFailed {
		run.EndedAt, run.TTL = now.Add(-time.Minute), 7
	}
	if m == inbox.MoveGiveUp {
		run.Attempts = 12
		run.LastError = &inbox.LastError{Category: inbox.CategoryUnavailable, Message: "the cause", At: now}
	}
	run.Mode = inbox.ModeDelete
	if m == inbox.MoveRelease {
		run.Mode = inbox.ModeDryRun
	}
	return run
}

func change() inbox.Change {
	return inbox.Change{
		Now: now, Token: "token-1", LeaseExpiresAt: now.Add(90 * time.Second), Record: "record-2", Wake: "wake-1", NewWake: "wake-2",
		WakeBefore: now.Add(-time.Minute), Ceiling: 12, Mode: inbox.ModeDelete,
		Place:    inbox.Place{Scan: 2, Prefix: 1, Key: "k", Deleted: true, Retained: map[string]int64{"legal_hold": 3}, Refused: []inbox.RefusedVersion{}},
		Counters: inbox.Counters{Selected: 9, Deleted: 7, Absent: 1, Listed: 20},
		Err:      inbox.LastError{Category: inbox.CategoryThrottled, Message: "m", At: now}, NextAttemptAt: now.Add(time.Minute),
		TTL:       now.Add(24 * time.Hour).Unix(),
		Operation: inbox.Operation{Move: "m", By: "alice", Reason: "because", At: now},
	}
}

func TestTheStoreItselfRefusesEveryMoveThatIsNotInTheTable(t *testing.T) {
	t.Parallel()
	for _, m := range inbox.Moves() {
		if len(m.From) == 0 {
			continue
		}
		for _, state := range inbox.States() {
			t.Run(m.Name+" from "+string(state), func(t *testing.T) {
				t.Parallel()
				s, _ := storeOver(t, nil)
				before := ready(state, m.Name)
				has(t, s, before)
				after, err := s.Move(t.Context(), key, m, change())
				if m.Leaves(state) {
					if want := m.To; err != nil || want != "" && after.State != want || want == "" && after.State != state {
						t.Errorf("state %s, error %v", after.State, err)
					}
					return
				}
				refused, ok := errors.AsType[*inbox.Refused](err)
				if !ok || refused.Run == nil || refused.Run.State != state || refused.Move != m.Name {
					t.Fatalf("error %v, want a refusal that names the state %s", err, state)
				}
				if diff := cmp.Diff(before, stored(t, s)); diff != "" {
					t.Errorf("the item changed (-before +after):\n%s", diff)
				}
			})
		}
	}
}

func TestAMoveIsRefusedWhereOneOfItsConditionsFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		move inbox.Move
		run  func(*inbox.Run)
		with func(*inbox.Change)
		ok   bool
	}{
		"acquire, when all holds":                        {move: inbox.Acquire(), ok: true},
		"acquire, when nothing was ever set":             {move: inbox.Acquire(), run: fresh, ok: true},
		"acquire, before the next attempt is due":        {move: inbox.Acquire(), run: func(r *inbox.Run) { r.NextAttemptAt = now.Add(time.Millisecond) }},
		"acquire, at the ceiling":                        {move: inbox.Acquire(), run: func(r *inbox.Run) { r.Attempts = 12 }},
		"acquire, one below the ceiling":                 {move: inbox.Acquire(), run: func(r *inbox.Run) { r.Attempts = 11 }, ok: true},
		"acquire, with an older wake":                    {move: inbox.Acquire(), with: func(c *inbox.Change) { c.Wake = "wake-0" }},
		"acquire, when the wake is gone":                 {move: inbox.Acquire(), run: func(r *inbox.Run) { r.Wake = "" }},
		"acquire, under a live lease":                    {move: inbox.Acquire(), run: func(r *inbox.Run) { r.LeaseExpiresAt = now.Add(time.Millisecond) }},
		"acquire, by the record that the lease is for":   {move: inbox.Acquire(), run: liveLease, with: retried, ok: true},
		"acquire, by that record before it is due":       {move: inbox.Acquire(), run: func(r *inbox.Run) { liveLease(r); r.NextAttemptAt = now.Add(time.Hour) }, with: retried},
		"acquire, by that record at the ceiling":         {move: inbox.Acquire(), run: func(r *inbox.Run) { liveLease(r); r.Attempts = 12 }, with: retried},
		"acquire, by the very worker, repeated":          {move: inbox.Acquire(), run: func(r *inbox.Run) { liveLease(r); r.Wake = "" }, with: func(c *inbox.Change) { c.Record = "record-1" }},
		"checkpoint, with another token":                 {move: inbox.Checkpoint(), with: otherToken},
		"yield, with another token":                      {move: inbox.Yield(), with: otherToken},
		"park, with another token":                       {move: inbox.Park(), with: otherToken},
		"complete, with another token":                   {move: inbox.Complete(), with: otherToken},
		"fail, with another token":                       {move: inbox.Fail(), with: otherToken},
		"complete, without any lease":                    {move: inbox.Complete(), run: fresh},
		"checkpoint, after the lease ran out unnoticed":  {move: inbox.Checkpoint(), run: func(r *inbox.Run) { r.LeaseExpiresAt = now.Add(-time.Hour) }, ok: true},
		"release, of a run that deleted":                 {move: inbox.Release(), run: func(r *inbox.Run) { r.Mode = inbox.ModeDelete }},
		"release, of a dry run":                          {move: inbox.Release(), ok: true},
		"give up, below the ceiling":                     {move: inbox.GiveUp(), run: func(r *inbox.Run) { r.Attempts = 11 }},
		"give up, at the ceiling":                        {move: inbox.GiveUp(), run: func(r *inbox.Run) { r.Attempts = 12 }, ok: true},
		"give up, under a live lease":                    {move: inbox.GiveUp(), run: func(r *inbox.Run) { liveLease(r); r.Attempts = 12 }},
		"wake, when all holds":                           {move: inbox.Wake(), ok: true},
		"wake, when nothing was ever set":                {move: inbox.Wake(), run: fresh, ok: true},
		"wake, under a live lease":                       {move: inbox.Wake(), run: liveLease},
		"wake, before the next attempt is due":           {move: inbox.Wake(), run: func(r *inbox.Run) { r.NextAttemptAt = now.Add(time.Millisecond) }},
		"wake, when the present wake is younger":         {move: inbox.Wake(), run: func(r *inbox.Run) { r.WakeAt = now.Add(-time.Minute + time.Millisecond) }},
		"wake, when the present wake is just old enough": {move: inbox.Wake(), run: func(r *inbox.Run) { r.WakeAt = now.Add(-time.Minute) }, ok: true},
		"wake, when there is none and the last was now":  {move: inbox.Wake(), run: func(r *inbox.Run) { r.Wake = ""; r.WakeAt = now }, ok: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := storeOver(t, nil)
			state := tt.move.From[len(tt.move.From)-1] // running, where the move leaves it
			run, c := ready(state, tt.move.Name), change()
			if tt.move.Name == inbox.MoveAcquire {
				c.Token = "token-2"
			}
			if tt.run != nil {
				tt.run(&run)
			}
			if tt.with != nil {
				tt.with(&c)
			}
			if strings.Contains(name, "the very worker") {
				c.Token = "token-1"
			}
			has(t, s, run)
			_, err := s.Move(t.Context(), key, tt.move, c)
			if _, refused := errors.AsType[*inbox.Refused](err); refused == tt.ok || !refused && err != nil {
				t.Errorf("error %v, want it to be made: %v", err, tt.ok)
			}
		})
	}
}

// fresh is a run as a claim leaves it: no lease, no attempt, its first wake.
func fresh(r *inbox.Run) {
	state := r.State
	*r = newRun().Start("wake-1")
	r.State, r.WakeAt = state, now.Add(-time.Hour)
}

func liveLease(r *inbox.Run)     { r.LeaseExpiresAt = now.Add(time.Hour) }
func retried(c *inbox.Change)    { c.Record, c.Wake = "record-1", "wake-0" }
func otherToken(c *inbox.Change) { c.Token = "token-9" }
func wakeOf(r inbox.Run) string  { return r.Wake }
func noLease(r *inbox.Run)       { r.LeaseToken, r.LeaseExpiresAt, r.LeaseRecord = "", time.Time{}, "" }
func noWake(r *inbox.Run)        { r.Wake, r.WakeAt = "", time.Time{} }
func progressed(r *inbox.Run) {
	c := change()
	r.Place, r.Counters, r.Attempts = c.Place, c.Counters, c.Attempts
}

func restarted(r *inbox.Run) {
	c := change()
	r.State, r.Wake, r.WakeAt, r.WakeCount, r.Attempts, r.Place = inbox.StatePending, "wake-2", now, 0, 0, inbox.StartPlace()
	r.Cause, r.NextAttemptAt, r.EndedAt, r.TTL, r.Open, r.OpenSince, r.Operation = nil, time.Time{}, time.Time{}, 0, "open", now, &c.Operation
}

func TestWhatAMoveWrites(t *testing.T) {
	t.Parallel()
	c := change()
	tests := map[string]struct {
		move inbox.Move
		from inbox.State
		want func(*inbox.Run) // applied to the run before
	}{
		"acquire": {inbox.Acquire(), inbox.StatePending, func(r *inbox.Run) {
			r.State, r.Attempts, r.Slices, r.StartedAt = inbox.StateRunning, 4, 1, now
			r.LeaseToken, r.LeaseExpiresAt, r.LeaseRecord = "token-1", now.Add(90*time.Second), "record-2"
			noWake(r)
			r.WakeCount, r.NextAttemptAt = 0, time.Time{}
		}},
		"checkpoint": {inbox.Checkpoint(), inbox.StateRunning, func(r *inbox.Run) {
			progressed(r)
			noWake(r) // set by the sweeper while the lease had run out
			r.LeaseExpiresAt = c.LeaseExpiresAt
		}},
		"yield": {inbox.Yield(), inbox.StateRunning, func(r *inbox.Run) {
			progressed(r)
			noLease(r)
			r.State, r.Wake, r.WakeAt = inbox.StatePending, "wake-2", now
		}},
		"park": {inbox.Park(), inbox.StateRunning, func(r *inbox.Run) {
			progressed(r)
			noLease(r)
			noWake(r)
			r.State, r.LastError, r.NextAttemptAt = inbox.StatePending, &c.Err, c.NextAttemptAt
		}},
		"complete": {inbox.Complete(), inbox.StateRunning, func(r *inbox.Run) {
			progressed(r)
			noLease(r)
			noWake(r)
			r.State, r.EndedAt, r.TTL, r.Open, r.OpenSince = inbox.StateDone, now, c.TTL, "", time.Time{}
		}},
		"fail": {inbox.Fail(), inbox.StateRunning, func(r *inbox.Run) {
			progressed(r)
			noLease(r)
			noWake(r)
			r.State, r.EndedAt, r.LastError, r.Open, r.OpenSince = inbox.StateFailed, now, &c.Err, "failed", now
		}},
		"give up": {inbox.GiveUp(), inbox.StatePending, func(r *inbox.Run) {
			noLease(r)
			noWake(r)
			r.Cause = r.LastError
			r.State, r.EndedAt, r.LastError, r.Open, r.OpenSince = inbox.StateFailed, now, &c.Err, "failed", now
		}},
		"retry": {inbox.Retry(), inbox.StateFailed, func(r *inbox.Run) {
			restarted(r)
		}},
		"release of a dry run": {inbox.Release(), inbox.StateDone, func(r *inbox.Run) {
			restarted(r)
			r.Mode, r.Counters = "", inbox.Counters{}
		}},
		"dismiss": {inbox.Dismiss(), inbox.StateRunning, func(r *inbox.Run) {
			noLease(r)
			noWake(r)
			r.State, r.EndedAt, r.TTL, r.Open, r.OpenSince, r.Operation = inbox.StateDismissed, now, c.TTL, "", time.Time{}, &c.Operation
		}},
		"wake leaves a present wake as it is": {inbox.Wake(), inbox.StatePending, func(r *inbox.Run) {
			r.WakeAt, r.WakeCount = now, 3
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := storeOver(t, nil)
			run := ready(tt.from, tt.move.Name)
			has(t, s, run)
			got, err := s.Move(t.Context(), key, tt.move, change())
			if err != nil {
				t.Fatal(err)
			}
			want := run
			tt.want(&want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, stored(t, s)); diff != "" {
				t.Errorf("item (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheFirstAcquirePinsTheMode(t *testing.T) {
	t.Parallel()
	first, _ := storeOver(t, nil)
	fresh := ready(inbox.StatePending, inbox.MoveAcquire)
	fresh.Mode = ""
	has(t, first, fresh)
	if got, err := first.Move(t.Context(), key, inbox.Acquire(), change()); err != nil || got.Mode != inbox.ModeDelete {
		t.Errorf("mode %q, error %v, want delete", got.Mode, err)
	}

	s, _ := storeOver(t, nil)
	run := ready(inbox.StatePending, inbox.MoveAcquire)
	run.Mode, run.StartedAt = inbox.ModeDryRun, now.Add(-time.Hour)
	has(t, s, run)
	got, err := s.Move(t.Context(), key, inbox.Acquire(), change())
	if err != nil || got.Mode != inbox.ModeDryRun || !got.StartedAt.Equal(run.StartedAt) {
		t.Errorf("mode %s started at %s, error %v: a later acquire changed them", got.Mode, got.StartedAt, err)
	}
}

func TestAWakeWhereThereIsNoneIsSet(t *testing.T) {
	t.Parallel()
	s, _ := storeOver(t, nil)
	run := ready(inbox.StatePending, inbox.MoveWake)
	noWake(&run)
	has(t, s, run)
	if got, err := s.Move(t.Context(), key, inbox.Wake(), change()); err != nil || wakeOf(got) != "wake-2" {
		t.Errorf("wake %q, error %v, want wake-2", got.Wake, err)
	}
}

func TestACheckpointWithoutAnExpiryLeavesTheLease(t *testing.T) {
	t.Parallel()
	s, _ := storeOver(t, nil)
	has(t, s, ready(inbox.StateRunning, inbox.MoveCheckpoint))
	c := change()
	c.LeaseExpiresAt = time.Time{}
	if got, err := s.Move(t.Context(), key, inbox.Checkpoint(), c); err != nil || !got.LeaseExpiresAt.Equal(now) {
		t.Errorf("lease until %s, error %v, want it unchanged at %s", got.LeaseExpiresAt, err, now)
	}
}

func TestAMoveOfAMissingRunIsRefusedAndMakesNone(t *testing.T) {
	t.Parallel()
	s, _ := storeOver(t, nil)
	for _, m := range inbox.Moves() {
		if len(m.From) == 0 {
			continue
		}
		_, err := s.Move(t.Context(), key, m, change())
		if refused, ok := errors.AsType[*inbox.Refused](err); !ok || refused.Run != nil {
			t.Errorf("%s: %v, want a refusal without a run", m.Name, err)
		}
	}
	if run, err := s.Run(t.Context(), key); run != nil || err != nil {
		t.Errorf("there is a run now: %+v, %v", run, err)
	}
}

func TestAMoveWithoutAValueThatItNeedsIsAnErrorBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	s, _ := storeOver(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("something was sent") })
	})
	for _, m := range inbox.Moves() {
		if _, err := s.Move(t.Context(), key, m, inbox.Change{}); err == nil || errors.Is(err, inbox.ErrUnavailable) {
			t.Errorf("%s: %v, want an error of the caller", m.Name, err)
		}
	}
}

func TestAConflictWithATransactionIsRetriedAndThenUnavailable(t *testing.T) {
	t.Parallel()
	conflicts := func(n int) (*dynamostore.Store, *int) {
		calls := new(int)
		s, _ := storeOver(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") {
					if *calls++; *calls <= n {
						fault(w, "TransactionConflictException", "")
						return
					}
				}
				next.ServeHTTP(w, r)
			})
		})
		has(t, s, ready(inbox.StateRunning, inbox.MoveYield))
		return s, calls
	}
	s, calls := conflicts(4)
	if _, err := s.Move(t.Context(), key, inbox.Yield(), change()); err != nil || *calls != 5 {
		t.Errorf("after %d calls: %v, want success at the fifth", *calls, err)
	}
	s, calls = conflicts(5)
	if _, err := s.Move(t.Context(), key, inbox.Yield(), change()); !errors.Is(err, inbox.ErrUnavailable) || *calls != 5 {
		t.Errorf("after %d calls: %v, want unavailable after five", *calls, err)
	}
}

func fault(w http.ResponseWriter, typ, more string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"m"%s}`, typ, more)
}
