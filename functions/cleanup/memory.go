package main

import (
	"runtime/debug"
	"strconv"
)

const (
	// gcPercent lets the heap grow to three times of what is alive before it is collected. A slice keeps some 7 MiB alive however many
	// versions it deletes, and collecting half as often saves a tenth of its time: a page of the listing is 90,000 small values.
	gcPercent = 200
	// limitShare is the part of the function's memory at which the runtime collects as often as it takes: a scope with tens of thousands
	// of holds keeps more alive. The rest is for what the limit does not count, the program's own file above all.
	limitShare = 0.75
)

// tuneCollector is for Lambda, which says in its environment how much memory there is. What an operator sets goes before it.
func tuneCollector(variable func(string) string) {
	if variable("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if limit, ok := memoryLimit(variable("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")); ok && variable("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

// memoryLimit is in bytes, of a memory size in MB; false where none is given, as outside of Lambda.
func memoryLimit(megabytes string) (int64, bool) {
	n, err := strconv.ParseUint(megabytes, 10, 32)
	if err != nil || n == 0 {
		return 0, false
	}
	return int64(float64(n<<20) * limitShare), true
}
