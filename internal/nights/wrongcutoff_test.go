package nights_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"custody/internal/inbox"
)

// wrongCutoff: a producer has sent a cutoff that is two months too late, and says so while the run is at work.
func wrongCutoff() night {
	pods, labels := numbered("pod/wh-17/", 6), numbered("labels/wh-17/", 3)
	written := append(slices.Clone(labels[:2]), pods[:4]...) // that were written anew in August
	reached, proceed := make(chan struct{}), make(chan struct{})
	return night{
		unalarmed: true,
		arrange: func(t *testing.T, w *world) {
			w.put(t, "2026-06-01", slices.Concat(pods, labels)...)
			w.put(t, "2026-07-20", pods[:2]...)
			w.put(t, "2026-08-10", written...)
			// What readers do not see goes first, in a request of its own. The worker has sent it, and reads the holds for the rest.
			var reads atomic.Int32
			var once sync.Once
			w.db.set(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
				// Each batch has two: of the scope, and of all.
				if by(r, "cleanup") && strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") && reads.Add(1) > 2 {
					once.Do(func() { close(reached) })
					select {
					case <-proceed:
					case <-r.Context().Done():
					}
				}
				return false
			})
			w.accepted(t, "d-1", "r-1", "2026-08-31T00:00:00Z")
			<-reached
		},
		events: map[string]func(*testing.T, *world){
			"the worker meets the brake": func(t *testing.T, w *world) {
				close(proceed)
				w.until(t, "r-1", "is parked", func(r inbox.Run) bool {
					return r.State == inbox.StatePending && r.LastError != nil && r.LastError.Category == inbox.CategoryStopped
				})
			},
		},
		after: func(t *testing.T, w *world) {
			w.left(t, written...)
			if run := w.until(t, "r-1", "is dismissed", in(inbox.StateDismissed)); run.Counters.Deleted != 8 {
				t.Errorf("the run had deleted %d, want the 8 that readers did not see", run.Counters.Deleted)
			}
			w.until(t, "r-2", "is done", in(inbox.StateDone))
		},
	}
}
