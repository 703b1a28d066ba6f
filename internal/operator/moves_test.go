package operator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/operator"
)

type moveFunc func(o *operator.Operator, ctx context.Context, key inbox.RunKey, by, reason string) (inbox.Run, error)

func moveFuncs() map[string]moveFunc {
	return map[string]moveFunc{
		inbox.MoveRetry: (*operator.Operator).Retry, inbox.MoveRelease: (*operator.Operator).Release, inbox.MoveDismiss: (*operator.Operator).Dismiss,
	}
}

// What Moves offers is what the store takes: for every move, state and mode.
func TestMovesOffersExactlyWhatTheStoreTakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, make := range moveFuncs() {
		for _, state := range inbox.States() {
			for _, mode := range []inbox.Mode{"", inbox.ModeDelete, inbox.ModeDryRun} {
				t.Run(fmt.Sprintf("%s from %s in mode %q", name, state, mode), func(t *testing.T) {
					t.Parallel()
					run := runIn(state)
					for _, offered := range operator.Moves(run) {
						if moveFuncs()[offered] == nil {
							t.Errorf("offered is %s, which is no operator's move", offered)
						}
					}
					run.Mode, run.Key = mode, fmt.Sprintf("%s-%s-%s", name, state, mode)
					run.DeliveryID = run.Key
					w.has(t, run)
					after, err := make(w.Operator, t.Context(), run.RunKey(), "alice", "because")
					if !slices.Contains(operator.Moves(run), name) {
						refused, ok := errors.AsType[*operator.RefusedError](err)
						if !ok || refused.Move != name || refused.Run.State != state {
							t.Errorf("error %v, want a refusal that names the state", err)
						}
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					want := inbox.Operation{Move: name, By: "alice", Reason: "because", At: now}
					if diff := cmp.Diff(&want, after.Operation); diff != "" {
						t.Errorf("who did it (-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}

func TestMovesSayWithWhichStateTheyMet(t *testing.T) {
	t.Parallel()
	dry, deleted, dismissed := runIn(inbox.StateDone), runIn(inbox.StateDone), runIn(inbox.StateDismissed)
	dry.Mode, deleted.Mode = inbox.ModeDryRun, inbox.ModeDelete
	dismissed.Operation = &inbox.Operation{Move: "dismiss", By: "bob", Reason: "wrong cutoff", At: now}
	for sentence, test := range map[string]struct {
		move string
		run  inbox.Run
		want string
	}{
		"retry of a run that runs": {inbox.MoveRetry, runIn(inbox.StateRunning),
			"retry refused: cleanup.run/r-1 is running; only a failed run can be retried"},
		"retry of a dry run": {inbox.MoveRetry, dry,
			"retry refused: cleanup.run/r-1 is done, after a dry run; only a failed run can be retried"},
		"release of a run that deleted": {inbox.MoveRelease, deleted,
			"release refused: cleanup.run/r-1 is done, in delete mode; only a recorded run, or one that is done after a dry run, can be released"},
		"dismiss of a run that is dismissed": {inbox.MoveDismiss, dismissed,
			"dismiss refused: cleanup.run/r-1 is dismissed, by bob (wrong cutoff); only a run that has not ended can be dismissed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.has(t, test.run)
			if _, err := moveFuncs()[test.move](w.Operator, t.Context(), key, "alice", "because"); text(err) != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

func TestRetryStartsAsIfTheRunHadJustBeenClaimed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := runIn(inbox.StateFailed)
	run.Attempts, run.Slices, run.Mode = 12, 20, inbox.ModeDelete
	run.Place = inbox.Place{Scan: 3, Prefix: 1, Key: "k", Deleted: true, Retained: map[string]int64{"legal_hold": 1}, Refused: []inbox.RefusedVersion{}}
	w.has(t, run)
	after, err := w.Retry(t.Context(), key, "alice", "")
	if err != nil {
		t.Fatal(err)
	}
	if after.State != inbox.StatePending || after.Wake != "wake-2" || after.Attempts != 0 || !after.OpenSince.Equal(now) {
		t.Errorf("the run is %+v", after)
	}
	if diff := cmp.Diff(inbox.StartPlace(), after.Place); diff != "" {
		t.Errorf("place (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(w.stored(t), after); diff != "" {
		t.Errorf("what came back is not what is stored (-stored +got):\n%s", diff)
	}
}

func TestDismissedItemsExpireAfterTheRetention(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.has(t, runIn(inbox.StateFailed))
	after, err := w.Dismiss(t.Context(), key, "alice", "no use")
	if err != nil {
		t.Fatal(err)
	}
	if want := now.Add(90 * 24 * time.Hour).Unix(); after.TTL != want || after.Open != "" {
		t.Errorf("TTL %d, want %d; index partition %q", after.TTL, want, after.Open)
	}
}

// lossy makes the move and loses its answer; the SDK then makes it again.
type lossy struct{ operator.Inbox }

func (l lossy) Move(ctx context.Context, key inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error) {
	if _, err := l.Inbox.Move(ctx, key, m, c); err != nil {
		return inbox.Run{}, err
	}
	return l.Inbox.Move(ctx, key, m, c)
}

func TestAMoveWhoseAnswerWasLostIsKnownAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.has(t, runIn(inbox.StateFailed))
	w.Inbox = lossy{w.Inbox}
	after, err := w.Retry(t.Context(), key, "alice", "mended")
	if err != nil || after.State != inbox.StatePending {
		t.Errorf("state %s, error %v", after.State, err)
	}
	w.Inbox = w.store
	// What differs in anything is not ours.
	for sentence, test := range map[string]struct {
		move       moveFunc
		by, reason string
		later      time.Duration
	}{
		"of another person":    {(*operator.Operator).Retry, "bob", "mended", 0},
		"for another reason":   {(*operator.Operator).Retry, "alice", "tried again", 0},
		"a millisecond later":  {(*operator.Operator).Retry, "alice", "mended", time.Millisecond},
		"which is another one": {(*operator.Operator).Release, "alice", "mended", 0},
	} {
		w.Now = func() time.Time { return now.Add(test.later) }
		if _, err := test.move(w.Operator, t.Context(), key, test.by, test.reason); err == nil {
			t.Errorf("a second move %s was taken for the first", sentence)
		}
	}
}

// lateAgain makes the move and loses its answer; the SDK makes it again when the run has come to its next end.
type lateAgain struct {
	operator.Inbox
	end func()
}

func (l lateAgain) Move(ctx context.Context, key inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error) {
	if _, err := l.Inbox.Move(ctx, key, m, c); err != nil {
		return inbox.Run{}, err
	}
	l.end()
	return l.Inbox.Move(ctx, key, m, c)
}

func TestARepetitionBehindTheNextEndStartsNothing(t *testing.T) {
	t.Parallel()
	for move, ended := range map[string]inbox.State{inbox.MoveRetry: inbox.StateFailed, inbox.MoveRelease: inbox.StateDone} {
		t.Run(move, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run := runIn(ended)
			run.Mode = inbox.ModeDryRun
			w.has(t, run)
			w.Inbox = lateAgain{w.Inbox, func() { w.slice(t, ended) }}
			after, err := moveFuncs()[move](w.Operator, t.Context(), key, "alice", "mended")
			if err != nil || after.State != ended || after.Operation == nil || after.Operation.By != "alice" {
				t.Errorf("%+v, error %v", after, err)
			}
			if got := w.stored(t); got.State != ended || got.Wake != "" {
				t.Errorf("the run was started once more: %+v", got)
			}
			// Another one, a moment later, is meant.
			w.Inbox = w.store
			w.Now = func() time.Time { return now.Add(time.Millisecond) }
			if after, err := moveFuncs()[move](w.Operator, t.Context(), key, "alice", "mended"); err != nil || after.State != inbox.StatePending {
				t.Errorf("%+v, error %v", after, err)
			}
		})
	}
}

// slice works the run to its end, as a dry run.
func (w *world) slice(t *testing.T, end inbox.State) {
	t.Helper()
	c := inbox.Change{
		Now: now, Token: "t", LeaseExpiresAt: now.Add(time.Minute), Record: "1", Wake: "wake-2", Ceiling: 12, Mode: inbox.ModeDryRun,
		Place: inbox.StartPlace(), TTL: 7, Err: inbox.LastError{Category: inbox.CategoryAccessDenied, Message: "no", At: now},
	}
	last := inbox.Complete()
	if end == inbox.StateFailed {
		last = inbox.Fail()
	}
	for _, m := range []inbox.Move{inbox.Acquire(), last} {
		if _, err := w.store.Move(t.Context(), key, m, c); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMovesAreCheckedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct{ by, reason, want string }{
		"nobody":                         {"", "why", "by is empty: who did it is kept in the run"},
		"no reason":                      {"alice", " \t", "reason is empty: whoever looks at a dismissed run wants to know why"},
		"a name that steers a terminal":  {"al\x1b[2Jice", "why", `by is "al\x1b[2Jice", it must be one line of printable UTF-8`},
		"a reason of two lines":          {"alice", "a\nb", `reason is "a\nb", it must be one line of printable UTF-8`},
		"a reason that is not UTF-8":     {"alice", "a\xff", `reason is "a\xff", it must be one line of printable UTF-8`},
		"a name that is too long":        {strings.Repeat("a", 129), "why", "by has 129 bytes, at most 128 are allowed"},
		"a reason that is too long":      {"alice", strings.Repeat("a", 1001), "reason has 1001 bytes, at most 1000 are allowed"},
		"a name and a reason, both long": {strings.Repeat("a", 129), strings.Repeat("a", 1001), "by has 129 bytes, at most 128 are allowed\nreason has 1001 bytes, at most 1000 are allowed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before := runIn(inbox.StateFailed)
			w.has(t, before)
			_, err := w.Dismiss(t.Context(), key, test.by, test.reason)
			if _, ok := errors.AsType[*operator.InvalidError](err); !ok || text(err) != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
			if diff := cmp.Diff(before, w.stored(t)); diff != "" {
				t.Errorf("the item changed:\n%s", diff)
			}
		})
	}
}

func TestAMoveOfARunThatIsGoneOrOfAStoreThatIsDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Retry(t.Context(), key, "alice", "")
	if _, missing := errors.AsType[*operator.NotFoundError](err); !missing || text(err) != "no run cleanup.run/r-1: looked up item run#cleanup.run#r-1" {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Retry(ctx, key, "alice", ""); !errors.Is(err, inbox.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}
