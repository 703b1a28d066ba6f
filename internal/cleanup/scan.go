package cleanup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// checkpointEvery is how often a running slice writes its place at most. A crash repeats at most that much listing.
const checkpointEvery = time.Second

// scan is one pass over what is left of the selection. One goroutine, the loop below, owns the ledger and the queue; listing and
// deleting run beside it and hand their results back.
type scan struct {
	*slice
	pages   <-chan listed
	results chan batchResult
	queue   queue
	flying  int // batches on their way

	key       *keyWork // the key that the listing stands in, nil between keys
	keyName   string
	oneKey    int // pages in a row that showed no key but this one
	listedAll bool
	stop      error // why nothing new is started
	failed    error // the first error of a batch
}

// scan runs until the whole selection is listed and every version settled (nil), or something stops it. What is on its way
// when it is stopped is waited for, so that its fate is known.
func (s *slice) scan(ctx context.Context, budget <-chan time.Time) error {
	listing, endListing := context.WithCancel(ctx)
	defer endListing()
	c := &scan{slice: s, pages: s.list(listing, s.ledger.place), results: make(chan batchResult)}
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	for {
		c.launch(ctx)
		if c.finished() {
			return c.verdict()
		}
		if c.step(ctx, tick.C, budget); c.stop != nil {
			endListing()
		}
	}
}

// step waits for one thing to happen and takes it in. Behind a write that took long, several have happened: the fates of versions
// come first, so that the next write carries them, then the end of the time, so that nothing new is begun behind it. No choice is
// left to chance, so that a history can be played again.
func (c *scan) step(ctx context.Context, tick, budget <-chan time.Time) {
	select {
	case r := <-c.results:
		c.settle(r)
		return
	default:
	}
	switch {
	case ctx.Err() != nil:
		c.cutOff(ctx)
		return
	case over(budget):
		c.halt(errOutOfBudget)
		return
	case over(tick):
		c.halt(c.checkpoint(ctx))
		return
	}
	select {
	case p, more := <-c.wanted():
		c.take(ctx, p, more)
	case r := <-c.results:
		c.settle(r)
	case <-tick:
		c.halt(c.checkpoint(ctx))
	case <-budget:
		c.halt(errOutOfBudget)
	case <-ctx.Done():
		c.cutOff(ctx)
	}
}

// cutOff ends the work with the context.
func (c *scan) cutOff(ctx context.Context) {
	c.halt(context.Cause(ctx))
	c.await()
}

func over[T any](signal <-chan T) bool {
	select {
	case <-signal:
		return true
	default:
		return false
	}
}

// halt stops new work at the first reason, and with it the slice.
func (c *scan) halt(why error) {
	if c.stop == nil && why != nil {
		c.stop = why
		close(c.closing)
	}
}

// await takes the results of what is on its way; the context has ended, so the wait is short.
func (c *scan) await() {
	for c.flying > 0 {
		c.settle(<-c.results)
	}
}

func (c *scan) finished() bool {
	return c.flying == 0 && (c.stop != nil || c.listedAll && c.queue.empty())
}

// wanted is the channel of pages while there is room for more work: a slow delete holds back the listing, so that memory does
// not grow with the run.
func (c *scan) wanted() <-chan listed {
	if c.stop != nil || c.listedAll || len(c.queue.ready) >= c.settings.DeleteConcurrency {
		return nil
	}
	return c.pages
}

func (c *scan) launch(ctx context.Context) {
	if c.stop != nil {
		return
	}
	for c.flying < c.settings.DeleteConcurrency {
		if c.listedAll {
			c.queue.drain(c.flying)
		}
		items := c.queue.take()
		if items == nil {
			return
		}
		c.flying++
		c.summary.Batches++
		b := batch{scan: c.ledger.place.Scan, number: c.summary.Batches, items: items}
		go func() { c.results <- c.deleteBatch(ctx, b) }()
	}
}

// take works a page: keys end where the next one begins, whatever page that is on.
func (c *scan) take(ctx context.Context, p listed, more bool) {
	switch {
	case !more:
		c.halt(context.Cause(ctx))
		return
	case p.end:
		c.listedAll = true
		return
	case p.err != nil:
		c.halt(p.err)
		return
	}
	c.summary.Pages++
	c.queue.page()
	c.oneKey++
	for _, v := range p.versions {
		if c.key == nil || v.Key != c.keyName {
			c.endKey(p.prefix)
			c.key, c.keyName = c.ledger.begin(), v.Key
		}
		c.see(v)
	}
	if p.last {
		c.endKey(p.prefix)
		c.ledger.endPrefix(p.prefix)
	}
}

