package cleanup_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"custody/internal/cleanup"
	"custody/internal/inbox"
	"custody/internal/inbox/inboxtest"
	"custody/internal/retention"
)

// play is a plan while it is played, in a bubble of testing/synctest. Each request of the worker waits for its turn, and one at a
// time is served when nothing else moves: the same plan is played the same way, and between any two requests somebody else acts.
type play struct {
	*others
	t      *testing.T
	bucket *memory
	store  inboxtest.Store
	shelf  map[string][]byte // report objects
	scope  []string          // DeleteScopes
	ids    int
	served int

	dead atomic.Bool // the process that works is no more: nothing reaches anything

	mu      sync.Mutex
	waiting []*request
}

// request is one call of the worker that waits for its turn.
type request struct {
	what string // for the order
	do   func() error
	ctx  context.Context
	err  error
	done chan struct{}
}

var (
	errDown = inbox.Failed(inbox.CategoryUnavailable, errors.New("no answer"))
	errDead = inbox.Failed(inbox.CategoryAccessDenied, errors.New("the process is dead")) // permanent: it ends at once
)

// ask waits for the turn of a request and returns what became of it.
func (p *play) ask(ctx context.Context, what string, do func() error) error {
	r := &request{what: what, do: do, ctx: ctx, done: make(chan struct{})}
	p.mu.Lock()
	p.waiting = append(p.waiting, r)
	p.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// next takes the request out whose turn it is, nil when none waits.
func (p *play) next() *request {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = slices.DeleteFunc(p.waiting, func(r *request) bool { return r.ctx.Err() != nil })
	if len(p.waiting) == 0 {
		return nil
	}
	slices.SortStableFunc(p.waiting, func(a, b *request) int { return cmp.Compare(a.what, b.what) })
	i := take(&p.Order) % len(p.waiting)
	r := p.waiting[i]
	p.waiting = slices.Delete(p.waiting, i, i+1)
	return r
}

// serve lets others act, lets time pass, and answers the request or not.
func (p *play) serve(r *request) {
	p.served++
	p.act()
	p.judge.look()
	time.Sleep(time.Duration(take(&p.Waits)) * 100 * time.Millisecond)
	p.judge.look() // holds and locks have run out meanwhile
	f := take(&p.Faults)
	switch {
	case p.dead.Load():
		r.err = errDead
	case p.calm:
		r.err = r.do()
	case f == faultBefore:
		r.err = errDown
	case f == faultDie:
		p.dead.Store(true)
		r.err = errDead
	case f == faultAfter, f == faultDead:
		r.err = cmp.Or(r.do(), error(errDown))
		if f == faultDead {
			p.dead.Store(true)
			r.err = errDead
		}
	default:
		p.part(f == faultPart)
		r.err = r.do()
		p.part(false)
	}
	p.judge.look()
	close(r.done)
}

// part says that the next delete request does every second version only.
func (p *play) part(on bool) { p.bucket.every2nd = on }

// The calls of the worker. See memory for the bucket and judge for what is noted.

type playing struct{ *play }

func (p playing) Bucket(ctx context.Context, _ string) (b retention.Bucket, err error) {
	err = p.ask(ctx, "bucket", func() error {
		b = retention.Bucket{Versioning: p.versioning(), ObjectLock: p.Locking}
		p.judge.sliceBegan()
		return nil
	})
	return b, err
}

func (p playing) versioning() retention.Versioning {
	if p.bucket.suspended {
		return retention.VersioningSuspended
	}
	return retention.VersioningEnabled
}

func (p playing) Versioning(ctx context.Context, _ string) (v retention.Versioning, err error) {
	err = p.ask(ctx, "versioning", func() error {
		v = p.versioning()
		p.judge.versioningRead()
		return nil
	})
	return v, err
}

func (p playing) Covering(ctx context.Context, _ string) (held []retention.Hold, err error) {
	err = p.ask(ctx, "holds", func() error {
		for _, r := range p.judge.rows {
			if r.scope != scope && r.scope != retention.ScopeAll {
				continue
			}
			h := retention.Hold{Scope: r.scope, Key: r.key, Prefix: r.prefix, Reason: retention.ReasonLegalHold, ExpiresAt: r.expires}
			switch {
			case r.stop:
				h.Reason = retention.ReasonStop
			case r.unreadable: // as the table's adapter reads such a row
				h.Reason, h.Key, h.Prefix = retention.ReasonUnreadableHold, "", ""
			}
			held = append(held, h)
		}
		p.judge.holdsRead(scope)
		p.judge.holdsRead("*")
		return nil
	})
	return held, err
}

func (p playing) Marks(ctx context.Context, _ string, vs []retention.Version, ask retention.Ask) (out []retention.Marks, err error) {
	err = p.ask(ctx, "marks", func() error {
		out = make([]retention.Marks, len(vs))
		for i, v := range vs {
			if v.DeleteMarker {
				continue
			}
			there := p.bucket.find(name{v.Key, v.ID})
			if there == nil || there.marker {
				out[i].Absent = true
				continue
			}
			if ask.Tags {
				out[i].TagHold = there.tag
			}
			if ask.Locks {
				out[i].LegalHold, out[i].RetainUntil = there.legal, there.until
			}
			p.judge.marksRead(name{v.Key, v.ID}, true, true, true)
		}
		return nil
	})
	return out, err
}

func (p playing) Page(ctx context.Context, _, prefix string, after retention.Marker) (page retention.Page, err error) {
	err = p.ask(ctx, "page", func() error {
		if prefix == planPrefixes()[0] && after == (retention.Marker{}) {
			p.judge.scanBegan()
		}
		page = p.bucket.page(prefix, after, p.plan.Page)
		return nil
	})
	return page, err
}

func (p playing) Delete(ctx context.Context, _ string, vs []retention.Version, before time.Time) (fates []retention.Fate, err error) {
	err = p.ask(ctx, fmt.Sprintf("delete %v", vs[0]), func() error {
		fates = make([]retention.Fate, len(vs))
		var sent []name
		for i, v := range vs {
			n := name{v.Key, v.ID}
			switch there := p.bucket.find(n); {
			case !time.Now().Before(before):
				fates[i] = retention.Fate{Kind: retention.FateTransient, Code: retention.CodeHoldsTooOld}
				continue
			case p.bucket.every2nd && i%2 == 0:
				fates[i] = retention.Fate{Kind: retention.FateTransient, Code: "SlowDown"}
			case there != nil && p.Locking && there.locked(time.Now()):
				fates[i] = retention.Fate{Kind: retention.FateLocked, Code: "AccessDenied", Reason: retention.ReasonLockLegalHold}
			default:
				p.bucket.remove(n)
				fates[i].Kind = retention.FateDeleted // S3 says so of what was absent, too
			}
			sent = append(sent, n)
		}
		p.judge.sent(sent)
		return nil
	})
	return fates, err
}

// Write is the report's.
func (p playing) Write(ctx context.Context, object string, data []byte) error {
	return p.ask(ctx, "report", func() error {
		p.shelf[object] = data
		return nil
	})
}

// Move makes the move unless the process is dead.
func (p playing) Move(ctx context.Context, key inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error) {
	if p.dead.Load() {
		return inbox.Run{}, errDead
	}
	return p.store.Move(ctx, key, m, c)
}

func (p *play) newID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids++
	return fmt.Sprintf("id-%d", p.ids)
}

