package cleanup_test

import (
	"context"
	"testing"

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
