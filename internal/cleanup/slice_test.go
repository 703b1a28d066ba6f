package cleanup_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// cutoff of the runs: versions that the world writes at day are expired.
var cutoff = day.Add(time.Hour)

// later is when the worker works: every version is old, and the cutoff lies behind.
var later = day.Add(48 * time.Hour)

func TestARunDeletesWhatIsExpiredAndEndsWithAnEmptyScan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone := 0
	for i := range 1300 { // two prefixes, pages and batches that cross each other's borders
		k := fmt.Sprintf("pod/wh-17/%04d.jpg", i)
		if i%2 == 0 {
			k = fmt.Sprintf("labels/wh-17/%04d.pdf", i)
		}
		w.put(k)
		gone++
		if i%3 == 0 {
			w.put(k)
			gone++
		}
		if i%5 == 0 {
			w.mark(k)
			gone++
		}
	}
	other := w.put("pod/wh-170/a.jpg")
	w.at(cutoff)
	atCutoff := w.put("pod/wh-17/at-the-cutoff.jpg")
	wake := w.claim(cutoff, "pod/wh-17/", "labels/wh-17/")
	w.at(later)

	got := w.deliver(t.Context(), "rec-1", wake)

	if got.Outcome != inbox.SliceCompleted {
		t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	if diff := cmp.Diff([]string{"pod/wh-17/at-the-cutoff.jpg " + atCutoff, "pod/wh-170/a.jpg " + other}, w.left()); diff != "" {
		t.Errorf("left in the bucket (-want +got):\n%s", diff)
	}
	run := w.run()
	if run.State != inbox.StateDone || run.Place.Scan != 2 || run.Place.Deleted || run.Open != "" || run.LeaseToken != "" || run.Wake != "" {
		t.Errorf("the run is %+v, want done by an empty second scan, out of the index, without lease and wake", run)
	}
	if run.Counters.Deleted != int64(gone) || run.Counters.Absent != 0 || run.Mode != inbox.ModeDelete {
		t.Errorf("counters %+v in mode %s, want %d deleted in mode delete", run.Counters, run.Mode, gone)
	}
	if want := later.Add(w.set.Retention).Unix(); run.TTL != want {
		t.Errorf("ttl %d, want %d", run.TTL, want)
	}
}

func TestNoOlderVersionEverBecomesCurrent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 40 {
		k := fmt.Sprintf("pod/wh-17/%02d", i)
		for range 1 + i%4 {
			w.put(k)
		}
		if i%3 == 0 {
			w.mark(k)
		}
	}
	w.hold(map[string]any{"scope": scope, "hold_id": "h", "key": "pod/wh-17/07", "reason": "dispute_evidence"})
	current := map[string]string{}
	for _, v := range w.listing() {
		if v.Currency == retention.Current {
			current[v.Key] = v.ID
		}
	}
	var risen []string
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		w.objects.ServeHTTP(rw, r)
		for _, v := range w.listing() {
			if v.Currency == retention.Current && current[v.Key] != v.ID {
				risen = append(risen, v.Key+" "+v.ID)
			}
		}
	})
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted {
		t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	if len(risen) > 0 {
		t.Errorf("older versions became current: %q", risen)
	}
	if left := len(w.left()); left != 4 {
		t.Errorf("%d versions are left, want the 4 of the held key", left)
	}
}

func TestACurrentVersionStaysOverAnotherThatStays(t *testing.T) {
	t.Parallel()
	tests := map[string]func(w *world){
		"over a version that is held": func(w *world) {
			w.put("pod/wh-17/k")
			w.put("pod/wh-17/k")
			w.hold(map[string]any{"scope": scope, "hold_id": "1", "key": "pod/wh-17/k", "reason": "legal_hold"})
		},
		"a delete marker over a version that is younger by the clock": func(w *world) {
			w.at(cutoff.Add(time.Hour))
			w.put("pod/wh-17/k")
			w.at(day)
			w.mark("pod/wh-17/k")
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			prepare(w)
			before := w.left()
			wake := w.claim(cutoff, "pod/wh-17/")
			w.at(later)
			if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted {
				t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
			}
			if diff := cmp.Diff(before, w.left()); diff != "" {
				t.Errorf("left in the bucket (-want +got):\n%s", diff)
			}
		})
	}
}

func TestANewerVersionWrittenWhileARunDeletesTheOlderSurvives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("pod/wh-17/g")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	var g43 string
	w.before("delete", once(func() { g43 = w.put("pod/wh-17/g") }))
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted {
		t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	if diff := cmp.Diff([]string{"pod/wh-17/g " + g43}, w.left()); diff != "" {
		t.Errorf("left in the bucket (-want +got):\n%s", diff)
	}
}

func TestAVersionThatSomebodyElseDeletedIsSuccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.put("pod/wh-17/a")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.before("delete", once(func() { w.remove("pod/wh-17/a", id) }))
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted || got.Refused != 0 {
		t.Fatalf("the slice ended as %s with %d refused: %s", got.Outcome, got.Refused, got.Problem)
	}
}

func TestADryRunSelectsAndDeletesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set.DeleteScopes = []string{"warehouse:wh-1"}
	w.put("pod/wh-17/a")
	w.put("pod/wh-17/a")
	w.mark("pod/wh-17/b")
	before := w.left()
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	got := w.deliver(t.Context(), "rec-1", wake)
	run := w.run()
	if got.Outcome != inbox.SliceCompleted || run.Mode != inbox.ModeDryRun || run.Place.Scan != 1 {
		t.Fatalf("the slice ended as %s in mode %s at scan %d: %s", got.Outcome, run.Mode, run.Place.Scan, got.Problem)
	}
	if diff := cmp.Diff(inbox.Counters{Selected: 3, Listed: 3}, run.Counters); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, w.left()); diff != "" || w.asked("POST delete") > 0 {
		t.Errorf("%d delete requests; left in the bucket (-want +got):\n%s", w.asked("POST delete"), diff)
	}
}

func TestARunThatAlwaysFindsMoreIsNotConverging(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("pod/wh-17/a")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.set.ScanCeiling = 3
	n := 0
	w.before("versions", func() {
		n++
		w.at(day)
		w.put(fmt.Sprintf("pod/wh-17/more-%d", n))
		w.at(later)
	})
	got := w.deliver(t.Context(), "rec-1", wake)
	if got.Outcome != inbox.SliceFailed || got.Category != inbox.CategoryNotConverging || w.run().Place.Scan != 3 {
		t.Errorf("the slice ended as %s %s in scan %d: %s", got.Outcome, got.Category, w.run().Place.Scan, got.Problem)
	}
}
