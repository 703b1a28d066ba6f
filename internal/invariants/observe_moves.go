package invariants

import "time"

func leaseLives(i item, at time.Time) bool {
	return i.has("lease_expires_at") && i.number("lease_expires_at") > at.UnixMilli()
}

func isDue(i item, at time.Time) bool {
	return !i.has("next_attempt_at") || i.number("next_attempt_at") <= at.UnixMilli()
}

func isOpen(i item) bool { return i.text("state") == "pending" || i.text("state") == "running" }

// workerWrote checks a write of a slice: to take the lease it needs the wake or the dead lease of its own record, and for all else
// the lease (I7). The conditions are read by the worker's own clock, which is all that it can go by.
func (o *observer) workerWrote(x exchange, run *runBook, c change) {
	p, now := x.process, x.process.now()
	before, after := c.old.text("lease_token"), c.new.text("lease_token")
	if x.task.run != c.pk {
		o.violate("I7: %s wrote to %s, and was started for %s", x.call, c.pk, x.task.run)
	}
	if !isOpen(c.old) {
		o.violate("I7: %s wrote to %s, which is %s", x.call, c.pk, c.old.text("state"))
	}
	if after != "" && after != before {
		p.tokens[c.pk], p.leases[after] = after, c.pk
		o.acquired(x, c, now)
		return
	}
	if before == "" || before != p.tokens[c.pk] {
		o.violate("I7: %s wrote to %s without its lease: the item has %q, the worker %q", x.call, c.pk, before, p.tokens[c.pk])
	}
	if sum := c.new["counters"].M.number("deleted") + c.new["counters"].M.number("absent"); sum > run.confirmed {
		o.violate("%s counts %d versions as gone, S3 confirmed %d", x.call, sum, run.confirmed)
	}
	o.checkPause(x, c)
	run.writes(p, c.new["place"].M)
	o.checkPlace(x, run, c)
	if c.new.text("state") == "done" {
		o.completed(x, run, c)
		o.checkReport(run)
	}
}

// The pauses of a parked run: doubled with each attempt without progress, and at least half of that, so that their sum can be
// counted on.
const (
	firstPause = 30 * time.Second
	lastPause  = time.Hour
)

// checkPause looks at how long a run is parked.
func (o *observer) checkPause(x exchange, c change) {
	if !c.new.has("next_attempt_at") {
		return
	}
	pause := time.Duration(c.new.number("next_attempt_at")-c.new["last_error"].M.number("at")) * time.Millisecond
	most := firstPause
	if c.new["last_error"].M.text("category") != "stopped" { // the brake is looked at again and again
		for range c.new.number("attempts") {
			most = min(2*most, lastPause)
		}
	}
	if pause < max(firstPause, most/2) || pause > most {
		o.violate("%s parked %s for %s after %d attempts without progress, want half to all of %s, and %s at least", x.call, c.pk, pause,
			c.new.number("attempts"), most, firstPause)
	}
}

func (o *observer) acquired(x exchange, c change, now time.Time) {
	byWake := c.old.text("wake") == x.task.wake && c.old.has("wake") && !leaseLives(c.old, now)
	byRecord := c.old.has("lease_record") && c.old.text("lease_record") == x.task.record
	switch {
	case !byWake && !byRecord:
		o.violate("I7: %s took the lease of %s, with neither its wake nor its own dead lease", x.call, c.pk)
	case c.old.number("attempts") >= int64(o.world.set.AttemptCeiling):
		o.violate("%s took %s with %d attempts", x.call, c.pk, c.old.number("attempts"))
	case !isDue(c.old, now):
		o.violate("%s took %s, which is not due", x.call, c.pk)
	case c.new.number("attempts") != c.old.number("attempts")+1 || c.new.number("slices") != c.old.number("slices")+1:
		o.violate("%s took %s, and %d attempts became %d, %d slices %d", x.call, c.pk, c.old.number("attempts"), c.new.number("attempts"),
			c.old.number("slices"), c.new.number("slices"))
	case c.new.has("wake"):
		o.violate("%s left the wake of %s", x.call, c.pk)
	case c.old.has("mode") && !same(c.old, c.new, "mode"):
		o.violate("%s changed the mode of %s", x.call, c.pk)
	}
}

// lastWakeAfter is how old a wake must be at its latest repetition.
const lastWakeAfter = time.Hour

func (o *observer) sweeperWrote(x exchange, _ *runBook, c change) {
	now := x.process.now()
	if !isOpen(c.old) || leaseLives(c.old, now) {
		o.violate("I7: %s moved %s, which is %s under a lease until %d", x.call, c.pk, c.old.text("state"), c.old.number("lease_expires_at"))
	}
	if c.new.text("state") == "failed" {
		if c.old.number("attempts") < int64(o.world.set.AttemptCeiling) || c.new.has("wake") || c.new.has("lease_token") {
			o.violate("%s gave %s up after %d attempts, with wake %q and lease %q left", x.call, c.pk, c.old.number("attempts"),
				c.new.text("wake"), c.new.text("lease_token"))
		}
		return
	}
	// The sweeper doubles by the count that it read. A wake that hung for minutes can land between its reading and its write, with
	// the time at which it was sent, so one doubling less is what it can promise. The value stays, so no wake is added by that.
	backoff := o.terms.wakeAfter
	for range c.old.number("wake_count") - 1 {
		backoff = min(2*backoff, lastWakeAfter)
	}
	switch {
	case !isDue(c.old, now):
		o.violate("%s woke %s before it is due", x.call, c.pk)
	case c.old.has("wake") && now.Sub(time.UnixMilli(c.old.number("wake_at"))) < backoff:
		o.violate("%s woke %s again, whose wake %d may still be on its way", x.call, c.pk, c.old.number("wake_count"))
	case c.old.has("wake") && !same(c.old, c.new, "wake"):
		o.violate("%s changed the wake of %s: wakes multiply", x.call, c.pk)
	case !same(c.old, c.new, "state", "lease_token", "lease_record", "attempts", "slices", "place", "counters"):
		o.violate("%s changed more than the wake of %s", x.call, c.pk)
	}
}

func (o *observer) operatorWrote(x exchange, run *runBook, c change) {
	place := c.new["place"].M
	released := c.old.text("state") == "done" && c.old.text("mode") == "dry_run" && !c.new.has("mode")
	switch c.new.text("state") {
	case "pending":
		if c.old.text("state") != "failed" && !released || place.number("scan") != 1 || place.text("key") != "" || place.number("prefix") != 0 ||
			c.new.number("attempts") != 0 || place.number("refused_count") != 0 || c.new.has("lease_token") {
			o.violate("%s restarted %s, which was %s, with an old life left in it", x.call, c.pk, c.old.text("state"))
		}
		run.scan, run.reads, run.marks = 0, nil, marksBook{}
	case "dismissed":
		if c.new.has("lease_token") || c.new.has("wake") {
			o.violate("%s dismissed %s with a lease or wake left", x.call, c.pk)
		}
	default:
		o.violate("%s moved %s to %s", x.call, c.pk, c.new.text("state"))
	}
}
