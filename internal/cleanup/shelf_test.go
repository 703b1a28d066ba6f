package cleanup_test

import (
	"context"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/cleanup"
	"custody/internal/inbox"
	"custody/internal/inbox/inboxtest"
	"custody/internal/retention"
)

// shelf is an object store in memory that holds any number of versions in a bit each: a prefix with n keys of one version. Its
// calls take the bubble's time. It is all expired.
type shelf struct {
	page, remove time.Duration // what a call takes
	hang         string        // a prefix whose listing never answers
	limit        *limit        // how many versions may go a second; nil for any number

	mu     sync.Mutex
	series map[string]*series // by prefix
	calls  []shelfCall
}

type series struct {
	n    int
	gone []uint64
}

type shelfCall struct {
	what string // page or delete
	at   time.Time
}

func (s *shelf) put(prefix string, n int) {
	if s.series == nil {
		s.series = map[string]*series{}
	}
	s.series[prefix] = &series{n: n, gone: make([]uint64, (n+63)/64)}
}

// left counts the versions below the prefix that are there.
func (s *shelf) left(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.series[prefix].n
	for _, word := range s.series[prefix].gone {
		n -= bits.OnesCount64(word)
	}
	return n
}

func (s *shelf) Bucket(context.Context, string) (retention.Bucket, error) {
	return retention.Bucket{Versioning: retention.VersioningEnabled}, nil
}

func (s *shelf) Versioning(context.Context, string) (retention.Versioning, error) {
	return retention.VersioningEnabled, nil
}

func (s *shelf) Marks(_ context.Context, _ string, vs []retention.Version, _ retention.Ask) ([]retention.Marks, error) {
	return make([]retention.Marks, len(vs)), nil
}

func (s *shelf) take(ctx context.Context, what string, d time.Duration) error {
	s.mu.Lock()
	s.calls = append(s.calls, shelfCall{what, time.Now()})
	s.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func number(prefix, key string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(key, prefix))
	if err != nil {
		return -1 // the start
	}
	return n
}

