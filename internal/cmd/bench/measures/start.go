package measures

import (
	"context"
	"fmt"

	"custody/internal/cmd/bench/results"
)

// startsPerRound are taken together: one start is some milliseconds, and one that met a busy core is several times as long.
const startsPerRound = 15

// Start compares the start of each function with that of the least function there is.
func (b Bench) Start(ctx context.Context) ([]results.Figure, error) {
	starters := b.Programs.Starters()
	times := make([][]float64, len(starters)) // milliseconds, of each round
	for round := range b.Rounds {
		each := make([][]float64, len(starters))
		for turn := range startsPerRound {
			for i := range starters {
				who := (i + turn) % len(starters)
				took, err := starters[who].Start(ctx, b.Server)
				if err != nil {
					return nil, fmt.Errorf("start %s: %w", starters[who].Name, err)
				}
				each[who] = append(each[who], float64(took.Microseconds())/1000)
			}
		}
		for i := range starters {
			times[i] = append(times[i], results.Median(each[i]))
			b.say("  round %d %s %.1f ms", round+1, starters[i].Name, results.Median(each[i]))
		}
	}
	last := len(starters) - 1
	var figures []results.Figure
	for i, s := range starters[:last] {
		ratios, err := results.Ratios(times[i], times[last])
		if err != nil {
			return nil, err
		}
		figures = append(figures, results.Figure{
			Measure: "start of the process to the first next", Contender: s.Name, Against: starters[last].Name, Unit: results.UnitRatio,
			Target:  results.AtMost(4),
			Context: map[string][]float64{s.Name + ", ms": times[i], starters[last].Name + ", ms": times[last]},
		}.Of(ratios))
	}
	return figures, nil
}
