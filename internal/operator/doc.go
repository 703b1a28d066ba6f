// Package operator owns what a person asks of a stack and does to it: which runs want attention, what one run is and will do
// next, the operator's moves, the holds and the emergency brake. A move is the inbox's own, written by the same store as the
// functions' moves. It may import the pure domain alone; the store comes through the interfaces below.
package operator
