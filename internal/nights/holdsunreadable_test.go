package nights_test

import (
	"slices"
	"testing"
	"time"

	"custody/internal/inbox"
)

// holdsUnreadable: the cleanup role has lost the holds table, and on another night the table does not answer.
func holdsUnreadable() night {
	holds := func(w *world) call {
		return call{function: "cleanup", operation: "Query", table: w.stack.Setting("CUSTODY_HOLDS_TABLE")}
	}
	// Of the two requests for holds that are made at once, one fails: how often the SDK repeats two that fail is up to chance, and its
	// words are on the page.
	ofTheScope := func(w *world) call {
		c := holds(w)
		c.about = `"warehouse:wh-17"`
		return c
	}
	kept := numbered("pod/wh-17/2026-05/case-", 2)
	all := slices.Concat(kept, numbered("pod/wh-17/2026-05/", 5), numbered("pod/wh-17/2026-07/", 2))
	parked := func(attempts int) func(inbox.Run) bool {
		return func(r inbox.Run) bool {
			return r.State == inbox.StatePending && r.Attempts == attempts && !r.NextAttemptAt.IsZero()
		}
	}
	return night{
		settings: map[string]string{"CUSTODY_WAKE_AFTER": "2m"},
		arrange: func(t *testing.T, w *world) {
			w.put(t, "2026-05-10", kept...)
			w.put(t, "2026-05-20", numbered("pod/wh-17/2026-05/", 5)...)
			w.put(t, "2026-07-20", numbered("pod/wh-17/2026-07/", 2)...)
			w.shell.types(t, "custody hold add dispute-991 --scope warehouse:wh-17 --prefix pod/wh-17/2026-05/case- --reason dispute_evidence --by alice")
			w.denied(holds(w))
			w.accepted(t, "d-1", "r-1", "2026-07-01T00:00:00Z")
			w.until(t, "r-1", "is parked", parked(1))
			// The longest that each attempt waits for the next one: two hours and three minutes in all.
			for i, wait := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour} {
				w.passes(t, wait)
				w.until(t, "r-1", "is parked again", parked(i+2))
			}
		},
		events: map[string]func(*testing.T, *world){
			"the policy is put back": func(t *testing.T, w *world) {
				w.left(t, slices.Clone(all)...)
				w.db.open()
			},
			"an hour passes": func(t *testing.T, w *world) {
				w.passes(t, time.Hour)
				w.until(t, "r-1", "is done", in(inbox.StateDone))
			},
			"DynamoDB has an outage, and a delivery comes": func(t *testing.T, w *world) {
				w.put(t, "2026-05-21", "pod/wh-17/2026-05/late")
				w.outOfOrder(ofTheScope(w))
				w.accepted(t, "d-2", "r-2", "2026-07-01T00:00:00Z")
				w.until(t, "r-2", "is parked", parked(1))
				w.left(t, slices.Concat(kept, []string{"pod/wh-17/2026-05/late"}, numbered("pod/wh-17/2026-07/", 2))...)
			},
			"DynamoDB answers again, and a minute passes": func(t *testing.T, w *world) {
				w.db.open()
				w.passes(t, time.Minute)
				w.until(t, "r-2", "is done", in(inbox.StateDone))
			},
		},
		after: func(t *testing.T, w *world) {
			w.left(t, slices.Concat(kept, numbered("pod/wh-17/2026-07/", 2))...)
		},
	}
}
