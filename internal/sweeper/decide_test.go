package sweeper_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/sweeper"
)

var (
	noon     = time.Date(2026, 8, 30, 12, 0, 0, 0, time.UTC)
	settings = sweeper.Settings{WakeAfter: 2 * time.Minute, Limit: 500, AttemptCeiling: 12}
)

func TestDecide(t *testing.T) {
	t.Parallel()
	pending := inbox.Run{Type: "cleanup.run", Key: "r-1", State: inbox.StatePending, OpenSince: noon.Add(-time.Hour)}
	woken := func(ago time.Duration, count int) inbox.Run {
		r := pending
		r.Wake, r.WakeAt, r.WakeCount = "w-1", noon.Add(-ago), count
		return r
	}
	running := pending
	running.State = inbox.StateRunning
	leased := func(left time.Duration) inbox.Run {
		r := running
		r.LeaseExpiresAt, r.Attempts = noon.Add(left), 1
		return r
	}
	parked := func(left time.Duration) inbox.Run {
		r := pending
		r.NextAttemptAt, r.Attempts = noon.Add(left), 3
		return r
	}
	with := func(r inbox.Run, attempts int) inbox.Run {
		r.Attempts = attempts
		return r
	}
	wake := func(why sweeper.Reason, backoff time.Duration) sweeper.Decision {
		return sweeper.Decision{Action: sweeper.ActionWake, Reason: why, Backoff: backoff}
	}
	leave := func(why sweeper.Reason) sweeper.Decision {
		return sweeper.Decision{Action: sweeper.ActionLeave, Reason: why}
	}
	giveUp := sweeper.Decision{Action: sweeper.ActionGiveUp, Reason: sweeper.ReasonCeiling}
	done := pending
	done.State = inbox.StateDone

	for name, c := range map[string]struct {
		row  inbox.Run
		want sweeper.Decision
	}{
		"a wake a millisecond younger than the backoff may still arrive": {woken(2*time.Minute-time.Millisecond, 0), leave(sweeper.ReasonFreshWake)},
		"a wake as old as the backoff is stale":                          {woken(2*time.Minute, 0), wake(sweeper.ReasonStaleWake, 2*time.Minute)},
		"after one wake the backoff is doubled":                          {woken(4*time.Minute-time.Millisecond, 1), leave(sweeper.ReasonFreshWake)},
		"after one wake and the doubled backoff it is stale again":       {woken(4*time.Minute, 1), wake(sweeper.ReasonStaleWake, 4*time.Minute)},
		"after four wakes it is 32 minutes":                              {woken(32*time.Minute, 4), wake(sweeper.ReasonStaleWake, 32*time.Minute)},
		"the backoff ends at an hour":                                    {woken(time.Hour, 5), wake(sweeper.ReasonStaleWake, time.Hour)},
		"the backoff does not overflow":                                  {woken(time.Hour, 1_000_000), wake(sweeper.ReasonStaleWake, time.Hour)},
		"just before an hour, after many wakes":                          {woken(time.Hour-time.Millisecond, 99), leave(sweeper.ReasonFreshWake)},

		"a lease with a millisecond left is live":              {leased(time.Millisecond), leave(sweeper.ReasonLeased)},
		"a lease that ends now is over, and is woken at once":  {leased(0), wake(sweeper.ReasonNoWake, 2*time.Minute)},
		"a lease that ran out long ago is woken at once":       {leased(-time.Hour), wake(sweeper.ReasonNoWake, 2*time.Minute)},
		"a lapsed run that was woken a moment ago is left":     {func() inbox.Run { r := leased(-time.Second); r.Wake, r.WakeAt, r.WakeCount = "w", noon, 1; return r }(), leave(sweeper.ReasonFreshWake)},
		"a parked run whose time has not come is left":         {parked(time.Millisecond), leave(sweeper.ReasonNotDue)},
		"a parked run whose time has come is woken":            {parked(0), wake(sweeper.ReasonNoWake, 2*time.Minute)},
		"a run without a wake and without a time is woken":     {pending, wake(sweeper.ReasonNoWake, 2*time.Minute)},
		"one attempt below the ceiling is woken":               {with(parked(-1), 11), wake(sweeper.ReasonNoWake, 2*time.Minute)},
		"at the ceiling it is given up":                        {with(parked(-1), 12), giveUp},
		"beyond the ceiling too, as when the ceiling sank":     {with(parked(-1), 40), giveUp},
		"at the ceiling it is given up before it is due":       {with(parked(time.Hour), 12), giveUp},
		"at the ceiling it is given up with a fresh wake":      {with(woken(0, 0), 12), giveUp},
		"at the ceiling a live slice may still make progress":  {with(leased(time.Second), 12), leave(sweeper.ReasonLeased)},
		"at the ceiling a lapsed lease is no reason to wait":   {with(leased(0), 12), giveUp},
		"a row whose run has ended is left":                    {done, leave(sweeper.ReasonNotOpen)},
		"a row whose run has ended is left, even at a ceiling": {with(done, 12), leave(sweeper.ReasonNotOpen)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, sweeper.Decide(c.row, noon, settings)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The limit of an hour holds for a first backoff that is no power of two away from it, and for one above it.
func TestBackoffNeverExceedsAnHour(t *testing.T) {
	t.Parallel()
	row := inbox.Run{State: inbox.StatePending, Wake: "w", WakeAt: noon.Add(-24 * time.Hour)}
	for _, first := range []time.Duration{time.Second, 7 * time.Minute, time.Hour, 2 * time.Hour} {
		last := time.Duration(0)
		for wakes := range 20 {
			row.WakeCount = wakes
			got := sweeper.Decide(row, noon, sweeper.Settings{WakeAfter: first, AttemptCeiling: 12}).Backoff
			if got > time.Hour || got < last {
				t.Errorf("after %d wakes and a first backoff of %s: %s behind %s", wakes, first, got, last)
			}
			last = got
		}
	}
}
