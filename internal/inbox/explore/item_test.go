package explore_test

import (
	"slices"
	"time"

	"custody/internal/inbox"
)

// tickTime is the model's only unit of time: a lease, the wait of a parked run and the sweeper's backoff, which ends at an hour,
// are all one tick long.
const tickTime = time.Hour

var (
	now    = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	before = now.Add(-24 * time.Hour) // of times that nothing compares

	runKey     = inbox.RunKey{Type: "cleanup.run", Key: "r-1"}
	states     = inbox.States()
	partitions = []string{"", "open", "failed", "recorded"}
	modes      = []inbox.Mode{"", inbox.ModeDelete, inbox.ModeDryRun}
	keys       = []string{"", "a"} // the place at the start of the only key, and behind it
)

const (
	itemWake, otherWake, newWake = "wake-item", "wake-other", "wake-new"
	// Of a run in the model only the change counts.
	slicesSoFar, wakesSoFar = 5, 1
)

func tokenOf(holder uint8) string { return []string{"", "token-1", "token-2", "token-dead"}[holder] }

func recordName(id uint8) string { return "record-" + string(rune('A'+id)) }

func wakeOf(current bool) string {
	if current {
		return itemWake
	}
	return otherWake
}

func stateOf(s inbox.State) uint8 { return uint8(slices.Index(states, s)) }

// expand makes the item that the store holds of the state's.
func (i item) expand() inbox.Run {
	r := inbox.Run{
		Type: runKey.Type, Key: runKey.Key, State: states[i.state], Scope: "s", CommandHash: "h", DeliveryID: "d",
		Mode: modes[i.mode], Attempts: int(i.attempts), Slices: slicesSoFar, LeaseToken: tokenOf(i.holder),
		WakeCount: wakesSoFar, Place: i.place.expand(), ReceivedAt: before, Open: partitions[i.open],
	}
	if i.next > nextNone || r.State == inbox.StateFailed { // a run that was never parked has none, and may be given up so
		r.LastError = &inbox.LastError{Category: inbox.CategoryUnavailable}
	}
	if r.State == inbox.StateFailed {
		r.Cause = &inbox.LastError{Category: inbox.CategoryUnavailable}
	}
	if i.lease > leaseNone {
		r.LeaseExpiresAt = now.Add(time.Duration(i.lease-leaseOver) * tickTime)
	}
	if i.record > 0 {
		r.LeaseRecord = recordName(i.record)
	}
	if i.wake > wakeNone {
		r.Wake, r.WakeAt = itemWake, now.Add(-time.Duration(i.wake-wakeYoung)*tickTime)
	}
	if i.next > nextNone {
		r.NextAttemptAt = now.Add(time.Duration(i.next-nextDue) * tickTime)
	}
	r.Counters = counters(i.place)
	if i.mode > 0 {
		r.StartedAt = before
	}
	if r.Open != "" {
		r.OpenSince = before
	}
	if ended(r.State) {
		r.EndedAt = before
	}
	if expires(r.State) {
		r.TTL = 1
	}
	if r.State == inbox.StateDismissed {
		r.Operation = &inbox.Operation{By: "somebody"}
	}
	return r
}

// compress is the item as the model keeps it. What it leaves out was checked by shape.
func compress(r inbox.Run, record uint8) item {
	i := item{
		state: stateOf(r.State), open: uint8(slices.Index(partitions, r.Open)), mode: uint8(slices.Index(modes, r.Mode)),
		attempts: uint8(r.Attempts), record: record, place: compressPlace(r.Place),
	}
	for h := uint8(1); h <= deadHolder; h++ {
		if r.LeaseToken == tokenOf(h) {
			i.holder = h
		}
	}
	if t := r.LeaseExpiresAt; !t.IsZero() {
		i.lease = leaseOver + bit(t.After(now))
	}
	if t := r.NextAttemptAt; !t.IsZero() {
		i.next = nextDue + bit(t.After(now))
	}
	if r.Wake != "" {
		i.wake = wakeYoung + bit(!r.WakeAt.After(now.Add(-tickTime)))
	}
	return i
}

func (p place) expand() inbox.Place {
	return inbox.Place{Scan: int(p.scan), Key: keys[p.key], Deleted: p.deleted, RefusedCount: int64(bit(p.refused))}
}

func compressPlace(p inbox.Place) place {
	return place{scan: uint8(p.Scan), key: uint8(slices.Index(keys, p.Key)), deleted: p.Deleted, refused: p.RefusedCount > 0}
}

// counters are some that the place could not have been reached without.
func counters(p place) inbox.Counters {
	return inbox.Counters{Listed: int64(p.scan-1)*int64(len(keys)) + int64(p.key)}
}

func ended(s inbox.State) bool {
	return s == inbox.StateDone || s == inbox.StateFailed || s == inbox.StateDismissed
}

func expires(s inbox.State) bool { return s == inbox.StateDone || s == inbox.StateDismissed }

// shape says what is wrong with the item in itself: what its state promises about its other attributes.
func shape(r inbox.Run) string {
	running, open := r.State == inbox.StateRunning, r.Open == "open"
	for _, rule := range []struct {
		holds bool
		says  string
	}{
		{(r.LeaseToken != "") == running, "exactly a running run has a lease token"},
		{!r.LeaseExpiresAt.IsZero() == running, "exactly a running run has a lease that ends"},
		{(r.LeaseRecord != "") == running, "exactly a running run has the record of its lease"},
		{r.Wake == "" || open, "only an open run carries a wake"},
		{(r.Wake == "") == r.WakeAt.IsZero(), "a wake has its time, and no wake has none"},
		{!r.EndedAt.IsZero() == ended(r.State), "exactly a run that ended has the time of its end"},
		{(r.TTL != 0) == expires(r.State), "exactly done and dismissed runs expire"},
		{r.Open == r.State.OpenIndex(), "a run stands in the index partition of its state"},
		{r.OpenSince.IsZero() == (r.Open == ""), "exactly a run in the index says since when"},
		{r.NextAttemptAt.IsZero() || !running, "a running run has no next attempt"},
		{r.LastError != nil || r.State != inbox.StateFailed, "a failed run says why"},
		{r.Cause == nil || !open, "an open run has no cause of an earlier life"},
		{r.Operation != nil || r.State != inbox.StateDismissed, "a dismissed run says by whom"},
		{!running || r.Mode != "" && !r.StartedAt.IsZero(), "a running run has its mode and its start"},
		{r.Place.Scan > 0, "a run has a place"},
	} {
		if !rule.holds {
			return rule.says
		}
	}
	return ""
}
