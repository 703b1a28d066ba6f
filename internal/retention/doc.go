// Package retention decides what must be kept, and why. Every decision to delete a version is made here, purely, from data:
// the version as it was listed, the cutoff of the run, and the holds as they were read. It imports the standard library only.
package retention
