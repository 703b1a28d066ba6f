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

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// cutoff of the runs: versions that the world writes at day are expired.
var cutoff = day.Add(time.Hour)

// later is when the worker works: every version is old, and the cutoff lies behind.
var later = day.Add(48 * time.Hour)

func (w *world) answer(f http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onS3 = f
}

// before calls f before each request of the operation reaches the engine.
func (w *world) before(op string, f func()) {
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if operation(r) == op {
			f()
		}
		w.objects.ServeHTTP(rw, r)
	})
}

// once makes a function that acts the first time only.
func once(f func()) func() {
	done := false
	return func() {
		if !done {
			done = true
			f()
		}
	}
}

func (w *world) asked(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, r := range w.requests {
		if r == what {
			n++
		}
	}
	return n
}

// fail answers each request of the operation with a status and an S3 error code.
func fail(w *world, op string, status int, code string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if operation(r) != op {
			w.objects.ServeHTTP(rw, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		rw.WriteHeader(status)
		fmt.Fprintf(rw, "<Error><Code>%s</Code><Message>m</Message></Error>", code)
	}
}

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

func TestABucketThatCannotBeWorkedFailsTheRunAtOnce(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer func(w *world) http.HandlerFunc
		want   inbox.Category
	}{
		"versioning was never enabled": {func(w *world) http.HandlerFunc {
			return respond(w, "versioning", 200, "<VersioningConfiguration/>")
		}, inbox.CategoryVersioningOff},
		"MFA delete": {func(w *world) http.HandlerFunc {
			return respond(w, "versioning", 200, "<VersioningConfiguration><Status>Enabled</Status><MfaDelete>Enabled</MfaDelete></VersioningConfiguration>")
		}, inbox.CategoryMFADelete},
		"no such bucket": {func(w *world) http.HandlerFunc { return fail(w, "versioning", 404, "NoSuchBucket") }, inbox.CategoryNoSuchBucket},
		"access denied at the delete": {func(w *world) http.HandlerFunc {
			return fail(w, "delete", 403, "AccessDenied")
		}, inbox.CategoryAccessDenied},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put("pod/wh-17/a")
			wake := w.claim(cutoff, "pod/wh-17/")
			w.at(later)
			w.answer(tt.answer(w))
			got := w.deliver(t.Context(), "rec-1", wake)
			if got.Outcome != inbox.SliceFailed || got.Category != tt.want {
				t.Errorf("the slice ended as %s %s: %s", got.Outcome, got.Category, got.Problem)
			}
			if run := w.run(); run.State != inbox.StateFailed || run.LastError.Category != tt.want {
				t.Errorf("the run is %s with %+v", run.State, run.LastError)
			}
		})
	}
}

// respond answers each request of the operation with a body.
func respond(w *world, op string, status int, body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if operation(r) != op {
			w.objects.ServeHTTP(rw, r)
			return
		}
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, body)
	}
}

func TestNullVersionsStayWhileVersioningIsSuspended(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("pod/wh-17/a")
	w.versioning(types.BucketVersioningStatusSuspended)
	w.put("pod/wh-17/a")
	w.put("pod/wh-17/b")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	got := w.deliver(t.Context(), "rec-1", wake)
	if got.Outcome != inbox.SliceCompleted {
		t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	if diff := cmp.Diff([]string{"pod/wh-17/a null", "pod/wh-17/b null"}, w.left()); diff != "" {
		t.Errorf("left in the bucket (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"null_version": 2}, w.run().Place.Retained); diff != "" {
		t.Errorf("retained (-want +got):\n%s", diff)
	}
}
