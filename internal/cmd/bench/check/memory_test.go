package check_test

import (
	"fmt"
	"net/http"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"

	"custody/internal/cmd/bench/inprocess"
	"custody/internal/inbox"
)

const (
	// heapTarget is the target for the heap, with what the collector has not yet taken away.
	heapTarget = 64 << 20
	// flat is by how much what is alive in the middle of the looks may grow with five times the versions. A hundred bytes that are
	// kept of each version are 8 MB; pages and batches that happen to be on their way are some hundred kilobytes each.
	flat = 4 << 20
	// few versions fill the queue, and no more.
	few = 20_000
	// looks is how many looks at what is alive fall on a slice, about, whatever its size. Each is a whole collection.
	looks = 80
)

func TestMemoryOfASliceIsFlat(t *testing.T) { // not beside others: the heap is the process's
	if raceDetector {
		t.Skip("the race detector takes memory of its own: make bench-check measures without it")
	}
	least := uint64(0)
	for _, of := range []struct{ versions, perKey int }{
		{few / 2, 1}, {few, 1}, {100_000, 1}, {100_000, 10}, {100_000, 100_000},
	} {
		t.Run(fmt.Sprintf("%d versions, %d of each key", of.versions, of.perKey), func(t *testing.T) {
			alive, peak := heapOf(t, &inprocess.Paper{Versions: of.versions, PerKey: of.perKey, Modified: weekAgo()})
			t.Logf("%.1f MiB alive, %.1f MiB with what was not yet collected", mib(alive), mib(peak))
			if of.versions <= few {
				least = max(least, alive)
			}
			if peak > heapTarget {
				t.Errorf("%.1f MiB of heap, %.1f more than the target of %.0f; look at what is held of a page and of a batch", mib(peak), mib(peak-heapTarget), mib(heapTarget))
			}
			if alive > least+flat {
				t.Errorf("%.1f MiB are alive, %.1f more than with at most %d versions; look at what internal/cleanup/ledger.go and queue.go "+
					"keep of what is settled", mib(alive), mib(alive-least), few)
			}
		})
	}
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

// heapOf is what is alive while the second half of a bucket is worked, and the most that the heap had.
func heapOf(t *testing.T, bucket *inprocess.Paper) (alive, peak uint64) {
	w := &world{t: t}
	look := &heap{every: max(1, bucket.Versions/250/looks)} // a page, a batch and two report objects for each thousand
	w.work(settings(), look.at(paperS3(bucket)), nil, nil)
	runtime.GC() // of what the tests before have left
	if s := w.run(t.Context(), "pod/wh-17/"); s.Outcome != inbox.SliceCompleted || bucket.Deleted() != bucket.Versions {
		t.Fatalf("the slice ended as %s (%s) with %d of %d versions deleted", s.Outcome, s.Problem, bucket.Deleted(), bucket.Versions)
	}
	late := slices.Sorted(slices.Values(look.alive[len(look.alive)/2:]))
	return late[len(late)/2], look.peak
}

type heap struct {
	mu       sync.Mutex
	requests int
	every    int
	alive    []uint64
	peak     uint64
}

// at looks at the heap with each request, and has it collected now and then.
func (h *heap) at(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.peak = max(h.peak, objects())
		if h.requests++; h.requests%h.every == 0 {
			runtime.GC()
			h.alive = append(h.alive, objects())
		}
		h.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// objects are the bytes of the heap that are alive or not yet known to be dead.
func objects() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
