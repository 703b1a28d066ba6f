package cleanup_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/cleanup"
	"custody/internal/command"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/retention"
	"custody/internal/s3versions"
)

// judged lets the judge look behind every request of the world's run. Others act through the hands it returns.
func (w *world) judged(prefixes ...string) *staged {
	h := &worldly{world: w}
	s := &staged{others: newOthers(plan{Tags: w.set.CheckTags, Batches: w.set.DeleteConcurrency, Page: 1000}, h, w.clock, cutoff), hands: h, fresh: true}
	s.judge.prefixes = prefixes
	if w.clock().Before(later) {
		w.at(later)
	}
	s.watch()
	return s
}

func (w *world) wellJudged(s *staged) {
	w.t.Helper()
	for _, wrong := range s.judge.says {
		w.t.Error(wrong)
	}
}

func TestOneHeldVersionInTheMiddleKeepsItselfAndWhatIsCurrent(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		write func(w *world) (middle, current string)
		want  map[string]int64
	}{
		"under an object": {func(w *world) (string, string) {
			w.put("pod/wh-17/a")
			middle := w.put("pod/wh-17/a")
			w.put("pod/wh-17/a")
			return middle, w.put("pod/wh-17/a")
		}, map[string]int64{"tag": 1, "current_over_kept": 1}},
		"under a delete marker": {func(w *world) (string, string) {
			w.put("pod/wh-17/a")
			middle := w.put("pod/wh-17/a")
			w.put("pod/wh-17/a")
			return middle, w.mark("pod/wh-17/a")
		}, map[string]int64{"tag": 1, "current_over_kept": 1}},
		"over a delete marker that is the oldest": {func(w *world) (string, string) {
			w.mark("pod/wh-17/a")
			middle := w.put("pod/wh-17/a")
			return middle, w.put("pod/wh-17/a")
		}, map[string]int64{"tag": 1, "current_over_kept": 1}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.set.CheckTags = true
			middle, current := tt.write(w)
			w.tag("pod/wh-17/a", middle, "custody-hold", "true")
			wake := w.claim(cutoff, "pod/wh-17/")
			s := w.judged("pod/wh-17/")
			s.judge.marked[name{"pod/wh-17/a", middle}] = marks{tag: true}
			if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted {
				t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
			}
			if diff := cmp.Diff(versionsLeft("pod/wh-17/a "+middle, "pod/wh-17/a "+current), w.sorted()); diff != "" {
				t.Errorf("left in the bucket (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, w.run().Place.Retained); diff != "" {
				t.Errorf("retained (-want +got):\n%s", diff)
			}
			w.wellJudged(s)
		})
	}
}

func TestADeleteMarkerThatIsTheOldestGoesWithTheRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mark("pod/wh-17/a")
	w.put("pod/wh-17/a")
	w.put("pod/wh-17/a")
	w.mark("pod/wh-17/alone")
	wake := w.claim(cutoff, "pod/wh-17/")
	s := w.judged("pod/wh-17/")
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted || got.Deleted != 4 {
		t.Fatalf("the slice ended as %s with %d deleted: %s", got.Outcome, got.Deleted, got.Problem)
	}
	if left := w.left(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	w.wellJudged(s)
}

// A run that keeps everything takes one scan, and one that deletes something takes one more: what is retained is not still to do.
func TestASliceThatRetainsSomethingNeverLoopsOnIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		others  int // versions beside those that stay
		scans   int
		deletes int
	}{
		"all is retained":         {0, 1, 0},
		"some of it goes as well": {3, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.set.CheckTags = true
			w.put("pod/wh-17/held")
			tagged := w.put("pod/wh-17/tagged")
			w.tag("pod/wh-17/tagged", tagged, "custody-hold", "true")
			w.mark("pod/wh-17/tagged")
			w.hold(map[string]any{"scope": scope, "hold_id": "h", "key": "pod/wh-17/held", "reason": "legal_hold"})
			for i := range tt.others {
				w.put(fmt.Sprintf("pod/wh-17/%d", i))
			}
			wake := w.claim(cutoff, "pod/wh-17/")
			w.at(later)
			if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted {
				t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
			}
			if run := w.run(); run.Place.Scan != tt.scans || w.asked("GET versions") != tt.scans || w.asked("POST delete") != tt.deletes {
				t.Errorf("scan %d, %d listings and %d delete requests, want %d scans of one page and %d requests",
					run.Place.Scan, w.asked("GET versions"), w.asked("POST delete"), tt.scans, tt.deletes)
			}
		})
	}
}

