package measures

import (
	"context"
	"fmt"
	"sync"

	"custody/internal/cmd/bench/contenders"
	"custody/internal/cmd/bench/results"
	"custody/internal/cmd/bench/server"
)

// deletesPerSecond is what a prefix of S3 takes (Amazon S3 User Guide, "Best practices design patterns: optimizing Amazon S3
// performance": 3,500 PUT, COPY, POST or DELETE requests a second for each prefix; each version of a DeleteObjects is one).
const deletesPerSecond = 3500

// The harness's own targets, since the issue names no number: most of the rate is used, and of two runs that began at once none
// takes half as long again as the other.
const (
	leastOfRate    = 0.8
	mostUnfairness = 1.5
)

// otherPrefix shares its first folder, and so its rate, with prefix.
const otherPrefix = "pod/wh-18/"

// Limited works below a rate limit: one run alone, then two at once that share it. Nothing may be lost, which the look at what is
// left decides, and none may starve.
func (b Bench) Limited(ctx context.Context) ([]results.Figure, error) {
	custody := contenders.Custody{Name: "custody", Binary: b.Programs.Cleanup, Settings: contenders.Lean()}.Contender()
	bare := contenders.BareLoop("bare loop", b.Programs.BareLoop, 0)
	limits := server.Limits{DeletesPerSecond: deletesPerSecond}
	alone := used("one run")
	loop := used("bare loop")
	loop.Target, loop.Note = nil, ""
	together := used("two runs at once")
	fair := results.Figure{Measure: "of two runs at once, the slower against the faster", Contender: "custody", Unit: results.UnitRatio,
		Target: results.AtMost(mostUnfairness), Note: "target of the harness"}
	var one, two, both, ratio series
	for round := range b.Rounds {
		if round > 0 && one.starved(leastOfRate/2) {
			b.say("  the further rounds are left out: each would take %d s or more", int(float64(b.limitedVersions())/deletesPerSecond/one.values[0]))
			break
		}
		one.add(b.alone(ctx, limits, custody))
		two.add(b.alone(ctx, limits, bare))
		rate, slower, err := b.together(ctx, limits, custody)
		both.add(rate, err)
		ratio.add(slower, err)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		b.say("  round %d: one run %s, bare loop %s, two runs %s, of these slower to faster %s", round+1, one, two, both, ratio)
	}
	return []results.Figure{one.figure(alone), two.figure(loop), both.figure(together), ratio.figure(fair)}, nil
}

func used(who string) results.Figure {
	return results.Figure{Measure: fmt.Sprintf("share of %d deletes a second that is used", deletesPerSecond), Contender: who,
		Unit: "of the rate", Target: results.AtLeast(leastOfRate), Note: "target of the harness"}
}

// series is the values of each round until one goes wrong.
type series struct {
	values []float64
	failed error
}

func (s *series) add(value float64, err error) {
	if s.failed == nil && err != nil {
		s.failed = err
	}
	s.values = append(s.values, value)
}

// starved is a first round so slow that more of them would take the time of the whole run and say the same.
func (s series) starved(below float64) bool { return s.failed == nil && s.values[0] < below }

func (s series) figure(f results.Figure) results.Figure {
	if s.failed != nil {
		return f.Without("failed: " + s.failed.Error())
	}
	return f.Of(s.values)
}

func (s series) String() string {
	if s.failed != nil {
		return "failed: " + s.failed.Error()
	}
	return fmt.Sprintf("%.2f", s.values[len(s.values)-1])
}

// limitedVersions are so many that the burst is a small part of them.
func (b Bench) limitedVersions() int {
	return max(b.Versions, 4*server.Limits{DeletesPerSecond: deletesPerSecond}.Burst())
}

func (b Bench) alone(ctx context.Context, limits server.Limits, c contenders.Contender) (float64, error) {
	o, err := b.turn(ctx, limits, stock(b.limitedVersions(), prefix), c)
	if err != nil {
		return 0, err
	}
	b.say("  %s: %.1f s%s%s", c.Name, o.Elapsed.Seconds(), parked(o), b.refusals(ctx))
	return ofRate(b.limitedVersions(), o), nil
}

// refusals says how many deletes were refused since the counts were last read: what a pace that does not fit looks like.
func (b Bench) refusals(ctx context.Context) string {
	taken, err := b.Server.TakeCounts(ctx)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(", %d of %d deletes refused", taken["SlowDown"], taken["DeleteObjects"])
}

// ofRate is the time that the rate alone would take, over the time that was taken. The burst is free.
func ofRate(versions int, o contenders.Outcome) float64 {
	burst := server.Limits{DeletesPerSecond: deletesPerSecond}.Burst()
	return float64(versions-burst) / deletesPerSecond / o.Elapsed.Seconds()
}

// together lets two runs of half the versions each go at once.
func (b Bench) together(ctx context.Context, limits server.Limits, c contenders.Contender) (rate, slower float64, err error) {
	half := stock(b.limitedVersions()/2, prefix, otherPrefix)
	stocked, err := b.ready(ctx, limits, half)
	if err != nil {
		return 0, 0, err
	}
	outcomes := make([]contenders.Outcome, len(half.Prefixes))
	errs := make([]error, len(half.Prefixes))
	var all sync.WaitGroup
	for i, p := range half.Prefixes {
		all.Go(func() { outcomes[i], errs[i] = c.Run(ctx, contenders.Job{Server: b.Server, Bucket: bucket, Prefix: p}) })
	}
	all.Wait()
	for _, err := range append(errs, stocked.Verify(ctx)) {
		if err != nil {
			return 0, 0, err
		}
	}
	b.say("  two runs: %.1f s%s, %.1f s%s%s", outcomes[0].Elapsed.Seconds(), parked(outcomes[0]), outcomes[1].Elapsed.Seconds(),
		parked(outcomes[1]), b.refusals(ctx))
	first, last := outcomes[0], outcomes[1]
	if first.Elapsed > last.Elapsed {
		first, last = last, first
	}
	return ofRate(stocked.Total(), last), last.Elapsed.Seconds() / first.Elapsed.Seconds(), nil
}
