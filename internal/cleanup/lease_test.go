package cleanup_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

// onUpdate puts f in front of each UpdateItem, which is what every move of a run is.
func (w *world) onUpdate(f func(rw http.ResponseWriter, r *http.Request, n int, next http.Handler)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	w.onDB = func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") {
			next.ServeHTTP(rw, r)
			return
		}
		n++
		f(rw, r, n, next)
	}
}

// loseAnswer lets the engine do the work and answers with a server error.
func loseAnswer(rw http.ResponseWriter, r *http.Request, next http.Handler) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	next.ServeHTTP(httptest.NewRecorder(), r)
	rw.WriteHeader(http.StatusInternalServerError)
}

func TestALostAnswerOfAnyMoveIsNoLoss(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]int{"of acquire": 1, "of the last move": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put("pod/wh-17/a")
			wake := w.claim(cutoff, "pod/wh-17/")
			w.at(later)
			w.onUpdate(func(rw http.ResponseWriter, r *http.Request, n int, next http.Handler) {
				if n == lost {
					loseAnswer(rw, r, next)
					return
				}
				next.ServeHTTP(rw, r)
			})
			got := w.deliver(t.Context(), "rec-1", wake)
			if got.Outcome != inbox.SliceCompleted {
				t.Errorf("the slice ended as %s: %s", got.Outcome, got.Problem)
			}
			if run := w.run(); run.State != inbox.StateDone || run.Slices != 1 || run.Counters.Deleted != 1 {
				t.Errorf("the run is %s after %d slices with %+v", run.State, run.Slices, run.Counters)
			}
		})
	}
}