// S3 takes a part of the request only, again and again: what is current waits over the version that is still there.
func TestWhatIsCurrentWaitsWhileOnlyAPartOfABatchSucceeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	slow := w.put("pod/wh-17/a")
	w.put("pod/wh-17/a")
	current := w.put("pod/wh-17/a")
	w.put("pod/wh-17/b")
	w.jitter = func(time.Duration) time.Duration { return 0 }
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if operation(r) != "delete" {
			w.objects.ServeHTTP(rw, r)
			return
		}
		refuse(w, rw, r, slow, "SlowDown")
	})
	got := w.deliver(t.Context(), "rec-1", wake)
	if got.Outcome != inbox.SliceParked || got.Category != inbox.CategoryThrottled {
		t.Fatalf("the slice ended as %s %s: %s", got.Outcome, got.Category, got.Problem)
	}
	left := w.sorted()
	for _, want := range []string{"pod/wh-17/a " + slow, "pod/wh-17/a " + current} {
		if !slices.Contains(left, want) {
			t.Errorf("%q is gone", want)
		}
	}
	w.at(w.run().NextAttemptAt)
	if !w.wake(w.clock()) {
		t.Fatal("a due run could not be woken")
	}
	wake = w.run().Wake
	s := w.judged("pod/wh-17/")
	if got := w.deliver(t.Context(), "rec-2", wake); got.Outcome != inbox.SliceCompleted || len(w.left()) > 0 {
		t.Errorf("the second slice ended as %s, %q are left: %s", got.Outcome, w.left(), got.Problem)
	}
	w.wellJudged(s)
}

// The process dies when the request for the current versions is on its way, or has been served: the older ones are gone already.
func TestAProcessThatDiesBetweenTheTwoRequestsOfAKeyBringsNothingBack(t *testing.T) {
	t.Parallel()
	for name, served := range map[string]bool{"before the second is served": false, "behind it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, k := range []string{"pod/wh-17/a", "pod/wh-17/b"} {
				w.put(k)
				w.put(k)
				w.mark(k)
			}
			wake := w.claim(cutoff, "pod/wh-17/")
			w.at(later)
			dead, deletes := false, 0
			w.onUpdate(func(rw http.ResponseWriter, r *http.Request, _ int, next http.Handler) {
				if dead {
					rw.WriteHeader(http.StatusInternalServerError)
					return
				}
				next.ServeHTTP(rw, r)
			})
			w.answer(func(rw http.ResponseWriter, r *http.Request) {
				if operation(r) == "delete" {
					if deletes++; deletes == 2 {
						if dead = true; served {
							w.objects.ServeHTTP(httptest.NewRecorder(), r)
						}
					}
				}
				if dead {
					rw.WriteHeader(http.StatusForbidden) // so that nothing is repeated
					return
				}
				w.objects.ServeHTTP(rw, r)
			})
			if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceUnwritten {
				t.Fatalf("the dead process ended as %s: %s", got.Outcome, got.Problem)
			}
			want := 2
			if served {
				want = 0
			}
			if left := w.left(); len(left) != want {
				t.Errorf("%q are left, want %d versions", left, want)
			}
			w.mu.Lock()
			w.onDB = nil
			w.mu.Unlock()
			s := w.judged("pod/wh-17/")
			if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted || len(w.left()) > 0 {
				t.Errorf("the retried record ended as %s, %q are left: %s", got.Outcome, w.left(), got.Problem)
			}
			w.wellJudged(s)
		})
	}
}

// While versioning was suspended, the null version that was listed gave way to a young one of the same name.
func TestANullVersionThatWasListedUnderSuspendedVersioningStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.versioning(types.BucketVersioningStatusSuspended)
	w.put("pod/wh-17/a")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		w.objects.ServeHTTP(rw, r)
		if operation(r) == "versions" {
			w.put("pod/wh-17/a")
			w.versioning(types.BucketVersioningStatusEnabled)
		}
	})
	got := w.deliver(t.Context(), "rec-1", wake)
	if got.Outcome != inbox.SliceCompleted || got.Deleted != 0 {
		t.Errorf("the slice ended as %s with %d deleted: %s", got.Outcome, got.Deleted, got.Problem)
	}
	if diff := cmp.Diff([]string{"pod/wh-17/a null"}, w.left()); diff != "" {
		t.Errorf("left in the bucket (-want +got):\n%s", diff)
	}
}

func TestANullVersionStaysWhenVersioningIsSuspendedWhileARunWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.versioning(types.BucketVersioningStatusSuspended)
	w.put("pod/wh-17/a")
	w.versioning(types.BucketVersioningStatusEnabled)
	w.put("pod/wh-17/b")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.before("versions", once(func() { w.versioning(types.BucketVersioningStatusSuspended) }))
	got := w.deliver(t.Context(), "rec-1", wake)
	if got.Outcome != inbox.SliceCompleted || got.Deleted != 1 {
		t.Errorf("the slice ended as %s with %d deleted: %s", got.Outcome, got.Deleted, got.Problem)
	}
	if diff := cmp.Diff([]string{"pod/wh-17/a null"}, w.left()); diff != "" {
		t.Errorf("left in the bucket (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"null_version": 1}, w.run().Place.Retained); diff != "" {
		t.Errorf("retained (-want +got):\n%s", diff)
	}
}

