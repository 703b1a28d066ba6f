package operator_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/operator"
	"custody/internal/retention"
)

// Who gives up what has failed does not mean what somebody has just started again.
func TestActIsRefusedWhereTheRunHasMovedOnSinceItWasLookedAt(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		move        string
		seen, there inbox.State
		want        string // of the refusal; "" where it is made
	}{
		"a failed run that failed":    {inbox.MoveDismiss, inbox.StateFailed, inbox.StateFailed, ""},
		"a pending run that runs now": {inbox.MoveDismiss, inbox.StatePending, inbox.StateRunning, ""},
		"a running run that yielded":  {inbox.MoveDismiss, inbox.StateRunning, inbox.StatePending, ""},
		"a failed run that was retried": {inbox.MoveDismiss, inbox.StateFailed, inbox.StatePending,
			"dismiss refused: cleanup.run/r-1 is pending, which it was not when it was looked at"},
		"a running run that failed": {inbox.MoveDismiss, inbox.StateRunning, inbox.StateFailed,
			"dismiss refused: cleanup.run/r-1 is failed, which it was not when it was looked at"},
		"a run that is done by now": {inbox.MoveDismiss, inbox.StateRunning, inbox.StateDone,
			"dismiss refused: cleanup.run/r-1 is done, in delete mode; only a run that has not ended can be dismissed"},
		"a retry of what never failed": {inbox.MoveRetry, inbox.StatePending, inbox.StatePending,
			"retry refused: cleanup.run/r-1 is pending; only a failed run can be retried"},
		"a retry": {inbox.MoveRetry, inbox.StateFailed, inbox.StateFailed, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.has(t, runIn(test.there))
			_, err := w.Act(t.Context(), test.move, runIn(test.seen), "alice", "because")
			if text(err) != test.want {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if moved := w.stored(t).Operation != nil; moved != (test.want == "") {
				t.Errorf("moved %v", moved)
			}
		})
	}
}

func TestActChecksLikeTheMovesThemselves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.has(t, runIn(inbox.StateFailed))
	for want, call := range map[string]func() error{
		"reason is empty: whoever looks at a dismissed run wants to know why": func() error {
			_, err := w.Act(t.Context(), inbox.MoveDismiss, runIn(inbox.StateFailed), "alice", " ")
			return err
		},
		`move is "acquire", it must be retry, release or dismiss`: func() error {
			_, err := w.Act(t.Context(), inbox.MoveAcquire, runIn(inbox.StateFailed), "alice", "because")
			return err
		},
	} {
		if err := call(); text(err) != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestARefusalNamesWhoStartedTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.has(t, runIn(inbox.StateFailed))
	if _, err := w.Retry(t.Context(), key, "alice", ""); err != nil {
		t.Fatal(err)
	}
	_, err := w.Retry(t.Context(), key, "bob", "")
	if want := "retry refused: cleanup.run/r-1 is pending, after the retry by alice at 2026-11-30T12:00:00Z; only a failed run can be retried"; text(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestTheRunOfADelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// A run whose key is another's delivery id: by the delivery alone there is no doubt.
	other := runIn(inbox.StatePending)
	other.Key, other.DeliveryID = "d-1", "d-2"
	w.has(t, runIn(inbox.StatePending), other)
	found, err := w.RunOf(t.Context(), "d-1")
	if err != nil || found.Run.Key != "r-1" || found.Delivery == nil {
		t.Errorf("found %+v, error %v", found, err)
	}
	_, err = w.RunOf(t.Context(), "r-1")
	if _, missing := errors.AsType[*operator.NotFoundError](err); !missing || text(err) != `no delivery "r-1": looked up item delivery#r-1` {
		t.Errorf("error %v", err)
	}
	origin, err := w.Origin(t.Context(), found.Run)
	if err != nil || origin == nil || origin.ID != "d-1" {
		t.Errorf("origin %+v, error %v", origin, err)
	}
	gone := found.Run
	gone.DeliveryID = "d-9"
	if origin, err := w.Origin(t.Context(), gone); origin != nil || err != nil {
		t.Errorf("origin of a delivery that has expired %+v, error %v", origin, err)
	}
}

func TestAHoldAndABrakeAreShownBeforeTheyGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	row := retention.Row{Hold: retention.Hold{Scope: "*", ID: "case-4", Key: "k", Reason: retention.ReasonOther}, By: "alice"}
	if _, _, err := w.AddHold(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	got, err := w.Hold(t.Context(), "*", "case-4")
	if err != nil || got.Key != "k" {
		t.Errorf("%+v, error %v", got, err)
	}
	_, err = w.Hold(t.Context(), "*", "case-5")
	if want := "no hold case-5 of *: looked up row case-5 of scope *"; text(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := w.Hold(t.Context(), "wh-17", "case-5"); !strings.HasPrefix(text(err), `scope is "wh-17"`) {
		t.Errorf("error %v", err)
	}
	_, err = w.Brake(t.Context(), "*")
	if want := "no brake to lift for *: looked up row custody-stop of scope *"; text(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, _, err := w.Stop(t.Context(), "*", "alice", "incident"); err != nil {
		t.Fatal(err)
	}
	if brake, err := w.Brake(t.Context(), "*"); err != nil || brake.Note != "incident" {
		t.Errorf("%+v, error %v", brake, err)
	}
	if diff := cmp.Diff(time.Time{}, got.ExpiresAt); diff != "" {
		t.Error(diff)
	}
}

// A tired person follows what Heading says.
func TestEveryHeadingIsOneOfTheRunbook(t *testing.T) {
	t.Parallel()
	runbook, err := os.ReadFile(filepath.Join("..", "..", operator.Runbook))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range inbox.Categories() {
		file, anchor, _ := strings.Cut(operator.Heading(c), "#")
		if file != operator.Runbook || !strings.Contains(string(runbook), "\n### "+anchor+"\n") {
			t.Errorf("%s leads nowhere", operator.Heading(c))
		}
	}
}