func TestARecordWhoseItemCannotBeWrittenIsReportedAndItsRetryTakesTheDeadLeaseOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("pod/wh-17/a")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.onUpdate(func(rw http.ResponseWriter, r *http.Request, n int, next http.Handler) {
		if n > 1 { // every write behind acquire fails: the worker dies with its lease
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(rw, r)
	})
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceUnwritten {
		t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	w.mu.Lock()
	w.onDB = nil
	w.mu.Unlock()
	if run := w.run(); run.State != inbox.StateRunning || run.LeaseRecord != "rec-1" {
		t.Fatalf("the run is %+v, want running under the lease of rec-1", run)
	}
	if got := w.deliver(t.Context(), "rec-2", wake); got.Outcome != inbox.SliceNotAcquired {
		t.Errorf("another record ended as %s, want not_acquired: the lease lives", got.Outcome)
	}
	if w.wake(later) {
		t.Error("the sweeper woke a run under a live lease")
	}
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted {
		t.Errorf("the retried record ended as %s: %s", got.Outcome, got.Problem)
	}
	if run := w.run(); run.State != inbox.StateDone || run.Slices != 2 || run.Counters.Deleted+run.Counters.Absent != 0 {
		t.Errorf("the run is %s after %d slices with %+v: what died with the first slice is a lower bound", run.State, run.Slices, run.Counters)
	}
}

func TestARecordThatIsLateOrRepeatedDoesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("pod/wh-17/a")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	if got := w.deliver(t.Context(), "rec-0", "an-older-wake"); got.Outcome != inbox.SliceNotAcquired {
		t.Errorf("a record with another wake ended as %s", got.Outcome)
	}
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted {
		t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	before := w.run()
	for _, record := range []string{"rec-1", "rec-2"} {
		if got := w.deliver(t.Context(), record, wake); got.Outcome != inbox.SliceNotAcquired {
			t.Errorf("%s ended as %s behind the end of the run", record, got.Outcome)
		}
	}
	if diff := cmp.Diff(before, w.run()); diff != "" {
		t.Errorf("the item changed (-before +after):\n%s", diff)
	}
}

func TestAWorkerThatLostItsLeaseWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("pod/wh-17/a")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	var taken inbox.Run
	w.before("delete", once(func() {
		w.at(later.Add(w.set.LeaseDuration)) // the worker stalls; the sweeper and another worker come by
		if !w.wake(w.clock()) {
			t.Error("a run without a live lease could not be woken")
		}
		run, err := w.store.Move(context.WithoutCancel(t.Context()), key, inbox.Acquire(), inbox.Change{
			Now: w.clock(), Token: "other", LeaseExpiresAt: w.clock().Add(time.Minute), Record: "rec-2", Wake: w.run().Wake,
			Ceiling: 12, Mode: inbox.ModeDelete,
		})
		w.must(err)
		taken = run
	}))
	got := w.deliver(t.Context(), "rec-1", wake)
	if got.Outcome != inbox.SliceLeaseLost {
		t.Errorf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	if diff := cmp.Diff(taken, w.run()); diff != "" {
		t.Errorf("the item changed behind the other worker (-want +got):\n%s", diff)
	}
}

func TestASliceWithoutTimeLeavesALeaseAndAYield(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, w *world) (context.Context, context.CancelFunc){
		"the budget is used up": func(t *testing.T, w *world) (context.Context, context.CancelFunc) {
			w.set.SliceBudget = time.Nanosecond
			return context.WithCancel(t.Context())
		},
		"the function has no time left for a new batch": func(t *testing.T, _ *world) (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 14*time.Second)
		},
		"the function is about to be stopped": func(t *testing.T, _ *world) (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 4*time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put("pod/wh-17/a")
			wake := w.claim(cutoff, "pod/wh-17/")
			w.at(later)
			ctx, cancel := prepare(t, w)
			defer cancel()
			// The listing never answers, so that only the time can end the slice.
			hang := make(chan struct{})
			defer close(hang)
			w.answer(func(rw http.ResponseWriter, r *http.Request) {
				if operation(r) == "versions" {
					select {
					case <-hang:
					case <-r.Context().Done():
					}
				}
				w.objects.ServeHTTP(rw, r)
			})
			got := w.deliver(ctx, "rec-1", wake)
			run := w.run()
			if got.Outcome != inbox.SliceYielded || run.State != inbox.StatePending || run.Attempts != 1 {
				t.Fatalf("the slice ended as %s, the run is %s with %d attempts: %s", got.Outcome, run.State, run.Attempts, got.Problem)
			}
			if run.Wake == "" || run.Wake == wake || run.LeaseToken != "" {
				t.Errorf("wake %q (was %q), lease %q, want a new wake and no lease", run.Wake, wake, run.LeaseToken)
			}
		})
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set.AttemptCeiling = 2
	w.put("pod/wh-17/a")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.answer(fail(w, "versions", 503, "SlowDown"))
	for n := 1; n <= 2; n++ {
		if got := w.deliver(t.Context(), "rec", wake); got.Outcome != inbox.SliceParked || got.Attempts != n {
			t.Fatalf("slice %d ended as %s with %d attempts: %s", n, got.Outcome, got.Attempts, got.Problem)
		}
		w.at(w.run().NextAttemptAt)
		if !w.wake(w.clock()) {
			t.Fatal("a due run could not be woken")
		}
		wake = w.run().Wake
	}
	if got := w.deliver(t.Context(), "rec-3", wake); got.Outcome != inbox.SliceNotAcquired {
		t.Errorf("a run at the ceiling was acquired: %s", got.Outcome)
	}
	run, err := w.store.Move(t.Context(), key, inbox.GiveUp(), inbox.Change{
		Now: w.clock(), Ceiling: 2, Err: inbox.LastError{Category: inbox.CategoryAttemptCeiling, Message: "m", At: w.clock()},
	})
	w.must(err)
	if run.State != inbox.StateFailed || run.Open != "failed" || run.Wake != "" {
		t.Errorf("the run is %+v, want failed and without a wake", run)
	}
}

