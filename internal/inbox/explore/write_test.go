package explore_test

import (
	"errors"
	"fmt"

	"custody/internal/inbox"
)

// nobody makes a write: not one of the workers.
const nobody = -1

// write puts one move to the store, with the checks that every write must pass, and carries the answer over into the state.
// Refused, it returns the run that refused it. The worker is the one that makes it, or nobody.
func (x *explorer) write(s *state, by int, m inbox.Move, c inbox.Change) (inbox.Run, bool) {
	m, c = x.rewrite(x.table[m.Name], c)
	was := s.run.expand()
	x.store.Set(was)
	is, err := x.store.Move(x.ctx, runKey, m, c)
	if refused, ok := errors.AsType[*inbox.Refused](err); ok {
		return *refused.Run, false
	}
	if err != nil {
		x.violated("%v", err)
		return was, false
	}
	x.checkWrite(s, by, m.Name, c, was, is)
	record := s.run.record
	switch {
	case is.LeaseRecord == "":
		record = 0
	case is.LeaseRecord != was.LeaseRecord:
		record = s.workers[by].record
	}
	s.run = compress(is, record)
	x.follow(s, by, m.Name, c)
	x.stream(s, is.Wake != was.Wake)
	return is, true
}

// stream appends what the write put on the stream. Records with another wake than the item's are told apart no further.
func (x *explorer) stream(s *state, changed bool) {
	if changed {
		for i := range s.queue {
			s.queue[i].current = false
		}
		for i := range s.workers {
			s.workers[i].current = false
		}
	}
	for range x.store.Drain() {
		if !s.push(record{id: newRecord, current: true}) {
			x.violated("records multiply: more than %d of one run are outstanding", queueCap)
		}
	}
}

// follow keeps what is true of the run beside the item.
func (x *explorer) follow(s *state, by int, move string, c inbox.Change) {
	t := &s.truth
	switch move {
	case inbox.MoveAcquire:
		t.attempts++
		x.markLate(s, s.workers[by].record)
	case inbox.MoveRetry, inbox.MoveRelease:
		*t = truth{line: line{scan: 1, late: s.world.late == versionThere}}
		x.markLate(s, 0)
	case inbox.MoveCheckpoint, inbox.MoveYield, inbox.MovePark, inbox.MoveComplete, inbox.MoveFail:
		w := s.workers[by]
		t.line = w.line
		switch {
		case w.progress:
			t.attempts = 0
		case c.Err.Category == inbox.CategoryStopped: // the brake takes this slice's attempt back
			t.attempts = w.attempts - 1
		}
		if move != inbox.MoveCheckpoint {
			x.markLate(s, 0)
		}
	}
	if int(s.run.attempts) != int(t.attempts) {
		x.violated("%s leaves %d attempts, and %d slices in a row made no progress", move, s.run.attempts, t.attempts)
	}
}

// markLate: when a slice begins, every record that is there by then, save its own, has nothing more to say; when one ends,
// or an operator starts the run again, no record that is there has.
func (x *explorer) markLate(s *state, record uint8) {
	for i := range s.queue[:s.queued] {
		s.queue[i].late = s.queue[i].late || s.queue[i].id != record
	}
	for i := range s.workers {
		if w := &s.workers[i]; w.phase == starting || w.phase == asking {
			w.late = w.late || w.record != record
		}
	}
}

// checkWrite holds a write that the store accepted against the invariants.
func (x *explorer) checkWrite(s *state, by int, move string, c inbox.Change, was, is inbox.Run) {
	if is.State == inbox.StatePending || is.State == inbox.StateRunning {
		x.require(is.Attempts <= x.attemptCeiling, "I4: %d attempts, and the ceiling is %d", is.Attempts, x.attemptCeiling)
	}
	x.require(was.State != inbox.StateDismissed, "dismissed is final, and %s changed it", move)
	x.require(was.State != inbox.StateDone || was.Mode == inbox.ModeDryRun, "done is final, and %s changed it", move)
	if broken := shape(is); broken != "" && !x.blind {
		x.violated("%s broke a rule of the item: %s", move, broken)
	}
	switch move {
	case inbox.MoveAcquire:
		x.checkAcquire(s, by, c, was, is)
	case inbox.MoveWake, inbox.MoveGiveUp:
		x.checkSweep(s, move, c, was, is)
	case inbox.MoveRetry, inbox.MoveRelease, inbox.MoveDismiss:
		if !x.blind {
			x.checkOperation(move, c, was, is)
		}
	default:
		x.checkHolder(s, by, move, c, was, is)
	}
	wakes := was.WakeCount
	switch move {
	case inbox.MoveWake:
		wakes++
	case inbox.MoveAcquire, inbox.MoveRetry, inbox.MoveRelease:
		wakes = 0
	}
	x.require(is.WakeCount == wakes, "%s leaves a wake count of %d", move, is.WakeCount)
	x.require(is.Slices == was.Slices+int(bit(move == inbox.MoveAcquire)), "%s leaves a wrong count of slices", move)
}

