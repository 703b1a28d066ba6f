package sweeper

import (
	"time"

	"custody/internal/inbox"
)

// Settings are the bounds of a tick.
type Settings struct {
	WakeAfter      time.Duration // age of a run's last wake before the next; doubled for every wake since the last acquire
	Limit          int           // most moves of one tick
	AttemptCeiling int           // slices in a row without progress at which a run is given up
}

// maxWakeBackoff is the longest that a run waits for its next wake: an hour, as a parked run waits at most.
const maxWakeBackoff = time.Hour

// Action is what a row needs.
type Action string

const (
	// ActionLeave is a row that needs nothing now.
	ActionLeave Action = "leave"
	// ActionWake is a run that waits for a slice and will not get one by itself.
	ActionWake Action = "wake"
	// ActionGiveUp is a run that used up its attempts.
	ActionGiveUp Action = "give_up"
)

// Reason is why a row gets its action.
type Reason string

const (
	// ReasonNotOpen is a row that the index, which is a moment late, still shows.
	ReasonNotOpen Reason = "not_open"
	// ReasonLeased is a run that a slice works on.
	ReasonLeased Reason = "leased"
	// ReasonNotDue is a parked run whose next attempt has a later time.
	ReasonNotDue Reason = "not_due"
	// ReasonFreshWake is a run whose last wake may still be on the stream.
	ReasonFreshWake Reason = "fresh_wake"
	// ReasonNoWake is a run that nothing on the stream will start: parked and due, or left by a worker that died.
	ReasonNoWake Reason = "no_wake"
	// ReasonStaleWake is a run whose last wake got lost or stands in a long queue.
	ReasonStaleWake Reason = "stale_wake"
	// ReasonCeiling is a run at the attempt ceiling. No slice would take it any more.
	ReasonCeiling Reason = "ceiling"
)

// Decision is what a row needs, and why.
type Decision struct {
	Action  Action
	Reason  Reason
	Backoff time.Duration // of ActionWake: how old a present wake must be
}

// Decide looks at one row of the index. It only picks the rows that are worth a write: the conditions of the moves, which
// say the same, decide in the store.
func Decide(row inbox.Run, now time.Time, s Settings) Decision {
	switch {
	case row.State != inbox.StatePending && row.State != inbox.StateRunning:
		return Decision{Action: ActionLeave, Reason: ReasonNotOpen}
	case row.LeaseExpiresAt.After(now):
		return Decision{Action: ActionLeave, Reason: ReasonLeased}
	case row.Attempts >= s.AttemptCeiling: // whether or not it is due: waiting changes nothing
		return Decision{Action: ActionGiveUp, Reason: ReasonCeiling}
	case row.NextAttemptAt.After(now):
		return Decision{Action: ActionLeave, Reason: ReasonNotDue}
	}
	backoff := wakeBackoff(s.WakeAfter, row.WakeCount)
	switch {
	case row.Wake == "":
		return Decision{Action: ActionWake, Reason: ReasonNoWake, Backoff: backoff}
	case row.WakeAt.After(now.Add(-backoff)):
		return Decision{Action: ActionLeave, Reason: ReasonFreshWake}
	}
	return Decision{Action: ActionWake, Reason: ReasonStaleWake, Backoff: backoff}
}

// wakeBackoff doubles the pause for every wake since the last acquire. Without it, a backlog of a thousand runs would get a
// thousand further records with every tick, each in front of the records that matter.
func wakeBackoff(first time.Duration, wakes int) time.Duration {
	backoff := first
	for range wakes {
		if backoff >= maxWakeBackoff {
			break
		}
		backoff *= 2
	}
	return min(backoff, maxWakeBackoff)
}