// slice hands the record to a worker and serves it until it ends.
func (p *play) slice(r inboxtest.Record) inbox.SliceSummary {
	set := cleanup.Settings{
		DeleteScopes: p.scope, CheckTags: p.Tags, DeleteConcurrency: p.Batches, SliceBudget: 240 * time.Second,
		LeaseDuration: 90 * time.Second, ScanCeiling: 100, AttemptCeiling: 1000, Retention: 24 * time.Hour,
	}
	w := cleanup.New(playing{p}, playing{p}, playing{p}, set, time.Now, p.newID)
	w.Jitter = func(d time.Duration) time.Duration { return d / 2 }
	if p.shelf != nil {
		w.Reports = playing{p}
	}
	ended := make(chan inbox.SliceSummary, 1)
	go func() {
		_, done := w.Handle(p.t.Context(), wakeEventOf(p.t, key, r.Identity, r.Image.Wake))
		ended <- done[0]
	}()
	s := serveUntil(p, ended)
	if p.dead.Load() {
		p.judge.died()
	}
	return s
}

// serveUntil answers the worker's requests until it has ended.
func serveUntil[T any](p *play, ended <-chan T) T {
	for {
		synctest.Wait()
		select {
		case result := <-ended:
			return result
		default:
		}
		if waits := p.next(); waits != nil {
			p.serve(waits)
		} else {
			time.Sleep(100 * time.Millisecond) // the worker rests between two tries
			p.judge.look()
		}
	}
}