func (c *scan) endKey(prefix int) {
	if c.key == nil {
		return
	}
	k, name := c.key, c.keyName
	c.key, c.keyName, c.oneKey = nil, "", 0
	c.sendCurrent(c.ledger.end(k, position{prefix, name}))
}

// see sorts one version of the key that is being listed. Only what is young is kept here; everything else is decided when its
// batch is about to go, by marks and holds as they are then.
func (c *scan) see(v retention.Version) {
	c.ledger.counters.Listed++
	c.ledger.slice.listed++
	d := retention.Decide(v, retention.Facts{Cutoff: c.run.Selection.Cutoff, VersioningEnabled: true})
	switch {
	case d.Reason == retention.ReasonYoung:
		c.ledger.keep(c.key, v, d.Reason)
		c.say(v, d)
	case v.Currency == retention.Current:
		c.key.current = &v
	default:
		c.key.pending++
		c.queue.add(candidate{version: v, key: c.key})
	}
}

func (c *scan) sendCurrent(current *candidate) {
	if current != nil {
		c.queue.add(*current)
	}
}

func (c *scan) settle(r batchResult) {
	c.flying--
	if r.uncertain {
		c.ledger.uncertain()
	}
	for _, d := range r.settled {
		c.sendCurrent(c.book(d))
	}
	if c.failed == nil {
		c.failed = r.err
	}
	c.halt(r.err)
}

// say tells the survey of a decision. It is called by the loop alone, so that whoever listens need not be safe for concurrent
// use, and a slow one holds back the listing.
func (c *scan) say(v retention.Version, d retention.Decision) {
	if c.tell != nil && c.stop == nil {
		c.halt(c.tell(v, d))
	}
}

// book enters one settled version into the ledger.
func (c *scan) book(d settled) *candidate {
	switch {
	case d.kind == settledRetained:
		c.say(d.version, retention.Decision{Reason: d.why})
		return c.ledger.retained(d.key, d.version, d.why)
	case d.kind == settledSelected:
		c.say(d.version, retention.Decision{Delete: true})
		return c.ledger.selected(d.key)
	case d.fate.Kind == retention.FateRefused:
		return c.ledger.refused(d.key, d.version, d.fate.Code)
	case d.fate.Kind == retention.FateLocked:
		return c.ledger.locked(d.key, d.version, d.fate.Reason)
	}
	return c.ledger.deleted(d.key, d.fate.Kind == retention.FateAbsent)
}

// verdict is why the scan ended, when the fate of everything that was on its way is known. A slice whose time is used up yields,
// with two exceptions, both without any progress. An error of a batch says more: yielding, an outage would use up the attempts
// without a pause between them. And a slice that has seen several pages of one key, and kept what it saw, will see the same
// ones again, since a place within a key is not stored.
func (c *scan) verdict() error {
	if !errors.Is(c.stop, errOutOfBudget) || c.ledger.mark() != c.started {
		return c.stop
	}
	switch {
	case c.failed != nil:
		return c.failed
	case c.oneKey >= 2 && c.key != nil && c.key.stays:
		return inbox.Failed(inbox.CategoryKeyTooLarge,
			fmt.Errorf("the versions of key %q that stay take more than a slice to list", c.keyName))
	}
	return c.stop
}

// checkpoint writes the place when there is progress, and renews the lease when a third of it is used.
func (s *slice) checkpoint(ctx context.Context) error {
	if s.movedOn.Load() {
		return nil // the run is another's: what is on its way is waited for, and nothing more is written
	}
	now, at := s.now(), s.ledger.mark()
	renew := now.Sub(s.renewedAt) >= s.settings.LeaseDuration/3
	if at == s.written && !renew {
		return nil
	}
	change := s.progress(now)
	if renew {
		change.LeaseExpiresAt = now.Add(s.settings.LeaseDuration)
	}
	if _, err := s.runs.Move(ctx, s.run.RunKey(), inbox.Checkpoint(), change); err != nil {
		return s.unwritten(err)
	}
	s.written, s.attempts = at, change.Attempts
	if renew {
		s.renewedAt = now
	}
	return nil
}

// progress is what every write of this slice carries. Attempts count slices in a row without progress.
func (s *slice) progress(now time.Time) inbox.Change {
	c := inbox.Change{Now: now, Token: s.token, Place: s.ledger.snapshot(), Counters: s.ledger.counters, Attempts: s.attempts}
	if s.ledger.mark() != s.started {
		c.Attempts = 0
	}
	return c
}

// unwritten tells a refused write from one that failed.
func (s *slice) unwritten(err error) error {
	if _, refused := errors.AsType[*inbox.Refused](err); refused {
		s.movedOn.Store(true)
		return fmt.Errorf("%w: %w", errRunMovedOn, err)
	}
	return fmt.Errorf("%w: %w", errItemUnwritten, err)
}
