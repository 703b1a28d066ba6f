package cleanup_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

func TestWhatIsHeldStaysAndIsCountedByItsReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.put("pod/wh-17/held")
	w.put("pod/wh-17/gone")
	disputed := w.put("pod/wh-17/disputes/1")
	everywhere := w.put("labels/wh-17/recall")
	w.hold(map[string]any{"scope": scope, "hold_id": "1", "key": "pod/wh-17/held", "reason": "legal_hold"})
	w.hold(map[string]any{"scope": scope, "hold_id": "2", "prefix": "pod/wh-17/disputes/", "reason": "dispute_evidence", "expires_at": later.Unix() + 1})
	w.hold(map[string]any{"scope": "*", "hold_id": "3", "prefix": "labels/wh-17/rec", "reason": "active_manifest"})
	w.hold(map[string]any{"scope": scope, "hold_id": "4", "key": "pod/wh-17/gone", "reason": "legal_hold", "expires_at": later.Unix()})
	w.hold(map[string]any{"scope": "warehouse:wh-1", "hold_id": "5", "prefix": "pod/", "reason": "legal_hold"})
	wake := w.claim(cutoff, "pod/wh-17/", "labels/wh-17/")
	w.at(later)
	got := w.deliver(t.Context(), "rec-1", wake)
	if got.Outcome != inbox.SliceCompleted {
		t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	want := []string{"labels/wh-17/recall " + everywhere, "pod/wh-17/disputes/1 " + disputed, "pod/wh-17/held " + old}
	if diff := cmp.Diff(want, w.left()); diff != "" {
		t.Errorf("left in the bucket (-want +got):\n%s", diff)
	}
	reasons := map[string]int64{"legal_hold": 1, "dispute_evidence": 1, "active_manifest": 1}
	if diff := cmp.Diff(reasons, w.run().Place.Retained); diff != "" {
		t.Errorf("retained in the last scan (-want +got):\n%s", diff)
	}
}

func TestAHoldThatIsPlacedAfterTheListingIsHonoured(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kept := w.put("pod/wh-17/a")
	w.put("pod/wh-17/b")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		w.objects.ServeHTTP(rw, r) // the listing is made, and shows the version as unheld
		if operation(r) == "versions" {
			w.hold(map[string]any{"scope": scope, "hold_id": "late", "key": "pod/wh-17/a", "reason": "legal_hold"})
		}
	})
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted {
		t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	if diff := cmp.Diff([]string{"pod/wh-17/a " + kept}, w.left()); diff != "" {
		t.Errorf("left in the bucket (-want +got):\n%s", diff)
	}
}

func TestWithoutReadableHoldsNothingIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("pod/wh-17/a")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.mu.Lock()
	w.onDB = func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") {
			rw.WriteHeader(500)
			return
		}
		next.ServeHTTP(rw, r)
	}
	w.mu.Unlock()
	got := w.deliver(t.Context(), "rec-1", wake)
	if got.Outcome != inbox.SliceParked || got.Category != inbox.CategoryUnavailable {
		t.Errorf("the slice ended as %s %s: %s", got.Outcome, got.Category, got.Problem)
	}
	if n := w.asked("POST delete"); n > 0 {
		t.Errorf("%d delete requests were sent", n)
	}
	if run := w.run(); run.Attempts != 1 {
		t.Errorf("%d attempts, want 1: there was no progress", run.Attempts)
	}
}

func TestTheBrakeParksTheRunAndTakesTheAttemptBack(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]map[string]any{
		"for the scope":  {"scope": scope, "hold_id": "stop", "reason": "stop"},
		"for all scopes": {"scope": "*", "hold_id": "stop", "reason": "stop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put("pod/wh-17/a")
			w.hold(row)
			wake := w.claim(cutoff, "pod/wh-17/")
			w.at(later)
			got := w.deliver(t.Context(), "rec-1", wake)
			if got.Outcome != inbox.SliceParked || got.Category != inbox.CategoryStopped {
				t.Errorf("the slice ended as %s %s: %s", got.Outcome, got.Category, got.Problem)
			}
			if run := w.run(); run.Attempts != 0 || len(w.left()) != 1 {
				t.Errorf("%d attempts and %d versions left, want 0 and 1", run.Attempts, len(w.left()))
			}
		})
	}
}

func TestAHoldThatCannotBeUnderstoodHoldsItsScope(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]map[string]any{
		"an unknown reason":               {"key": "x", "reason": "because"},
		"no reason":                       {"key": "x"},
		"neither key nor prefix":          {"reason": "legal_hold"},
		"both key and prefix":             {"key": "x", "prefix": "y", "reason": "legal_hold"},
		"a key beside a prefix, a number": {"key": "x", "prefix": int64(7), "reason": "legal_hold"},
		"a prefix beside a key, a number": {"prefix": "x", "key": int64(7), "reason": "legal_hold"},
		"a key that is a number":          {"key": int64(7), "reason": "legal_hold"},
		"an expiry that is no number":     {"key": "x", "reason": "legal_hold", "expires_at": "soon"},
		"an expiry that nobody set":       {"key": "x", "reason": "legal_hold", "expires_at": int64(0)},
		"an expiry before 1970":           {"key": "x", "reason": "legal_hold", "expires_at": int64(-62135596800)},
		"an unknown reason, not over yet": {"key": "x", "reason": "because", "expires_at": later.Unix() + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put("pod/wh-17/a")
			row["scope"], row["hold_id"] = scope, "odd"
			w.hold(row)
			wake := w.claim(cutoff, "pod/wh-17/")
			w.at(later)
			got := w.deliver(t.Context(), "rec-1", wake)
			if diff := cmp.Diff(map[string]int64{"unreadable_hold": 1}, got.Retained); got.Outcome != inbox.SliceCompleted || diff != "" {
				t.Errorf("the slice ended as %s (-want +got):\n%s", got.Outcome, diff)
			}
		})
	}
}
