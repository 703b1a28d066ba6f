// Package benchcheck owns what must not grow: requests per thousand versions, round trips per claim, allocations of the handler,
// bytes of a binary, requests per tick, connections of a warm function, memory of a slice. Its tests count, so that they say the
// same on every machine; `make bench-check` runs them at their whole size and without the race detector. Its benchmarks are the
// parts of the product one by one, for benchstat, and its measures are the ratios of work in one process, for `make bench`.
//
// It stands over the whole product and the local engines, and may import all of them. Nothing imports it but what measures.
package benchcheck
