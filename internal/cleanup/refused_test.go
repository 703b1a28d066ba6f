package cleanup_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

func TestVersionsThatS3RefusesDoNotStopTheOthersAndFailTheRunAtTheEndOfTheScan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stuck := w.put("pod/wh-17/b")
	over := w.put("pod/wh-17/b")
	for _, k := range []string{"pod/wh-17/a", "pod/wh-17/c"} {
		w.put(k)
	}
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if operation(r) != "delete" {
			w.objects.ServeHTTP(rw, r)
			return
		}
		refuse(w, rw, r, stuck, "AccessDenied")
	})
	got := w.deliver(t.Context(), "rec-1", wake)
	if got.Outcome != inbox.SliceFailed || got.Category != inbox.CategoryVersionsRefused {
		t.Fatalf("the slice ended as %s %s: %s", got.Outcome, got.Category, got.Problem)
	}
	want := []string{"pod/wh-17/b " + over, "pod/wh-17/b " + stuck}
	slices.Sort(want)
	left := w.left()
	slices.Sort(left)
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left in the bucket (-want +got):\n%s", diff)
	}
	run := w.run()
	if diff := cmp.Diff(run.Place.Refused, got.RefusedVersions); diff != "" || got.Refused != 1 {
		t.Errorf("%d refused in the log's line (-item +line):\n%s", got.Refused, diff)
	}
	if diff := cmp.Diff([]inbox.RefusedVersion{{Key: "pod/wh-17/b", VersionID: stuck, Code: "AccessDenied"}}, run.Place.Refused); diff != "" {
		t.Errorf("refused versions of the item (-want +got):\n%s", diff)
	}
	if run.State != inbox.StateFailed || run.Open != "failed" || run.LastError == nil || run.LastError.Category != inbox.CategoryVersionsRefused {
		t.Errorf("the run is %+v, want failed, in the index's partition failed, with its category", run)
	}
}

// refuse lets the engine answer for all but one version, and adds an error for that one.
func refuse(w *world, rw http.ResponseWriter, r *http.Request, id, code string) {
	body, _ := io.ReadAll(r.Body)
	object := entry(string(body), id)
	if object == "" {
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.objects.ServeHTTP(rw, r)
		return
	}
	for _, v := range w.listing() {
		if entry(string(body), v.ID) != "" && v.ID != id {
			w.remove(v.Key, v.ID)
		}
	}
	fmt.Fprint(rw, "<DeleteResult>")
	for rest := string(body); ; {
		_, after, found := strings.Cut(rest, "<Object>")
		if !found {
			break
		}
		one, tail, _ := strings.Cut(after, "</Object>")
		rest = tail
		if one == object {
			fmt.Fprintf(rw, "<Error>%s<Code>%s</Code><Message>m</Message></Error>", one, code)
			continue
		}
		fmt.Fprintf(rw, "<Deleted>%s</Deleted>", one)
	}
	fmt.Fprint(rw, "</DeleteResult>")
}

// entry is the inside of the Object element of a delete request that names the version.
func entry(body, id string) string {
	for one := range strings.SplitSeq(body, "<Object>") {
		inside, _, _ := strings.Cut(one, "</Object>")
		if strings.Contains(inside, "<VersionId>"+id+"</VersionId>") {
			return inside
		}
	}
	return ""
}

func TestAVersionThatS3AsksToSendAgainIsSentAgainByHoldsThatAreReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	slow := w.put("pod/wh-17/slow")
	w.put("pod/wh-17/quick")
	held := w.put("pod/wh-17/held-meanwhile")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	first := true
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if operation(r) != "delete" || !first {
			w.objects.ServeHTTP(rw, r)
			return
		}
		first = false
		w.hold(map[string]any{"scope": scope, "hold_id": "late", "key": "pod/wh-17/slow", "reason": "legal_hold"})
		refuse(w, rw, r, slow, "SlowDown")
	})
	got := w.deliver(t.Context(), "rec-1", wake)
	if got.Outcome != inbox.SliceCompleted {
		t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	if diff := cmp.Diff([]string{"pod/wh-17/slow " + slow}, w.left()); diff != "" {
		t.Errorf("left in the bucket (-want +got):\n%s", diff)
	}
	_ = held
}

func TestAPassingErrorParksTheRunAndTheNextSliceGoesOnFromItsPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 2500 {
		w.put(fmt.Sprintf("pod/wh-17/%04d", i))
	}
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.set.DeleteConcurrency = 1
	deletes := 0
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if operation(r) == "delete" {
			if deletes++; deletes > 1 {
				fail(w, "delete", 503, "SlowDown")(rw, r)
				return
			}
		}
		w.objects.ServeHTTP(rw, r)
	})
	got := w.deliver(t.Context(), "rec-1", wake)
	if got.Outcome != inbox.SliceParked || got.Category != inbox.CategoryThrottled || got.Deleted != 1000 {
		t.Fatalf("the slice ended as %s %s with %d deleted: %s", got.Outcome, got.Category, got.Deleted, got.Problem)
	}
	run := w.run()
	if run.State != inbox.StatePending || run.Place.Key != "pod/wh-17/0999" || run.Wake != "" || run.Attempts != 0 {
		t.Fatalf("the run is %+v, want pending behind key 0999, without a wake, with no attempt counted", run)
	}
	if wait := run.NextAttemptAt.Sub(later); wait < 30*time.Second || wait > time.Hour {
		t.Errorf("the next attempt is in %s, want 30 s to 1 h", wait)
	}

	w.answer(nil)
	var firstMarker string
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if operation(r) == "versions" && firstMarker == "" {
			firstMarker = r.URL.Query().Get("key-marker")
		}
		w.objects.ServeHTTP(rw, r)
	})
	if early := w.wake(later); early {
		t.Fatal("a parked run was woken before its next attempt was due")
	}
	w.at(run.NextAttemptAt)
	if !w.wake(run.NextAttemptAt) {
		t.Fatal("a due run could not be woken")
	}
	if got := w.deliver(t.Context(), "rec-2", w.run().Wake); got.Outcome != inbox.SliceCompleted {
		t.Fatalf("the second slice ended as %s: %s", got.Outcome, got.Problem)
	}
	if firstMarker != "pod/wh-17/0999" {
		t.Errorf("the second slice listed behind %q, want pod/wh-17/0999", firstMarker)
	}
	if run := w.run(); run.Counters.Deleted != 2500 || run.Slices != 2 {
		t.Errorf("%d deleted in %d slices, want 2500 in 2", run.Counters.Deleted, run.Slices)
	}
}