// Page generates a page of a thousand versions on the fly.
func (s *shelf) Page(ctx context.Context, _, prefix string, after retention.Marker) (retention.Page, error) {
	takes := s.page
	if prefix == s.hang {
		takes = 24 * time.Hour
	}
	if err := s.take(ctx, "page", takes); err != nil {
		return retention.Page{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.series[prefix]
	page := retention.Page{Versions: make([]retention.Version, 0, 1000)}
	for i := number(prefix, after.Key) + 1; i < all.n; i++ {
		if all.gone[i/64]&(1<<(i%64)) != 0 {
			continue
		}
		if len(page.Versions) == 1000 {
			page.Next = retention.Marker{Key: page.Versions[999].Key}
			break
		}
		page.Versions = append(page.Versions, retention.Version{
			Key: fmt.Sprintf("%s%08d", prefix, i), ID: "v", LastModified: cutoff.Add(-time.Hour), Currency: retention.Current,
		})
	}
	return page, nil
}

func (s *shelf) Delete(ctx context.Context, _ string, vs []retention.Version, _ time.Time) ([]retention.Fate, error) {
	if err := s.take(ctx, "delete", s.remove); err != nil {
		return nil, err
	}
	granted := len(vs)
	if s.limit != nil {
		if granted = s.limit.grant(vs); granted == 0 {
			return nil, inbox.Failed(inbox.CategoryThrottled, errSlowDown)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fates := make([]retention.Fate, len(vs))
	for i, v := range vs {
		if i >= granted {
			fates[i] = retention.Fate{Kind: retention.FateTransient, Code: "SlowDown"}
			continue
		}
		prefix := v.Key[:strings.LastIndex(v.Key, "/")+1]
		n := number(prefix, v.Key)
		word, bit := &s.series[prefix].gone[n/64], uint64(1)<<(n%64)
		fates[i].Kind = retention.FateDeleted
		if *word&bit != 0 {
			fates[i].Kind = retention.FateAbsent
		}
		*word |= bit
	}
	return fates, nil
}

// began lists when the calls of a kind began, from the given time on.
func (s *shelf) began(what string, since time.Time) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []time.Duration
	for _, c := range s.calls {
		if c.what == what {
			out = append(out, c.at.Sub(since))
		}
	}
	return out
}

// nothingHeld is a holds table without a row.
type nothingHeld struct{}

func (nothingHeld) Covering(context.Context, string) ([]retention.Hold, error) { return nil, nil }

// diary is the table in memory, and what was written to it and when.
type diary struct {
	inboxtest.Store
	mu      sync.Mutex
	entries []entryInDiary
}

type entryInDiary struct {
	run, move string
	at        time.Time
	change    inbox.Change
}

// Move makes the move and notes it.
func (d *diary) Move(ctx context.Context, key inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error) {
	d.mu.Lock()
	d.entries = append(d.entries, entryInDiary{key.Key, m.Name, time.Now(), c})
	d.mu.Unlock()
	return d.Store.Move(ctx, key, m, c)
}

// written lists the entries of the moves of one name.
func (d *diary) written(move string) []entryInDiary {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []entryInDiary
	for _, e := range d.entries {
		if e.move == move {
			out = append(out, e)
		}
	}
	return out
}

// bench is a worker with parts in memory alone, for a bubble of testing/synctest.
type bench struct {
	t     *testing.T
	shelf shelf
	diary diary
	set   cleanup.Settings
	ids   int
}

// newBench has the settings of the template.
func newBench(t *testing.T) *bench {
	return &bench{t: t, set: cleanup.Settings{
		DeleteScopes: []string{"*"}, DeleteConcurrency: 4, SliceBudget: 240 * time.Second, LeaseDuration: 90 * time.Second,
		ScanCeiling: 10, AttemptCeiling: 12, Retention: 24 * time.Hour,
	}}
}

func (b *bench) newID() string { b.ids++; return fmt.Sprintf("id-%d", b.ids) }

// claim starts a run over n versions of its own.
func (b *bench) claim(name string, n int) {
	b.t.Helper()
	prefix := "pod/" + name + "/"
	b.shelf.put(prefix, n)
	run := inbox.NewRun(inbox.RunKey{Type: "cleanup.run", Key: name}, "warehouse:"+name,
		inbox.Selection{Bucket: bucket, Prefixes: []string{prefix}, Cutoff: cutoff}, "hash", "d-"+name, time.Now()).Start(b.newID())
	existing, err := b.diary.Claim(b.t.Context(), inbox.Claim{Delivery: inbox.Delivery{ID: "d-" + name}, Run: run})
	if err != nil || existing != nil {
		b.t.Fatalf("claim %s: %+v, %v", name, existing, err)
	}
}

func (b *bench) run(name string) inbox.Run {
	b.t.Helper()
	run, err := b.diary.Run(context.WithoutCancel(b.t.Context()), inbox.RunKey{Type: "cleanup.run", Key: name})
	if err != nil || run == nil {
		b.t.Fatalf("run %s: %+v, %v", name, run, err)
	}
	return *run
}

// deliver hands one record to a worker.
func (b *bench) deliver(ctx context.Context, r inboxtest.Record) inbox.SliceSummary {
	b.t.Helper()
	w := cleanup.New(&b.diary, nothingHeld{}, &b.shelf, b.set, time.Now, b.newID)
	_, done := w.Handle(ctx, events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{recordOf(r)}})
	if len(done) != 1 {
		b.t.Fatalf("%d summaries, want 1", len(done))
	}
	return done[0]
}

// recordOf is the record as the stream has it.
func recordOf(r inboxtest.Record) events.DynamoDBEventRecord {
	key := r.Image.RunKey().ItemKey()
	return events.DynamoDBEventRecord{EventID: r.Identity, Change: events.DynamoDBStreamRecord{
		SequenceNumber: r.Identity,
		Keys:           map[string]events.DynamoDBAttributeValue{"pk": events.NewStringAttribute(key)},
		NewImage: map[string]events.DynamoDBAttributeValue{
			"wake": events.NewStringAttribute(r.Image.Wake), "scope": events.NewStringAttribute(r.Image.Scope),
		},
	}}
}
