package measures

import (
	"context"
	"fmt"

	"custody/internal/cmd/bench/contenders"
	"custody/internal/cmd/bench/results"
	"custody/internal/cmd/bench/server"
)

// What the cleanup process may hold at most: of Go's heap, and resident.
const (
	mostHeapMiB    = 64
	mostResidentMB = 128
)

// flat is what counts as memory that does not grow with the versions: between a tenth of them and all of them.
const flat = 1.25

// load is one size and shape of bucket.
type load struct {
	versions, perKey int
	settings         map[string]string
	what             string
}

// loads are a hundredth, a tenth and all of the versions, all of them on one key, and a tenth with tags read, which is as shipped:
// to read the tags of all of them takes minutes, and holds no more than one batch's at a time.
func loads(most int) []load {
	return []load{
		{most / 100, 5, contenders.Reporting(), "report on"},
		{most / 10, 5, contenders.Reporting(), "report on"},
		{most, 5, contenders.Reporting(), "report on"},
		{most, most, contenders.Reporting(), "of one key, report on"},
		{most / 10, 5, contenders.Shipped(), "as shipped"},
	}
}

// Memory looks at the most memory that the process of a slice ever holds. It is one round: the figure is not a time.
func (b Bench) Memory(ctx context.Context) ([]results.Figure, error) {
	all := loads(b.Memories)
	var figures []results.Figure
	resident := make([]results.Figure, len(all))
	for i, l := range all {
		o, err := b.peaks(ctx, l)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		name := fmt.Sprintf("custody, %d versions %s", l.versions, l.what)
		heap := results.Figure{Measure: "peak heap of a slice's process", Contender: name, Unit: "MiB", Target: results.AtMost(mostHeapMiB)}
		resident[i] = results.Figure{Measure: "peak resident memory of a slice's process", Contender: name, Unit: "MB",
			Target: results.AtMost(mostResidentMB)}
		figures = append(figures, measured(heap, float64(o.Heap)/(1<<20), err, "no collection was traced"))
		resident[i] = measured(resident[i], float64(o.Resident)/1e6, err, "the system does not tell it (no /proc)")
		b.say("  %s: heap %d MiB, resident %.0f MB, %d slices, %.1f s", name, o.Heap>>20, float64(o.Resident)/1e6, o.Slices, o.Elapsed.Seconds())
	}
	figures = append(figures, resident...)
	return append(figures, growth(resident[1], resident[2]), growth(resident[1], resident[3])), nil
}

// measured is a figure of one round, unless something went wrong or the system did not tell.
func measured(f results.Figure, value float64, err error, unknown string) results.Figure {
	switch {
	case err != nil:
		return f.Without("failed: " + err.Error())
	case value == 0:
		return f.Without(unknown)
	}
	return f.Of([]float64{value})
}

func growth(from, to results.Figure) results.Figure {
	f := results.Figure{Measure: "growth of peak resident memory", Contender: to.Contender, Against: from.Contender,
		Unit: results.UnitRatio, Target: results.AtMost(flat), Note: "flat, as the harness reads it"}
	ratios, err := results.Ratios(to.Rounds, from.Rounds)
	if err != nil || len(ratios) == 0 {
		return f.Without("there is no peak of both")
	}
	return f.Of(ratios)
}

func (b Bench) peaks(ctx context.Context, l load) (contenders.Outcome, error) {
	s := stock(l.versions, prefix)
	s.PerKey = l.perKey
	c := contenders.Custody{Name: "custody", Binary: b.Programs.Cleanup, Settings: l.settings, GCTrace: true}.Contender()
	return b.turn(ctx, server.Limits{}, s, c)
}
