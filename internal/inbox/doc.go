// Package inbox owns the durable words of Custody: deliveries, runs, their states, and the moves between the states.
//
// The moves are data (see Moves): which states a move leaves, who may make it, what must hold in the stored item, and what
// it writes. A store turns that data into one conditional write; nothing in this package reads a clock, a network or AWS.
// It imports the standard library only.
package inbox
