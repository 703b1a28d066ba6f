package inbox_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	claim := inbox.Claim{Delivery: inbox.Delivery{ID: "d-1", BodySHA256: "body"}, Run: inbox.Run{CommandHash: "command"}}
	same, other := &inbox.Delivery{BodySHA256: "body"}, &inbox.Delivery{BodySHA256: "other"}
	sameRun, otherRun := &inbox.Run{CommandHash: "command"}, &inbox.Run{CommandHash: "other"}
	tests := map[string]struct {
		existing inbox.Existing
		want     inbox.Verdict
	}{
		"the delivery exists with the same body":                        {inbox.Existing{Delivery: same}, inbox.VerdictDuplicate},
		"the delivery exists with another body":                         {inbox.Existing{Delivery: other}, inbox.VerdictConflict},
		"both exist and the body is the same":                           {inbox.Existing{Delivery: same, Run: sameRun}, inbox.VerdictDuplicate},
		"both exist, the body is the same, the run is not":              {inbox.Existing{Delivery: same, Run: otherRun}, inbox.VerdictDuplicate},
		"both exist and the body is another":                            {inbox.Existing{Delivery: other, Run: sameRun}, inbox.VerdictConflict},
		"only the run exists, for the same command":                     {inbox.Existing{Run: sameRun}, inbox.VerdictAlias},
		"only the run exists, for another command":                      {inbox.Existing{Run: otherRun}, inbox.VerdictConflict},
		"nothing is known of what refused: nothing may be acknowledged": {inbox.Existing{}, inbox.VerdictConflict},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := claim.Classify(tt.existing); got != tt.want {
				t.Errorf("verdict %v, want %v", got, tt.want)
			}
		})
	}
}

func TestANewRunIsStartedOrRecorded(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 8, 30, 12, 0, 0, 0, time.UTC)
	key := inbox.RunKey{Type: "cleanup.run", Key: "r-1"}
	run := inbox.NewRun(key, "warehouse:wh-17", inbox.Selection{Bucket: "b", Prefixes: []string{"pod/wh-17/"}, Cutoff: at}, "hash", "d-1", at)

	started := run.Start("wake-1")
	if started.State != inbox.StatePending || started.Wake != "wake-1" || started.Open != "open" || !started.OpenSince.Equal(at) {
		t.Errorf("started: %+v, want pending, open since its receipt, with its wake", started)
	}
	recorded := run.Record()
	if recorded.State != inbox.StateRecorded || recorded.Wake != "" || recorded.Open != "recorded" {
		t.Errorf("recorded: %+v, want recorded and without a wake", recorded)
	}
	if diff := cmp.Diff(inbox.Place{Scan: 1, Retained: map[string]int64{}, Refused: []inbox.RefusedVersion{}}, started.Place); diff != "" {
		t.Errorf("place (-want +got):\n%s", diff)
	}
}

func TestItemKeysNameRunsAndNothingElse(t *testing.T) {
	t.Parallel()
	key := inbox.RunKey{Type: "cleanup.run", Key: "r:1.x_-"}
	if got, ok := inbox.ParseItemKey(key.ItemKey()); !ok || got != key {
		t.Errorf("%q reads back as %v, %v", key.ItemKey(), got, ok)
	}
	for _, pk := range []string{"", "run#", "run#cleanup.run", "run#cleanup.run#", "run##r-1", "run#a#b#c", "delivery#d-1", "RUN#a#b"} {
		if got, ok := inbox.ParseItemKey(pk); ok {
			t.Errorf("%q reads as run %v", pk, got)
		}
	}
	if got, want := (inbox.Delivery{ID: "d-1"}).ItemKey(), "delivery#d-1"; got != want {
		t.Errorf("item key %q, want %q", got, want)
	}
}

func TestEveryCategoryIsPassingOrPermanentAndFoundThroughWrapping(t *testing.T) {
	t.Parallel()
	passing := map[inbox.Category]bool{
		inbox.CategoryThrottled: true, inbox.CategoryUnavailable: true, inbox.CategoryListingBroken: true,
		inbox.CategoryStopped: true, inbox.CategoryInternal: true,
	}
	for _, c := range inbox.Categories() {
		if c.Permanent() == passing[c] {
			t.Errorf("%s is permanent: %v", c, c.Permanent())
		}
		if got := inbox.CategoryOf(wrapped{inbox.Failed(c, inbox.ErrUnavailable)}); got != c {
			t.Errorf("category %s of a wrapped %s", got, c)
		}
	}
	if got := inbox.CategoryOf(inbox.ErrUnavailable); got != inbox.CategoryInternal {
		t.Errorf("an error without a category is %s", got)
	}
}

type wrapped struct{ err error }

func (w wrapped) Error() string { return "wrapped: " + w.err.Error() }
func (w wrapped) Unwrap() error { return w.err }