// The command of one warehouse never reaches another whose name begins like it, or a key that lacks the slash.
func TestAWarehouseNeverReachesAnotherWhoseNameBeginsLikeIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := []string{"pod/wh-1/a", "pod/wh-1//b", "pod/wh-1/wh-10/c", "labels/wh-1/d"}
	others := []string{
		"labels/wh-10/a", "labels/wh-1", "labels/wh-1.pdf", "pod/wh-1", "pod/wh-10", "pod/wh-10/a", "pod/wh-1%2Fa", "pod/wh-1-/a",
		"pod/wh-1.5/a", "pod//wh-1/a", "/pod/wh-1/a", "x/pod/wh-1/a", "pod/wh-1\\a", "pod/WH-1/a", "pod/wh-1 /a", "pod/wh-1\u2044a",
	}
	stay := []string{}
	for _, k := range own {
		w.put(k)
	}
	for _, k := range others {
		stay = append(stay, k+" "+w.put(k))
	}
	decoder, err := command.NewDecoder(command.Settings{
		Accepted: []string{command.CleanupRun}, Bucket: bucket, WarehousePrefixes: []string{"pod/{warehouse_id}/", "labels/{warehouse_id}/"},
	})
	w.must(err)
	c, err := decoder.Decode(fmt.Appendf(nil, `{"run_id":"r-1","warehouse_id":"wh-1","expired_before":%q}`, cutoff.Format(time.RFC3339)))
	w.must(err)
	w.key = c.Run
	wake := w.claim(c.Selection.Cutoff, c.Selection.Prefixes...)
	w.at(later)
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted || got.Deleted != int64(len(own)) {
		t.Fatalf("the slice ended as %s with %d deleted: %s", got.Outcome, got.Deleted, got.Problem)
	}
	if diff := cmp.Diff(versionsLeft(stay...), w.sorted()); diff != "" {
		t.Errorf("left in the bucket (-want +got):\n%s", diff)
	}
}

// The request is served and its answer lost, and a hold comes before the next try: what is gone is booked as retained, but the scan
// that took it is not the empty one.
func TestARequestWhoseAnswerIsLostIsFollowedByAnotherScan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.jitter = func(time.Duration) time.Duration { return 0 }
	w.put("pod/wh-17/a")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	lost := false
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if operation(r) == "delete" && !lost {
			lost = true
			w.objects.ServeHTTP(httptest.NewRecorder(), r)
			w.hold(map[string]any{"scope": scope, "hold_id": "late", "key": "pod/wh-17/a", "reason": "legal_hold"})
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.objects.ServeHTTP(rw, r)
	})
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted || len(w.left()) > 0 {
		t.Fatalf("the slice ended as %s, %q are left: %s", got.Outcome, w.left(), got.Problem)
	}
	if run := w.run(); run.Place.Scan != 2 || len(run.Place.Retained) > 0 {
		t.Errorf("scan %d retained %v, want a second scan that meets nothing", run.Place.Scan, run.Place.Retained)
	}
}

// sorting notes requests that hold current versions beside others.
type sorting struct {
	*s3versions.Client
	mixed atomic.Int32
}

func (s *sorting) Delete(ctx context.Context, bucket string, vs []retention.Version, before time.Time) ([]retention.Fate, error) {
	for _, v := range vs {
		if v.Currency != vs[0].Currency {
			s.mixed.Add(1)
		}
	}
	return s.Client.Delete(ctx, bucket, vs, before)
}

// A key with a single version has nothing to wait for, and must not go along with what is not current of its neighbours.
func TestCurrentVersionsGoInRequestsOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, key := range []string{"a", "b", "b", "c", "d", "d"} {
		w.put("pod/wh-17/" + key)
	}
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	bucket := &sorting{Client: s3versions.New(w.s3, "", w.clock)}
	worker := cleanup.New(w.store, dynamostore.NewHolds(w.db, "holds", slog.New(slog.DiscardHandler)), bucket, w.set, w.clock, w.newID)
	_, done := worker.Handle(t.Context(), wakeEvent(t, "rec-1", wake))
	if len(done) != 1 || done[0].Outcome != inbox.SliceCompleted || done[0].Deleted != 6 || bucket.mixed.Load() != 0 {
		t.Errorf("%d versions in requests with others of another kind, %+v", bucket.mixed.Load(), done)
	}
}
