package measures

import (
	"context"
	"errors"
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

// Course is what was seen of one contender over the rounds.
type Course struct {
	contenders.Contender
	Speeds []float64 // versions a second, of each round
	Failed string    // what went wrong first; there is no figure then
}

// Race lets every contender work once in each round. Whoever fails, or leaves something, is out with the reason.
func (b Bench) Race(ctx context.Context, limits server.Limits, who []contenders.Contender) ([]*Course, error) {
	courses := make([]*Course, len(who))
	for i, c := range who {
		courses[i] = &Course{Contender: c}
	}
	if err := b.warmUp(ctx, courses); err != nil {
		return nil, err
	}
	for round := range b.Rounds {
		for i := range courses {
			r := courses[(i+round)%len(courses)]
			if r.Failed != "" {
				continue
			}
			outcome, err := b.heat(ctx, limits, r.Contender)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				r.Failed = fmt.Sprintf("failed in round %d: %v", round+1, err)
				b.say("  round %d %s %s", round+1, r.Name, r.Failed)
				continue
			}
			r.Speeds = append(r.Speeds, float64(r.Contender.Versions(b.Versions))/outcome.Elapsed.Seconds())
			b.say("  round %d %s %.2f s%s", round+1, r.Name, outcome.Elapsed.Seconds(), parked(outcome))
		}
	}
	return courses, nil
}

// warmVersions are enough to start a program and have it do everything once.
const warmVersions = 1000

// warmUp lets everybody work once without a figure: the first start of a program reads it from the disk, which says nothing about
// it. Who cannot do the work is out here already.
func (b Bench) warmUp(ctx context.Context, courses []*Course) error {
	few := b
	few.Versions = min(b.Versions, warmVersions)
	for _, r := range courses {
		_, err := few.heat(ctx, server.Limits{}, r.Contender)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			r.Failed = fmt.Sprintf("failed before the first round: %v", err)
			b.say("  %s %s", r.Name, r.Failed)
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
	if outcome.Elapsed <= 0 {
		return outcome, errors.New("the work took no time")
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

// Against is the ratio of two courses, round by round.
func Against(measure string, of, to *Course, target *results.Target) results.Figure {
	f := results.Figure{Measure: measure, Contender: of.Name, Against: to.Name, Unit: results.UnitRatio, Target: target}
	for _, r := range []*Course{of, to} {
		if r.Failed != "" {
			return f.Without(r.Name + " " + r.Failed)
		}
	}
	ratios, err := results.Ratios(of.Speeds, to.Speeds)
	if err != nil {
		return f.Without(err.Error())
	}
	f.Context = map[string][]float64{of.Name + ", versions/s": of.Speeds, to.Name + ", versions/s": to.Speeds}
	return f.Of(ratios)
}

// Fastest is the one with the highest median; nil where nobody has one.
func Fastest(courses []*Course) *Course {
	var best *Course
	for _, r := range courses {
		if r.Failed == "" && (best == nil || results.Median(r.Speeds) > results.Median(best.Speeds)) {
			best = r
		}
	}
	return best
}
