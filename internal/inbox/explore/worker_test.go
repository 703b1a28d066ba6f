package explore_test

import (
	"time"

	"custody/internal/inbox"
)

// What a worker of the model does is what package cleanup does, line for line where there is something to decide:
//
//	ask, take     slice.acquire and Worker.unacquired (slice.go, handle.go): a refusal ends the record, an error fails it
//	list, verify  scan.book and slice.verify (scan.go, slice.go), one key a page, no two batches at once
//	checkpoint    slice.checkpoint (scan.go): progress, lease renewed or not
//	progress      slice.progress (scan.go): attempts 0 once anything is done since the slice began
//	end           slice.end, lastMove, ownWrite (end.go): park, yield, fail, complete; lost lease and unwritten item
//
// A checkpoint whose fate is unknown parks the run (errItemUnwritten is a passing error), so it needs no transition of its
// own: it is a checkpoint, or none, and a park behind it.

var workerNames = [2]string{"worker 1", "worker 2"}

// work emits what a worker may do next.
func (x *explorer) work(s state, w int) {
	switch s.workers[w].phase {
	case idle:
		return
	case starting, asking:
		x.ask(s, w)
	case working:
		x.list(s, w)
		x.checkpoint(s, w)
		x.endEarly(s, w)
		if s.run.holder != uint8(w+1) { // it may believe that its scan was empty
			x.end(s, w, choice, inbox.Complete(), inbox.Change{TTL: 1}, "completes the run")
		}
	}
	x.crash(s, w)
}

// crash ends the process, or the invocation with the record reported as failed (inbox.SliceUnwritten), which is the same to all
// others: a request that is lost before the write, or made and answered by an error, needs no transition of its own. A process that the stream waits for takes its delivery with it; one that is lost is no further fault:
// Lambda ends it at its timeout.
func (x *explorer) crash(s state, w int) {
	if s.workers[w].lost {
		x.leave(&s, w)
		x.emit(choice, workerNames[w], "lost before, dies", s)
		return
	}
	if x.faultsLeft {
		x.leave(&s, w)
		x.retry(&s)
		x.emit(fault, workerNames[w], "dies, or cannot reach the item", s)
	}
}

// leave empties the worker's place. What it holds stays held, by nobody.
func (x *explorer) leave(s *state, w int) {
	if s.run.holder == uint8(w+1) {
		s.run.holder = deadHolder
	}
	s.workers[w] = worker{}
}

// finish ends the invocation, and the record with it; a fault is that the stream does not hear so and delivers it again, which
// is also what an end looks like that was written and answered by an error.
func (x *explorer) finish(s state, w int, k kind, what string) {
	lost := s.workers[w].lost
	x.leave(&s, w)
	if lost {
		x.emit(k, workerNames[w], what, s)
		return
	}
	again := s
	s.pop()
	x.emit(k, workerNames[w], what, s)
	if x.faultsLeft {
		x.retry(&again)
		x.emit(fault, workerNames[w], what+", and the stream does not hear of it", again)
	}
}

// ask is the request for the lease, sent first or again.
func (x *explorer) ask(s state, w int) {
	me := s.workers[w]
	made := s
	after, ok := x.sendAsk(&made, w)
	recognised := !ok && after.LeaseToken == tokenOf(uint8(w+1))
	if ok || recognised {
		taken := made
		x.take(&taken, w, after)
		x.emit(straight, workerNames[w], "acquires the lease", taken)
	} else {
		x.require(!x.takesOver(s, me), "the retry of a record is refused the lease that its own dead process holds")
		x.finish(made, w, straight, "is refused the lease")
	}
	if me.phase == starting && x.faultsLeft {
		s.workers[w].phase = asking
		x.emit(fault, workerNames[w], "asks for the lease, and the request, on its way for long, will be repeated", s)
		made.workers[w].phase = asking
		x.emit(fault, workerNames[w], "acquires the lease and hears nothing; the request will be repeated", made)
	}
}

// takesOver tells a record that comes again after its process died: it must not wait for the end of a lease.
func (x *explorer) takesOver(s state, me worker) bool {
	return me.phase == starting && s.run.holder == deadHolder && s.run.record == me.record && int(s.run.attempts) < x.attemptCeiling
}

func (x *explorer) sendAsk(s *state, w int) (inbox.Run, bool) {
	me := s.workers[w]
	mode := inbox.ModeDryRun
	if s.world.enabled {
		mode = inbox.ModeDelete
	}
	at := now.Add(-tickTime * time.Duration(me.age))
	return x.write(s, w, inbox.Acquire(), inbox.Change{
		Now: at, Token: tokenOf(uint8(w + 1)), LeaseExpiresAt: at.Add(tickTime), Record: recordName(me.record), Wake: wakeOf(me.current),
		Ceiling: x.attemptCeiling, Mode: mode,
	})
}

// take begins the slice from what acquire returned.
func (x *explorer) take(s *state, w int, r inbox.Run) {
	lost := s.workers[w].lost
	i := compress(r, 0)
	s.workers[w] = worker{
		phase: working, lost: lost, place: i.place, attempts: i.attempts, mode: i.mode, line: s.truth.line,
	}
}

