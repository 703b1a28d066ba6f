package measures

import (
	"context"
	"fmt"
	"io"

	"custody/internal/cmd/bench/contenders"
	"custody/internal/cmd/bench/results"
	"custody/internal/cmd/bench/server"
)

// Bench is what every measure needs.
type Bench struct {
	Server   *server.Server
	Log      io.Writer // what is going on, for whoever waits
	Rounds   int
	Versions int
	Memories int // versions of the largest bucket of which memory is measured
	Programs contenders.Programs
	Peers    []contenders.Contender
}

const (
	bucket = "bench-objects"
	prefix = "pod/wh-17/"
)

// stock is the bucket of most measures: five versions of each key, and every other key ends in a delete marker.
func stock(versions int, prefixes ...string) server.Stock {
	return server.Stock{Bucket: bucket, Prefixes: prefixes, Versions: versions, PerKey: 5, MarkerEvery: 2}
}

// race is what was seen of one contender over the rounds.
type race struct {
	contenders.Contender
	speeds []float64 // versions a second, of each round
	failed string    // the first round that went wrong; there is no figure then
}

// race lets every contender work once in each round. Whoever fails, or leaves something, is out with the reason.
func (b Bench) race(ctx context.Context, limits server.Limits, who []contenders.Contender) ([]*race, error) {
	races := make([]*race, len(who))
	for i, c := range who {
		races[i] = &race{Contender: c}
	}
	if err := b.warmUp(ctx, races); err != nil {
		return nil, err
	}
	for round := range b.Rounds {
		for i := range races {
			r := races[(i+round)%len(races)]
			if r.failed != "" {
				continue
			}
			outcome, err := b.heat(ctx, limits, r.Contender)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				r.failed = fmt.Sprintf("failed in round %d: %v", round+1, err)
				b.say("  round %d %s %s", round+1, r.Name, r.failed)
				continue
			}
			r.speeds = append(r.speeds, float64(r.Contender.Versions(b.Versions))/outcome.Elapsed.Seconds())
			b.say("  round %d %s %.2f s%s", round+1, r.Name, outcome.Elapsed.Seconds(), parked(outcome))
		}
	}
	return races, nil
}

// warmVersions are enough to start a program and have it do everything once.
const warmVersions = 1000

// warmUp lets everybody work once without a figure: the first start of a program reads it from the disk, which says nothing about
// it. Who cannot do the work is out here already.
func (b Bench) warmUp(ctx context.Context, races []*race) error {
	few := b
	few.Versions = min(b.Versions, warmVersions)
	for _, r := range races {
		_, err := few.heat(ctx, server.Limits{}, r.Contender)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			r.failed = fmt.Sprintf("failed before the first round: %v", err)
			b.say("  %s %s", r.Name, r.failed)
		}
	}
	return nil
}

func parked(o contenders.Outcome) string {
	if o.Slices < 2 {
		return ""
	}
	return fmt.Sprintf(", %d slices, %d of them parked", o.Slices, o.Parked)
}

// heat is one contender's turn in a race.
func (b Bench) heat(ctx context.Context, limits server.Limits, c contenders.Contender) (contenders.Outcome, error) {
	return b.turn(ctx, limits, stock(c.Versions(b.Versions), prefix), c)
}

// turn is a full bucket, the work of one contender, and the look at what is left.
func (b Bench) turn(ctx context.Context, limits server.Limits, s server.Stock, c contenders.Contender) (contenders.Outcome, error) {
	stocked, err := b.ready(ctx, limits, s)
	if err != nil {
		return contenders.Outcome{}, err
	}
	outcome, err := c.Run(ctx, contenders.Job{Server: b.Server, Bucket: bucket, Prefix: prefix})
	if err != nil {
		return outcome, err
	}
	return outcome, stocked.Verify(ctx)
}

// ready fills the bucket and empties that of the reports, without limits, which hold from then on.
func (b Bench) ready(ctx context.Context, limits server.Limits, s server.Stock) (*server.Stocked, error) {
	if err := b.Server.SetLimits(ctx, server.Limits{}); err != nil {
		return nil, err
	}
	stocked, err := b.Server.Fill(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := b.emptyReports(ctx); err != nil {
		return nil, err
	}
	return stocked, b.Server.SetLimits(ctx, limits)
}

// emptyReports makes the report's bucket anew, so that no round pays for the reports of those before it.
func (b Bench) emptyReports(ctx context.Context) error {
	_, err := b.Server.Fill(ctx, server.Stock{Bucket: contenders.ReportBucket, Prefixes: []string{"none/"}, PerKey: 1})
	return err
}

func (b Bench) say(format string, a ...any) { fmt.Fprintf(b.Log, format+"\n", a...) }

// against is the ratio of two races, round by round.
func against(measure string, of, to *race, target *results.Target) results.Figure {
	f := results.Figure{Measure: measure, Contender: of.Name, Against: to.Name, Unit: results.UnitRatio, Target: target}
	for _, r := range []*race{of, to} {
		if r.failed != "" {
			return f.Without(r.Name + " " + r.failed)
		}
	}
	ratios, err := results.Ratios(of.speeds, to.speeds)
	if err != nil {
		return f.Without(err.Error())
	}
	f.Context = map[string][]float64{of.Name + ", versions/s": of.speeds, to.Name + ", versions/s": to.speeds}
	return f.Of(ratios)
}

// fastest is the one with the highest median; nil where nobody has one.
func fastest(races []*race) *race {
	var best *race
	for _, r := range races {
		if r.failed == "" && (best == nil || results.Median(r.speeds) > results.Median(best.speeds)) {
			best = r
		}
	}
	return best
}
