package cleanup_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/cleanup"
	"custody/internal/inbox"
	"custody/internal/retention"
)

// oneKey is a bucket with a single key of many expired versions. Its listing has no end, and never shows a current version.
type oneKey struct {
	mu      sync.Mutex
	listed  int
	deletes int
	take    time.Duration // what a delete takes
}

func (*oneKey) Bucket(context.Context, string) (retention.Bucket, error) {
	return retention.Bucket{Versioning: retention.VersioningEnabled}, nil
}

func (*oneKey) Versioning(context.Context, string) (retention.Versioning, error) {
	return retention.VersioningEnabled, nil
}

func (*oneKey) Marks(_ context.Context, _ string, vs []retention.Version, _ retention.Ask) ([]retention.Marks, error) {
	return make([]retention.Marks, len(vs)), nil
}

func (k *oneKey) Page(_ context.Context, _, prefix string, _ retention.Marker) (retention.Page, error) {
	k.mu.Lock()
	k.listed++
	page := k.listed
	k.mu.Unlock()
	p := retention.Page{Next: retention.Marker{Key: prefix + "k", VersionID: fmt.Sprint(page)}}
	for i := range 1000 {
		p.Versions = append(p.Versions, retention.Version{
			Key: prefix + "k", ID: fmt.Sprintf("%d-%d", page, i), LastModified: cutoff.Add(-time.Hour), Currency: retention.Noncurrent,
		})
	}
	return p, nil
}

func (k *oneKey) Delete(_ context.Context, _ string, vs []retention.Version, _ time.Time) ([]retention.Fate, error) {
	k.mu.Lock()
	k.deletes++
	k.mu.Unlock()
	time.Sleep(k.take)
	fates := make([]retention.Fate, len(vs))
	for i := range fates {
		fates[i].Kind = retention.FateDeleted
	}
	return fates, nil
}

type holdsFunc func(ctx context.Context) ([]retention.Hold, error)

func (f holdsFunc) Covering(ctx context.Context, _ string) ([]retention.Hold, error) { return f(ctx) }

// bucketOf is what a worker asks of its bucket.
type bucketOf interface {
	Bucket(ctx context.Context, bucket string) (retention.Bucket, error)
	Versioning(ctx context.Context, bucket string) (retention.Versioning, error)
	Marks(ctx context.Context, bucket string, vs []retention.Version, ask retention.Ask) ([]retention.Marks, error)
	Page(ctx context.Context, bucket, prefix string, after retention.Marker) (retention.Page, error)
	Delete(ctx context.Context, bucket string, vs []retention.Version, sendBefore time.Time) ([]retention.Fate, error)
}

// slice works the only run of a bench once, over the key.
func (b *bench) slice(ctx context.Context, k bucketOf, holds holdsFunc) inbox.SliceSummary {
	b.t.Helper()
	run := inbox.NewRun(key, scope, inbox.Selection{Bucket: bucket, Prefixes: []string{"p/"}, Cutoff: cutoff}, "hash", "d-1", time.Now()).Start(b.newID())
	if existing, err := b.diary.Claim(b.t.Context(), inbox.Claim{Delivery: inbox.Delivery{ID: "d-1"}, Run: run}); err != nil || existing != nil {
		b.t.Fatalf("claim: %+v, %v", existing, err)
	}
	b.diary.Drain()
	w := cleanup.New(&b.diary, holds, k, b.set, time.Now, b.newID)
	_, done := w.Handle(ctx, events.DynamoDBEvent{Records: wakeEvent(b.t, "rec-1", run.Wake).Records})
	return done[0]
}

func noHolds(context.Context) ([]retention.Hold, error) { return nil, nil }

func TestAnOutageThatOutlastsTheBudgetParksAndSaysWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.set.SliceBudget = time.Second
		down := inbox.Failed(inbox.CategoryUnavailable, errors.New("down"))
		got := b.slice(t.Context(), &oneKey{}, func(context.Context) ([]retention.Hold, error) {
			time.Sleep(2 * time.Second)
			return nil, down
		})
		if got.Outcome != inbox.SliceParked || got.Category != inbox.CategoryUnavailable {
			t.Errorf("the slice ended as %s %s: %s", got.Outcome, got.Category, got.Problem)
		}
	})
}

func TestAKeyWhoseVersionsAllGoIsNotTooLargeHoweverSlowTheFirstBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.set.SliceBudget = time.Second
		got := b.slice(t.Context(), &oneKey{take: 2 * time.Second}, noHolds)
		if got.Outcome != inbox.SliceYielded || got.Deleted == 0 {
			t.Errorf("the slice ended as %s %s with %d deleted: %s", got.Outcome, got.Category, got.Deleted, got.Problem)
		}
	})
}

// refusing is a table that refuses every checkpoint: the run was dismissed, or is another worker's.
type refusing struct{ *diary }

func (r refusing) Move(ctx context.Context, key inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error) {
	if m.Name == inbox.MoveCheckpoint {
		return inbox.Run{}, &inbox.Refused{Move: m.Name, Run: &inbox.Run{State: inbox.StateDismissed}}
	}
	return r.diary.Move(ctx, key, m, c)
}

func TestARefusedWorkerBeginsNoFurtherRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		// The holds take longer than the first checkpoint's tick: behind them the run is another's.
		k := &oneKey{take: time.Second}
		first := true
		var mu sync.Mutex
		holds := holdsFunc(func(context.Context) ([]retention.Hold, error) {
			mu.Lock()
			slow := !first
			first = false
			mu.Unlock()
			if slow {
				time.Sleep(4 * time.Second)
			}
			return nil, nil
		})
		run := inbox.NewRun(key, scope, inbox.Selection{Bucket: bucket, Prefixes: []string{"p/"}, Cutoff: cutoff}, "hash", "d-1", time.Now()).Start("w")
		if existing, err := b.diary.Claim(t.Context(), inbox.Claim{Delivery: inbox.Delivery{ID: "d-1"}, Run: run}); err != nil || existing != nil {
			t.Fatalf("claim: %+v, %v", existing, err)
		}
		w := cleanup.New(refusing{&b.diary}, holds, k, b.set, time.Now, b.newID)
		_, done := w.Handle(t.Context(), wakeEvent(t, "rec-1", "w"))
		if done[0].Outcome != inbox.SliceLeaseLost || k.deletes != 1 {
			t.Errorf("the slice ended as %s after %d delete requests, want lease_lost after the one before the refusal", done[0].Outcome, k.deletes)
		}
	})
}