const (
	mostSlices = 60
	calmFrom   = 12 // slices; behind them nothing stands in the run's way
)

// work works the run to its end and holds it against the judge.
func (p *play) work(cutoff time.Time) inbox.Run {
	run := inbox.NewRun(key, scope, inbox.Selection{Bucket: bucket, Prefixes: planPrefixes(), Cutoff: cutoff}, "hash", "d-1", time.Now()).Start(p.newID())
	if existing, err := p.store.Claim(p.t.Context(), inbox.Claim{Delivery: inbox.Delivery{ID: "d-1"}, Run: run}); err != nil || existing != nil {
		p.judge.wrong("claim: %+v, %v", existing, err)
		return run
	}
	for n := range mostSlices {
		if n == calmFrom {
			p.calm = true
			p.lift(func(r row) bool { return r.stop })
		}
		for _, r := range p.store.Drain() {
			p.dead.Store(false)
			p.slice(r)
		}
		now, err := p.store.Run(p.t.Context(), key)
		if err != nil || now.State == inbox.StateDone || now.State == inbox.StateFailed {
			if err != nil {
				p.judge.wrong("read the run: %v", err)
				return run
			}
			return *now
		}
		time.Sleep(2 * time.Hour) // longer than a lease and than any pause
		p.judge.look()
		p.wake()
	}
	p.judge.wrong("the run has not ended after %d slices", mostSlices)
	return run
}

// wake makes the sweeper's move. A wake that a yield has set is there already, and on the stream.
func (p *play) wake() {
	_, err := p.store.Move(p.t.Context(), key, inbox.Wake(), inbox.Change{
		Now: time.Now(), NewWake: p.newID(), WakeBefore: time.Now().Add(-time.Minute),
	})
	if _, refused := errors.AsType[*inbox.Refused](err); err != nil && !refused {
		p.judge.wrong("wake: %v", err)
	}
}

// tell plays the plan in a bubble and returns the run's end and what was wrong.
func (p plan) tell(t *testing.T, scopes []string, after func(*play, inbox.Run)) (says []string) {
	return p.begin(t, scopes, func(on *play, cutoff time.Time) { after(on, on.work(cutoff)) })
}

// begin fills the bucket of the plan in a bubble, lets something happen there, and returns what was wrong.
func (p plan) begin(t *testing.T, scopes []string, then func(on *play, cutoff time.Time)) (says []string) {
	synctest.Test(t, func(t *testing.T) {
		cutoff := time.Now()
		m := newMemory(time.Now)
		m.locking = p.Locking
		on := &play{others: newOthers(p, m, time.Now, cutoff), t: t, bucket: m, scope: scopes, shelf: map[string][]byte{}}
		on.fill(cutoff, func(at time.Time) { m.now = func() time.Time { return at } })
		m.now = time.Now
		time.Sleep(beforehand)
		on.judge.look()
		then(on, cutoff)
		says = on.judge.says
	})
	return says
}

func verdictOf(p plan, says []string) string { return strings.Join(says, "\n") + "\n" + p.String() }
