package operator

import (
	"fmt"
	"time"

	"custody/internal/inbox"
)

// Outlook is what will happen to a run if nobody does anything.
type Outlook struct {
	Words string    // what, without the time
	At    time.Time // when; zero where it is not known, or nothing happens
}

// Next says what the run waits for. It reads the item as the functions do and decides nothing.
func Next(run inbox.Run, now time.Time) Outlook {
	switch run.State {
	case inbox.StateRecorded:
		return Outlook{Words: "nothing by itself: it was claimed in the record-only stage and waits to be released or dismissed"}
	case inbox.StateFailed:
		return Outlook{Words: "nothing by itself: it waits to be retried or dismissed, and never expires"}
	case inbox.StateDone, inbox.StateDismissed:
		return Outlook{Words: "it has ended; its item expires", At: expiryOf(run)}
	case inbox.StateRunning:
		return nextOfRunning(run, now)
	case inbox.StatePending:
		return nextOfPending(run, now)
	}
	return Outlook{Words: "unknown: this version does not know the state " + string(run.State)}
}

func expiryOf(run inbox.Run) time.Time {
	if run.TTL == 0 {
		return time.Time{}
	}
	return time.Unix(run.TTL, 0).UTC()
}

func nextOfRunning(run inbox.Run, now time.Time) Outlook {
	if run.LeaseExpiresAt.After(now) {
		return Outlook{Words: "a slice works on it, and renews its lease, which else ends", At: run.LeaseExpiresAt}
	}
	if silent(repeatedBy(run, run.LeaseExpiresAt), now) {
		return Outlook{Words: "its worker is gone, and no sweep has given it to another in time: " + deadSweeper}
	}
	return Outlook{Words: "its worker is gone: the stream's retry or the next sweep gives it to another"}
}

// What the sweeper does, and when, is in package sweeper. A stack's own WakeAfter is in none of its items: this is the template's.
const (
	wakeAfter  = 2 * time.Minute
	wakeAtMost = time.Hour
	// sweepsLate is how long a living sweeper may be behind: one sweep a minute, of which a few have more to wake than they may.
	sweepsLate = 5 * time.Minute
)

const deadSweeper = "the sweeper may be dead. Read: " + Runbook + "#oldestopenrunagealarm"

// repeatedBy is when a sweep wakes the run again: behind its last wake, twice as long for each, and where there is none at once. Zero: nobody knows.
func repeatedBy(run inbox.Run, due time.Time) time.Time {
	switch {
	case run.Wake == "":
		return due
	case run.WakeAt.IsZero():
		return time.Time{}
	}
	pause := wakeAfter
	for range min(run.WakeCount, 10) { // far beyond the longest
		pause = min(2*pause, wakeAtMost)
	}
	if again := run.WakeAt.Add(pause); again.After(due) {
		return again
	}
	return due
}

// silent reports whether no sweep has done what it was to do. Of a time that is not known it says nothing.
func silent(due, now time.Time) bool { return !due.IsZero() && now.Sub(due) > sweepsLate }

// wakesInVain is how many repeated wakes without a slice are no accident any more. With the template's WakeAfter of two minutes, and
// twice as much behind each wake, the second one comes after six minutes: one got lost, or a large slice was before it.
const wakesInVain = 2

func nextOfPending(run inbox.Run, now time.Time) Outlook {
	switch {
	case run.NextAttemptAt.After(now):
		return Outlook{Words: "it is parked; the first sweep behind its next attempt's time wakes it", At: run.NextAttemptAt}
	case silent(repeatedBy(run, run.NextAttemptAt), now) && run.Wake == "":
		return Outlook{Words: "it is due, and no sweep has woken it in time: " + deadSweeper}
	case silent(repeatedBy(run, run.NextAttemptAt), now):
		return Outlook{Words: "its wake is on the stream, no slice has begun, and no sweep has repeated it in time: " + deadSweeper}
	case run.Wake != "" && run.WakeCount >= wakesInVain:
		return Outlook{Words: fmt.Sprintf("its wake is on the stream, a sweep repeated it %d times, and no slice has begun: the stream hands "+
			"nothing out, slices fail before they begin, or other runs are before it. Read: %s#oldestopenrunagealarm", run.WakeCount, Runbook)}
	case run.Wake != "":
		return Outlook{Words: "its wake is on the stream and starts a slice; a sweep repeats one that got lost"}
	}
	return Outlook{Words: "it is due: the next sweep wakes it"}
}
