package cleanup_test

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// tower is one key with any number of expired versions, a bit each: number 0 is the current one, n-1 the oldest. It counts how many
// versions have been listed and not yet been asked to go, which is what a worker has to remember.
type tower struct {
	oneKey               // the bucket's configuration
	asking time.Duration // what reading the marks of a batch takes
	n      int
	held   int // a version that is tagged; -1 for none

	mu       sync.Mutex
	gone     []bool
	left     int
	open     int // listed and not yet in a delete request
	mostOpen int
	early    int // requests for the current version that came while others were there
	calls    int
	before   time.Time // of the last delete request: when it may no longer be sent
	heap     []uint64  // bytes in use, at every hundredth delete request
}

func newTower(n, held int) *tower { return &tower{n: n, held: held, gone: make([]bool, n), left: n} }

func (k *tower) Marks(_ context.Context, _ string, vs []retention.Version, _ retention.Ask) ([]retention.Marks, error) {
	time.Sleep(k.asking)
	marks := make([]retention.Marks, len(vs))
	for i, v := range vs {
		marks[i].TagHold = v.ID == strconv.Itoa(k.held)
	}
	return marks, nil
}

func (k *tower) Page(_ context.Context, _, prefix string, after retention.Marker) (retention.Page, error) {
	time.Sleep(20 * time.Millisecond)
	k.mu.Lock()
	defer k.mu.Unlock()
	from := 0
	if after.VersionID != "" {
		last, err := strconv.Atoi(after.VersionID)
		if err != nil {
			return retention.Page{}, err
		}
		from = last + 1
	}
	p := retention.Page{Versions: make([]retention.Version, 0, 1000)}
	for i := from; i < k.n; i++ {
		if k.gone[i] {
			continue
		}
		if len(p.Versions) == 1000 {
			p.Next = retention.Marker{Key: prefix + "k", VersionID: p.Versions[999].ID}
			break
		}
		v := retention.Version{Key: prefix + "k", ID: strconv.Itoa(i), LastModified: cutoff.Add(-time.Hour), Currency: retention.Noncurrent}
		if i == 0 {
			v.Currency = retention.Current
		}
		p.Versions = append(p.Versions, v)
	}
	k.open += len(p.Versions)
	k.mostOpen = max(k.mostOpen, k.open)
	return p, nil
}

func (k *tower) Delete(_ context.Context, _ string, vs []retention.Version, before time.Time) ([]retention.Fate, error) {
	k.mu.Lock()
	k.before = before
	k.mu.Unlock()
	if !time.Now().Before(before) {
		return slices.Repeat([]retention.Fate{{Kind: retention.FateTransient, Code: retention.CodeHoldsTooOld}}, len(vs)), nil
	}
	time.Sleep(100 * time.Millisecond)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.calls++; k.calls%100 == 0 {
		k.measure()
	}
	fates := make([]retention.Fate, len(vs))
	for i, v := range vs {
		n, err := strconv.Atoi(v.ID)
		if err != nil {
			return nil, err
		}
		if n == 0 && k.left > 1 {
			k.early++
		}
		k.gone[n] = true
		k.left--
		k.open--
		fates[i].Kind = retention.FateDeleted
	}
	return fates, nil
}

func (k *tower) measure() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	k.heap = append(k.heap, m.HeapAlloc)
}

// A worker that remembered what it has listed of a key would hold a million versions here, of some hundred bytes each. The test is
// not parallel: what others use would be counted, too.
func TestAKeyOfAMillionVersionsGoesInBoundedMemoryAndItsCurrentOneLast(t *testing.T) {
	for name, tt := range map[string]struct {
		versions   int
		held, left int
	}{
		"all of it goes": {1_000_000, -1, 0},
		"of fewer, one in the middle stays, and so does the current one": {200_000, 100_000, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.set.CheckTags = true
				k := newTower(tt.versions, tt.held)
				got := b.slice(t.Context(), k, noHolds)
				if got.Outcome != inbox.SliceCompleted || k.left != tt.left || k.early > 0 {
					t.Errorf("the slice ended as %s, %d versions are left, the current one was sent %d times before its others: %s",
						got.Outcome, k.left, k.early, got.Problem)
				}
				if got.Deleted != int64(tt.versions-tt.left) {
					t.Errorf("%d are counted as deleted, want %d", got.Deleted, tt.versions-tt.left)
				}
				// Four batches on their way, four that are ready, one that gathers, a page ahead and one that is taken: 11,000.
				if k.mostOpen > 11_000+1000 {
					t.Errorf("%d versions were remembered at once", k.mostOpen)
				}
				const most = 4 << 20 // 4 bytes for each version
				if first, last := k.heap[0], k.heap[len(k.heap)-1]; last > first+most {
					t.Errorf("%d bytes were in use after a hundred batches, and %d in the end", first, last)
				}
			})
		})
	}
}

// Reading the tags and locks of a batch takes longer than holds may be old. The holds are read behind them, so that it goes all the
// same.
func TestMarksThatTakeLongerToReadThanHoldsMayBeOldStopNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.set.CheckTags = true
		k := newTower(1500, -1)
		k.asking = 20 * time.Second
		if got := b.slice(t.Context(), k, noHolds); got.Outcome != inbox.SliceCompleted || k.left > 0 {
			t.Errorf("the slice ended as %s with %d versions left: %s", got.Outcome, k.left, got.Problem)
		}
	})
}

// What was written while the holds were read may be in the answer or not, so their age counts from before they were asked for.
func TestHoldsAreAsOldAsTheQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		k := newTower(1, -1)
		var asked time.Time
		got := b.slice(t.Context(), k, func(context.Context) ([]retention.Hold, error) {
			asked = time.Now()
			time.Sleep(4 * time.Second)
			return nil, nil
		})
		if want := asked.Add(5 * time.Second); got.Outcome != inbox.SliceCompleted || !k.before.Equal(want) {
			t.Errorf("the slice ended as %s; the request might be sent until %s, want %s", got.Outcome, k.before, want)
		}
	})
}
