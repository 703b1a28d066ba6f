package inprocess

import (
	"context"
	"fmt"
	"math"
	"time"

	"custody/internal/cmd/bench/results"
)

// Slope draws a line through the times of slices of several sizes, over a store that only counts, with both axes in logarithms: 1
// is a time that grows as the versions do. The figure is how far it is from 1, to either side.
func Slope(ctx context.Context, o Options) results.Figure {
	f := results.Figure{
		Measure:   "time of a slice against its versions: how far the slope is from 1",
		Contender: "slice over a store that only counts", Unit: "", Target: results.AtMost(0.05),
		Context: map[string][]float64{},
	}
	var off []float64
	for range o.Rounds {
		var times []float64
		for _, versions := range o.Versions {
			began := time.Now()
			if _, err := PaperSlice(ctx, &Paper{Versions: versions, PerKey: 3}); err != nil {
				return f.Without(err.Error())
			}
			took := time.Since(began).Seconds()
			times = append(times, took)
			name := fmt.Sprintf("%d versions, µs each", versions)
			f.Context[name] = append(f.Context[name], took*1e6/float64(versions))
		}
		slope := slopeOf(o.Versions, times)
		f.Context["slope"] = append(f.Context["slope"], slope)
		off = append(off, math.Abs(slope-1))
	}
	return f.Of(off)
}

// slopeOf is that of the least squares through the logarithms.
func slopeOf(versions []int, times []float64) float64 {
	n := float64(len(versions))
	var sumX, sumY, sumXX, sumXY float64
	for i, v := range versions {
		x, y := math.Log(float64(v)), math.Log(times[i])
		sumX, sumY, sumXX, sumXY = sumX+x, sumY+y, sumXX+x*x, sumXY+x*y
	}
	return (n*sumXY - sumX*sumY) / (n*sumXX - sumX*sumX)
}
