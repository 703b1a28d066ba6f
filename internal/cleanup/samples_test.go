package cleanup_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

// The sample events, which `sam local invoke` takes as well: none of them starts a slice, and none is reported as failed.
func TestSampleEvents(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]inbox.SliceOutcome{
		"wake.json":    inbox.SliceNotAcquired, // there is no such run
		"removal.json": inbox.SliceDropped,     // an item that its time to live ended; the mapping's filter keeps it away
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t)
			response, done := w.worker().Handle(t.Context(), decodeEvent(t, string(text)))
			if len(response.BatchItemFailures) != 0 || len(done) != 1 {
				t.Fatalf("%d failures, %d summaries", len(response.BatchItemFailures), len(done))
			}
			if diff := cmp.Diff(want, done[0].Outcome); diff != "" {
				t.Errorf("outcome (-want +got):\n%s\n%s", diff, done[0].Problem)
			}
		})
	}
}
