package check_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"custody/internal/inbox"
)

// With tags on, reading them is most of the time of a run: a request for each version, so many at once. While some batches are
// deleted, others' tags are to be read, so that hardly any time goes by without. The time is the bubble's, and so exact.
func TestTagsAreReadWhileOtherBatchesAreDeleted(t *testing.T) {
	t.Parallel()
	const versions, atOnce = 16_000, 32
	synctest.Test(t, func(t *testing.T) {
		set := settings()
		set.CheckTags = true
		w := newWorld(t, set)
		for i := range versions {
			w.put(fmt.Sprintf("pod/wh-17/%08d", i), false)
		}
		began := time.Now()
		if got := w.run(t.Context(), "pod/wh-17/"); got.Outcome != inbox.SliceCompleted || got.Deleted != versions {
			t.Fatalf("the slice ended as %s with %d deleted: %s", got.Outcome, got.Deleted, got.Problem)
		}
		took, reading := time.Since(began), versions/atOnce*s3Takes
		t.Logf("%s, of which reading tags takes %s", took, reading)
		if most := reading * 12 / 10; took > most {
			t.Errorf("%d versions took %s, want %s at most: the tags alone take %s, %d at once", versions, took, most, reading, atOnce)
		}
	})
}
