package main

import (
	"math"
	"runtime/debug"
	"testing"
)

// The runtime has one collector, so that these run one after the other, and leave it as it was.
func TestTheCollectorIsTunedToTheFunctionsMemoryAndWhatAnOperatorSetsGoesFirst(t *testing.T) {
	const untouched, limit = 77, int64(384 << 20) // three quarters of 512 MB
	for name, tt := range map[string]struct {
		environment map[string]string
		percent     int
		limit       int64
	}{
		"on Lambda":                   {map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512"}, gcPercent, limit},
		"elsewhere":                   {nil, gcPercent, math.MaxInt64},
		"a size that is no number":    {map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "-1"}, gcPercent, math.MaxInt64},
		"an operator sets GOGC":       {map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "GOGC": "50"}, untouched, limit},
		"an operator sets GOMEMLIMIT": {map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "GOMEMLIMIT": "1GiB"}, gcPercent, math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			percent, most := debug.SetGCPercent(untouched), debug.SetMemoryLimit(math.MaxInt64)
			tuneCollector(func(name string) string { return tt.environment[name] })
			gotPercent, gotLimit := debug.SetGCPercent(percent), debug.SetMemoryLimit(most)
			if gotPercent != tt.percent || gotLimit != tt.limit {
				t.Errorf("collected at %d %% and within %d bytes, want %d %% and %d", gotPercent, gotLimit, tt.percent, tt.limit)
			}
		})
	}
}
