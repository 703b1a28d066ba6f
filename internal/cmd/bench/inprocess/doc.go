// Package inprocess owns the measures that need no other program: the webhook's handler against what it cannot do without, its
// acknowledgements against a bare loop of the same write, and the time of a slice against its versions. Its benchmarks are the
// parts of the product one by one. It may import what a tool may.
package inprocess