func (x *explorer) checkAcquire(s *state, by int, c inbox.Change, was, is inbox.Run) {
	w := s.workers[by]
	x.require(!w.late, "records multiply: a record that was late started a slice")
	x.require(was.LeaseToken != c.Token, "the repeated request of one worker counted a second slice")
	x.require(!was.NextAttemptAt.After(c.Now), "a slice began before the next attempt was due")
	x.require(!was.LeaseExpiresAt.After(c.Now) || was.LeaseRecord == c.Record,
		"I7: a live lease was taken away by another record than its own")
	x.require(was.Mode == "" && is.Mode == c.Mode || was.Mode == is.Mode, "the mode changed in the middle of a run")
	x.require(was.StartedAt.IsZero() || is.StartedAt.Equal(was.StartedAt), "the start of the run changed")
	x.require(is.LeaseExpiresAt.Equal(c.LeaseExpiresAt), "the lease is not as long as it was asked for")
	x.require(is.LeaseToken == c.Token && is.LeaseRecord == c.Record, "the lease is somebody else's")
}

// checkHolder is about the five writes that only the holder of the lease may make.
func (x *explorer) checkHolder(s *state, by int, move string, c inbox.Change, was, is inbox.Run) {
	w := s.workers[by]
	x.require(was.LeaseToken == c.Token, "I7: a worker without the lease made a %s", move)
	x.require(is.Mode == modes[w.mode], "the mode is not the one that the slice worked in")
	x.require(is.Counters == c.Counters, "%s loses the counters", move)
	switch {
	case move == inbox.MoveComplete:
		x.checkComplete(s, w)
	case move == inbox.MoveFail && c.Err.Category == inbox.CategoryVersionsRefused:
		x.require(w.line.refused, "a run fails for refused versions, and none was refused since its scan began")
	case move == inbox.MovePark:
		x.require(is.NextAttemptAt.Equal(c.NextAttemptAt), "a parked run does not wait")
	case move == inbox.MoveCheckpoint && !c.LeaseExpiresAt.IsZero():
		x.require(is.LeaseExpiresAt.Equal(c.LeaseExpiresAt), "a renewed lease is not as long as it was asked for")
	}
	if c.Err.Category != "" {
		x.require(is.LastError != nil && is.LastError.Category == c.Err.Category, "%s hides why the slice ended", move)
	}
	x.checkSince(move, was, is)
	x.require(int(w.line.scan) <= x.scanCeiling, "%d scans were begun, and the ceiling is %d", w.line.scan, x.scanCeiling)
}

// checkComplete is I5, told by what really lies in the bucket and happened to it.
func (x *explorer) checkComplete(s *state, w worker) {
	if modes[w.mode] != inbox.ModeDelete {
		return
	}
	x.require(!w.line.deleted, "I5: done, and the last scan deleted something")
	x.require(s.world.plain == versionGone, "I5: done, and a version that could be deleted is still there")
	x.require(s.world.stubborn == versionGone, "I5: done, and a refused version was forgotten")
	x.require(!w.line.late || s.world.late != versionThere, "I5: done, and a version is there that was there when the last scan began")
}

func (x *explorer) checkSweep(s *state, move string, c inbox.Change, was, is inbox.Run) {
	x.require(!was.LeaseExpiresAt.After(c.Now), "%s of a run under a live lease", move)
	x.checkSince(move, was, is)
	if move == inbox.MoveWake {
		x.require(!was.NextAttemptAt.After(c.Now), "wake of a run that is not due")
		x.require(was.Wake == "" || !was.WakeAt.After(c.WakeBefore), "records multiply: a wake was repeated before its backoff")
		x.require(is.WakeAt.Equal(c.Now), "a wake without its time")
		return
	}
	x.require(int(s.truth.attempts) >= c.Ceiling, "given up after %d attempts", s.truth.attempts)
	x.require(is.LastError != nil && is.LastError.Category == c.Err.Category, "given up without saying so")
	want := c.Err.Category
	if was.LastError != nil {
		want = was.LastError.Category
	}
	x.require(is.Cause != nil && is.Cause.Category == want, "given up, and the cause is lost")
}

func (x *explorer) checkOperation(move string, c inbox.Change, was, is inbox.Run) {
	x.require(is.Operation != nil && *is.Operation == c.Operation, "%s does not say by whom", move)
	if move == inbox.MoveDismiss {
		return
	}
	x.require(is.Place.Scan == 1 && is.Place.Key == "" && !is.Place.Deleted && is.Place.RefusedCount == 0, "%s keeps the place", move)
	x.require(is.NextAttemptAt.IsZero() && is.OpenSince.Equal(c.Now), "%s keeps the waiting of an earlier life", move)
	x.require(is.Wake == c.NewWake && is.WakeAt.Equal(c.Now), "%s does not wake", move)
	if move == inbox.MoveRelease {
		x.require(is.Mode == "" && is.Counters == (inbox.Counters{}), "release keeps the dry run's mode or counters")
	}
}

// checkSince: an age begins anew only where the run comes into another partition of the index.
func (x *explorer) checkSince(move string, was, is inbox.Run) {
	x.require(is.Open != was.Open || is.OpenSince.Equal(was.OpenSince), "%s makes the run look younger", move)
	x.require(is.Open == was.Open || is.Open == "" || is.OpenSince.Equal(now), "%s makes the run look older", move)
}

func (x *explorer) require(holds bool, format string, args ...any) {
	if !holds {
		x.violated(format, args...)
	}
}

// violated notes the first violation of a transition.
func (x *explorer) violated(format string, args ...any) {
	if x.violation == "" {
		x.violation = fmt.Sprintf(format, args...)
	}
}
