// Package check owns what must not grow: requests per thousand versions, round trips per claim, allocations of the handler,
// bytes of a binary, requests per tick, connections of a warm function, memory of a slice. It is tests alone, which count and
// take no times, so that they say the same on every machine. `make bench-check` runs them at their whole size; `make test` runs
// them too, smaller where the race detector makes them slow.
//
// It stands over the whole product and the local engines, and may import what a tool may.
package check
