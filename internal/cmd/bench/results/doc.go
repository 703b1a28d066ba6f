// Package results owns the figures of a benchmark: what was measured in each round, the ratio of two contenders, whether a
// target is met, and how a whole run is written as JSON and as a table of markdown. Every measure goes through it, whoever
// takes it, so that median, range and target mean the same in each line. It imports the standard library only.
package results
