// Package sweeper owns one tick of the scheduled function that finds what got stuck: which runs are woken again, which are
// given up, and what the index of open runs says about the health of the stack. It imports the standard library and inbox.
//
// A tick reads first and writes afterwards, and its summary counts what was read: so the metrics are published although no
// run could be woken. What it writes are the moves of inbox, whose conditions decide; a run that moved on between the reading
// and the writing refuses, and two sweepers at once wake a run once.
package sweeper
