package cleanup

import (
	"context"
	"sync"
	"time"
)

const (
	// firstPause follows a round in which nothing went. It doubles with each further one in a row, up to lastPause.
	firstPause = 100 * time.Millisecond
	lastPause  = 1600 * time.Millisecond
	// refusals is how many such rounds in a row, of all deleters, end the slice: some five seconds.
	refusals = 12
	// window is the least time over which what goes through is counted, and between two changes of the rate: limits are so many a second,
	// and let a second's worth through at once.
	window = time.Second
	// firstRate is what a slice begins with at least, when it is first asked to slow down: half of what S3 takes of a prefix. Where others
	// took all of the first second, nothing was measured.
	firstRate = 1750
	// leastRate is how many versions a second are sent at least: a batch every three seconds or so.
	leastRate = 300
	// growth is how much faster deletions become with each second, in versions a second. What grows by a constant and falls by a share
	// comes out even between several runs under one limit (AIMD).
	growth = 400
)

// pace is the one brake of all deleters of a slice. S3 takes some 3,500 deletes a second under a prefix and answers SlowDown beyond
// that (userguide, optimizing-performance). Deleters that backed off one by one would each find that out anew, and the one that
// had waited longest would go on waiting.
//
// The first answer that asks to slow down sets a rate, which is what went through until then. From there on the rounds of all
// deleters begin one behind the other, in the order in which they asked for it, so far apart that the rate is kept. It grows with
// time, and a further answer of that kind lowers it, once for all rounds that were on their way then.
type pace struct {
	now    func() time.Time
	jitter func(time.Duration) time.Duration

	mu      sync.Mutex
	rate    float64   // versions a second; 0 while nothing asked to slow down
	raised  time.Time // up to when the rate has grown
	turn    time.Time // when the next round may begin
	paused  time.Time // when a round was last asked to slow down
	since   time.Time // when the count below began: at the first round, and anew with each answer that lowered the rate
	through int       // versions that went through since
	refused int       // answers in a row that asked to slow down, with nothing going through between them
}

// wait waits for the turn of a round over n versions, and returns when it begins; false when ctx or the slice ended before.
func (p *pace) wait(ctx context.Context, closing <-chan struct{}, n int) (began time.Time, ok bool) {
	if d := p.reserve(n); d > 0 && !rest(ctx, closing, d) {
		return time.Time{}, false
	}
	return p.now(), true
}

// reserve takes the next turn and returns how far away it is.
func (p *pace) reserve(n int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.since.IsZero() {
		p.since = now
	}
	if p.rate == 0 {
		return 0
	}
	p.rate += growth * now.Sub(p.raised).Seconds()
	p.raised = now
	if p.turn.Before(now) {
		p.turn = now
	}
	wait := p.turn.Sub(now)
	p.turn = p.turn.Add(p.some(time.Duration(float64(n) / p.rate * float64(time.Second))))
	return wait
}

// some is about d: what several runs wait under one limit must not keep them in step.
func (p *pace) some(d time.Duration) time.Duration { return d*3/4 + p.jitter(d/2) }

// went takes in that n versions of a round went through.
func (p *pace) went(n int) {
	if n == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.through += n
	p.refused = 0
}

// slower takes in that a round was asked to slow down. It reports whether that has happened so often in a row that nothing can be
// expected within this slice.
func (p *pace) slower(began time.Time) (hopeless bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if began.Before(p.paused) { // it was on its way when the last one was refused, and says nothing new
		return false
	}
	now := p.now()
	if in := now.Sub(p.since); p.rate == 0 || in >= window {
		p.rate = max(p.lowered(max(in, window)), leastRate)
		p.since, p.raised, p.through = now, now, 0
	}
	p.turn, p.paused = p.after(now), now
	p.refused++
	return p.refused >= refusals
}

// after is when the next round may begin behind one that was asked to slow down: behind those who wait for their turn already, since
// ahead of them it would go at the same time as one of them, twice as fast as the rate. Where nothing went since the answer before,
// no turn is worth waiting for: the next one finds out when something goes again.
func (p *pace) after(now time.Time) time.Time {
	soon := now.Add(p.some(min(firstPause<<p.refused, lastPause)))
	if p.refused == 0 && p.turn.After(soon) {
		return p.turn
	}
	return soon
}

// lowered is a rate below the one that was too high: a little less than what went through in the time, and half at least.
func (p *pace) lowered(in time.Duration) float64 {
	measured := float64(p.through) / in.Seconds()
	if p.rate == 0 {
		return max(measured, firstRate)
	}
	return max(min(measured, p.rate)*7/8, p.rate/2)
}
