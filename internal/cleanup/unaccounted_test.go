package cleanup_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"custody/internal/cleanup"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/retention"
	"custody/internal/s3versions"
)

// forgetful loses the fate of the last version of each request.
type forgetful struct{ *s3versions.Client }

func (f forgetful) Delete(ctx context.Context, bucket string, vs []retention.Version, before time.Time) ([]retention.Fate, error) {
	fates, err := f.Client.Delete(ctx, bucket, vs, before)
	return fates[:len(fates)-1], err
}

func TestARequestThatDoesNotAccountForEveryVersionIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("pod/wh-17/a")
	w.put("pod/wh-17/b")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	worker := cleanup.New(w.store, dynamostore.NewHolds(w.db, "holds", slog.New(slog.DiscardHandler)),
		forgetful{s3versions.New(w.s3, "", w.clock)}, w.set, w.clock, w.newID)
	worker.Reports = w.reports
	_, done := worker.Handle(t.Context(), wakeEvent(t, "rec-1", wake))
	if len(done) != 1 || done[0].Outcome != inbox.SliceParked || done[0].Deleted != 0 {
		t.Errorf("%+v, want a slice that parked and counts nothing", done)
	}
}
