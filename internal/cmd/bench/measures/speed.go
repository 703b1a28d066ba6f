package measures

import (
	"context"
	"fmt"
	"time"

	"custody/internal/cmd/bench/contenders"
	"custody/internal/cmd/bench/results"
	"custody/internal/cmd/bench/server"
)

// Speed courses everybody for the versions of one prefix, with so much added to each request.
func (b Bench) Speed(ctx context.Context, latency time.Duration) ([]results.Figure, error) {
	measure := fmt.Sprintf("speed of a slice, %d ms added", latency.Milliseconds())
	who := append([]contenders.Contender{
		contenders.Custody{Name: "custody", Binary: b.Programs.Cleanup, Settings: contenders.Lean()}.Contender(),
		contenders.Custody{Name: "custody with report", Binary: b.Programs.Cleanup, Settings: contenders.Reporting()}.Contender(),
		contenders.BareLoop("bare loop", b.Programs.BareLoop, 0),
	}, b.Peers...)
	courses, err := b.Race(ctx, server.Limits{Latency: latency}, who)
	if err != nil {
		return nil, err
	}
	custody, report, bare, peers := courses[0], courses[1], courses[2], courses[3:]

	// Only without added latency has the issue a target for the loop: where each request takes 5 ms, both mostly wait.
	var bareTarget *results.Target
	if latency == 0 {
		bareTarget = results.AtLeast(0.9)
	}
	var figures []results.Figure
	best := Fastest(peers)
	if best == nil {
		figures = append(figures, results.Figure{Measure: measure, Contender: custody.Name, Against: "the fastest peer",
			Unit: results.UnitRatio, Target: results.AtLeast(1.4)}.Without("no peer took part to its end"))
	}
	for _, peer := range peers {
		f := Against(measure, custody, peer, nil)
		if peer == best {
			f = Against(measure, custody, peer, results.AtLeast(1.4))
			f.Note = "the fastest peer"
		}
		figures = append(figures, f)
	}
	return append(figures,
		Against(measure, custody, bare, bareTarget),
		Against(measure, report, custody, results.AtLeast(0.8)),
		Against(measure, report, bare, nil)), nil
}

// Shipped courses the function with everything that is on by default against a loop that reads the same tags.
func (b Bench) Shipped(ctx context.Context) ([]results.Figure, error) {
	const latency = 5 * time.Millisecond
	courses, err := b.Race(ctx, server.Limits{Latency: latency}, []contenders.Contender{
		contenders.Custody{Name: "custody as shipped", Binary: b.Programs.Cleanup, Settings: contenders.Shipped()}.Contender(),
		contenders.BareLoop("bare loop with tags", b.Programs.BareLoop, tagReads),
	})
	if err != nil {
		return nil, err
	}
	return []results.Figure{Against("speed with everything on, 5 ms added", courses[0], courses[1], results.AtLeast(0.9))}, nil
}

// tagReads is how many tags Custody reads at once (internal/s3versions).
const tagReads = 32