func TestPoisonIsDroppedAndNeverBlocksTheShard(t *testing.T) {
	t.Parallel()
	record := func(inner string) string { return `{"Records":[{"eventID":"e","dynamodb":{` + inner + `}}]}` }
	tests := map[string]string{
		"no event id":                   `{"Records":[{"dynamodb":{"Keys":{"pk":{"S":"run#cleanup.run#r-1"}},"NewImage":{"wake":{"S":"w"},"scope":{"S":"s"}}}}]}`,
		"no keys":                       record(`"NewImage":{"wake":{"S":"w"}}`),
		"a key that is a number":        record(`"Keys":{"pk":{"N":"7"}},"NewImage":{"wake":{"S":"w"}}`),
		"a delivery's item":             record(`"Keys":{"pk":{"S":"delivery#d-1"}},"NewImage":{"wake":{"S":"w"}}`),
		"a key with too many parts":     record(`"Keys":{"pk":{"S":"run#a#b#c"}},"NewImage":{"wake":{"S":"w"}}`),
		"no new image, as of a removal": record(`"Keys":{"pk":{"S":"run#cleanup.run#r-1"}}`),
		"a wake that is a number":       record(`"Keys":{"pk":{"S":"run#cleanup.run#r-1"}},"NewImage":{"wake":{"N":"1"},"scope":{"S":"s"}}`),
		"a wake that is empty":          record(`"Keys":{"pk":{"S":"run#cleanup.run#r-1"}},"NewImage":{"wake":{"S":""},"scope":{"S":"s"}}`),
		"a scope that is empty":         record(`"Keys":{"pk":{"S":"run#cleanup.run#r-1"}},"NewImage":{"wake":{"S":"w"},"scope":{"S":""}}`),
		"no scope":                      record(`"Keys":{"pk":{"S":"run#cleanup.run#r-1"}},"NewImage":{"wake":{"S":"w"}}`),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			response, done := w.worker().Handle(t.Context(), decodeEvent(t, text))
			if diff := cmp.Diff(events.DynamoDBEventResponse{}, response); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if len(done) != 1 || done[0].Outcome != inbox.SliceDropped || done[0].Problem == "" {
				t.Errorf("summaries %+v, want one that was dropped, and why", done)
			}
		})
	}
}

func TestARecordBehindAFailedOneComesAgainAndIsNotTouched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onUpdate(func(rw http.ResponseWriter, _ *http.Request, _ int, _ http.Handler) {
		rw.WriteHeader(http.StatusInternalServerError)
	})
	e := wakeEvent(t, "rec-1", "w")
	e.Records = append(e.Records, e.Records[0])
	e.Records[1].Change.SequenceNumber = "200"
	response, done := w.worker().Handle(t.Context(), e)
	want := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{{ItemIdentifier: "100"}}}
	if diff := cmp.Diff(want, response); diff != "" || len(done) != 1 {
		t.Errorf("%d summaries, want 1; answer (-want +got):\n%s", len(done), diff)
	}
}

func TestTheBrakeForgetsNoProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set.DeleteConcurrency = 1
	for i := range 1001 { // two batches: the brake comes between them
		w.put(fmt.Sprintf("pod/wh-17/%04d", i))
	}
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.onUpdate(func(rw http.ResponseWriter, r *http.Request, n int, next http.Handler) {
		if n > 1 { // the first process dies with its lease: one attempt without progress
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(rw, r)
	})
	w.answer(fail(w, "versions", 503, "SlowDown"))
	w.deliver(t.Context(), "rec-1", wake)
	w.mu.Lock()
	w.onDB = nil
	w.mu.Unlock()
	w.before("delete", once(func() { w.hold(map[string]any{"scope": scope, "hold_id": "stop", "reason": "stop"}) }))
	got := w.deliver(t.Context(), "rec-1", wake)
	if got.Outcome != inbox.SliceParked || got.Category != inbox.CategoryStopped || got.Deleted != 1000 {
		t.Fatalf("the slice ended as %s %s with %d deleted: %s", got.Outcome, got.Category, got.Deleted, got.Problem)
	}
	if run := w.run(); run.Attempts != 0 {
		t.Errorf("%d attempts, want 0: the slice made progress", run.Attempts)
	}
}
