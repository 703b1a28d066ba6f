// Package explore walks every interleaving of workers, stream, sweeper, operator, clock and faults over the real table of
// moves, up to a bound, and checks the invariants in every state. It owns the model of the world around the moves and none of
// the moves themselves: its tests, which are all of it, put each move to the store in memory of package inboxtest. As tests
// they may import the features, whose pure decisions they ask.
package explore
