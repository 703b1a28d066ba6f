package cleanup_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"custody/internal/cleanup"
	"custody/internal/inbox"
)

// What was done must be known: the write that ends a slice is made although the function's context was called off.
func TestASliceThatIsCalledOffWritesItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("pod/wh-17/a")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.before("versions", cancel)
	got := w.deliver(ctx, "rec-1", wake)
	if got.Outcome != inbox.SliceParked {
		t.Errorf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	if run := w.run(); run.State != inbox.StatePending || run.LeaseToken != "" || run.LastError == nil {
		t.Errorf("the run is %+v, want pending, without a lease and with the error", run)
	}
}

// slowly is a table that takes its time for the first checkpoint.
type slowly struct{ *diary }

func (s slowly) Move(ctx context.Context, key inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error) {
	if m.Name == inbox.MoveCheckpoint && len(s.written(inbox.MoveCheckpoint)) == 0 {
		time.Sleep(10 * time.Second)
	}
	return s.diary.Move(ctx, key, m, c)
}

// The function is called off and the listing with it, while the worker waits for a write. Behind that write it sees both, in no
// order, and a listing that was cut off must not look like one that has come to its end: the run would be done and never listed.
func TestAListingThatIsCutOffIsNotItsEnd(t *testing.T) {
	t.Parallel()
	for range 40 { // which of two things is seen first is left to chance
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			b.set.LeaseDuration = 3 * time.Second // renewed after a second, without progress
			b.shelf.hang = "pod/r/"
			b.claim("r", 10)
			record := b.diary.Drain()[0]
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(5*time.Second, cancel)
			w := cleanup.New(slowly{&b.diary}, nothingHeld{}, &b.shelf, b.set, time.Now, b.newID)
			w.Handle(ctx, wakeEventOf(t, record.Image.RunKey(), record.Identity, record.Image.Wake))
			if run := b.run("r"); run.State == inbox.StateDone {
				t.Errorf("the run is done, and %d of its versions were never listed", b.shelf.left("pod/r/"))
			}
		})
	}
}