// list works the next key, or verifies the scan behind the last one.
func (x *explorer) list(s state, w int) {
	me := &s.workers[w]
	if int(me.place.key) == len(keys)-1 {
		x.verify(s, w)
		return
	}
	for _, v := range []*uint8{&s.world.late, &s.world.plain, &s.world.stubborn} {
		if modes[me.mode] != inbox.ModeDelete || *v == versionAbsent || *v == versionGone {
			continue
		}
		if v == &s.world.stubborn && *v == versionThere {
			me.place.refused, me.line.refused = true, true
			continue
		}
		*v = versionGone
		me.place.deleted, me.line.deleted = true, true
	}
	me.place.key++
	me.progress = true
	x.emit(straight, workerNames[w], "lists the key and deletes what may go", s)
}

func (x *explorer) verify(s state, w int) {
	me := &s.workers[w]
	switch {
	case me.place.refused:
		x.end(s, w, straight, inbox.Fail(), failure(inbox.CategoryVersionsRefused), "fails: versions were refused")
	case modes[me.mode] == inbox.ModeDryRun || !me.place.deleted:
		x.end(s, w, straight, inbox.Complete(), inbox.Change{TTL: 1}, "completes the run")
	case int(me.place.scan) >= x.scanCeiling:
		x.end(s, w, straight, inbox.Fail(), failure(inbox.CategoryNotConverging), "fails: the last scan still deleted")
	default:
		me.place = place{scan: me.place.scan + 1}
		me.line = line{scan: me.line.scan + 1, late: s.world.late == versionThere}
		me.progress = true
		x.emit(straight, workerNames[w], "begins the next scan", s)
	}
}

func failure(c inbox.Category) inbox.Change { return inbox.Change{Err: inbox.LastError{Category: c}} }

// progress is what every write of the slice carries.
func (x *explorer) progress(s state, w int, c inbox.Change) inbox.Change {
	me := s.workers[w]
	c.Now, c.Token, c.Place, c.Counters, c.Attempts = now, tokenOf(uint8(w+1)), me.place.expand(), counters(me.place), int(me.attempts)
	if me.progress {
		c.Attempts = 0
	}
	return c
}

// checkpoint writes the place, with the lease renewed or not. One that would change nothing is left out.
func (x *explorer) checkpoint(s state, w int) {
	me := s.workers[w]
	switch mine := s.run.holder == uint8(w+1); {
	case mine && s.run.lease == leaseOver: // more than a third of it is used
		x.sendCheckpoint(s, w, inbox.Change{LeaseExpiresAt: now.Add(tickTime)}, "writes a checkpoint and renews the lease")
	case !mine || me.place != s.run.place || s.run.attempts != 0 && me.progress:
		x.sendCheckpoint(s, w, inbox.Change{}, "writes a checkpoint")
	}
}

func (x *explorer) sendCheckpoint(s state, w int, c inbox.Change, what string) {
	c = x.progress(s, w, c)
	if _, ok := x.write(&s, w, inbox.Checkpoint(), c); !ok {
		x.finish(s, w, straight, "finds its lease lost")
		return
	}
	x.emit(choice, workerNames[w], what, s)
}

// endEarly is every way in which a slice ends before its run does.
func (x *explorer) endEarly(s state, w int) {
	later := inbox.Change{NextAttemptAt: now.Add(tickTime)}
	x.end(s, w, choice, inbox.Yield(), inbox.Change{NewWake: newWake}, "yields")
	later.Err.Category = inbox.CategoryUnavailable
	x.end(s, w, choice, inbox.Park(), later, "parks the run")
	later.Err.Category = inbox.CategoryStopped
	x.end(s, w, choice, inbox.Park(), later, "parks the run under the brake")
	x.end(s, w, choice, inbox.Fail(), failure(inbox.CategoryAccessDenied), "fails: access denied")
}

// end makes the one move that ends the slice.
func (x *explorer) end(s state, w int, k kind, m inbox.Move, c inbox.Change, what string) {
	c = x.progress(s, w, c)
	if c.Err.Category == inbox.CategoryStopped {
		c.Attempts = max(0, c.Attempts-1)
	}
	_, ok := x.write(&s, w, m, c)
	if !ok {
		x.finish(s, w, k, "finds its lease lost")
		return
	}
	x.finish(s, w, k, what)
	x.repeatEnd(s, w, m, c)
}

// repeatEnd is the same request again, since its answer was lost: it must be refused, and the worker must know its own write by
// what ownWrite asks for. Then all is as if the first answer had come.
func (x *explorer) repeatEnd(s state, w int, m inbox.Move, c inbox.Change) {
	r, ok := x.write(&s, w, m, c)
	x.require(!ok, "the repeated request of a %s is made twice", m.Name)
	x.require(ok || x.blind || r.State == m.To && r.LeaseToken == "" && r.Slices == slicesSoFar && r.Counters == c.Counters && r.Wake == wakeBehind(c),
		"a worker does not know its own %s again", m.Name)
}

// wakeBehind is the wake that the change left, as the model names it by then.
func wakeBehind(c inbox.Change) string {
	if c.NewWake != "" {
		return itemWake
	}
	return ""
}
