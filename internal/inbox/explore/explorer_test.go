package explore_test

import (
	"context"
	"errors"
	"time"

	"custody/internal/inbox"
	"custody/internal/inbox/inboxtest"
	"custody/internal/sweeper"
)

// bounds are what makes the model finite.
type bounds struct {
	faults         int // crashes, lost answers and requests, lost and repeated records of one history
	retries        int // of a record whose delivery failed, before it is dead
	delayed        int // records that may wait while time passes
	attemptCeiling int
	scanCeiling    int
	staged         bool // the first stages instead of the last
}

// kind says what a transition takes.
type kind int

const (
	straight kind = iota // what happens when nothing goes wrong
	choice               // what the world, a person or the budget of a slice decides
	fault                // one of the bounded faults
)

// edit rewrites a move and its values on their way to the store: this is where bugs are planted.
type edit func(inbox.Move, inbox.Change) (inbox.Move, inbox.Change)

// explorer makes the transitions of the model. It keeps nothing of a state: everything is in state.
type explorer struct {
	bounds
	ctx     context.Context
	table   map[string]inbox.Move
	rewrite edit
	store   *inboxtest.Store

	blind      bool // to what a single write did to the item: only what becomes of the run counts
	faultsLeft bool // whether a history that leads here may have one more
	emit       func(k kind, who, what string, next state)
	violation  string // the first violation since it was last emptied
}

func newExplorer(ctx context.Context, b bounds, rewrite edit) *explorer {
	x := &explorer{bounds: b, ctx: ctx, table: map[string]inbox.Move{}, rewrite: rewrite, store: new(inboxtest.Store)}
	for _, m := range inbox.Moves() {
		x.table[m.Name] = m
	}
	if rewrite == nil {
		x.rewrite = func(m inbox.Move, c inbox.Change) (inbox.Move, inbox.Change) { return m, c }
	}
	return x
}

// roots are the states that a claim can leave. In the first stages the scope is not enabled for deleting, yet, and a run may be
// recorded only; in the last one it is, and the bucket is in one of two ways difficult.
func (x *explorer) roots() []state {
	var roots []state
	claim := func(run inbox.Run, w world) {
		store := new(inboxtest.Store)
		_, _ = store.Claim(x.ctx, inbox.Claim{Delivery: inbox.Delivery{ID: "d"}, Run: run})
		s := state{run: compress(run, 0), world: w, truth: truth{line: line{scan: 1}}}
		for range store.Drain() {
			s.push(record{id: 1, current: true})
		}
		roots = append(roots, s.canonical())
	}
	run := inbox.NewRun(runKey, "s", inbox.Selection{}, "h", "d", now)
	refusing := world{late: versionGone, plain: versionThere, stubborn: versionThere, enabled: true}
	growing := world{late: versionAbsent, plain: versionThere, stubborn: versionGone, enabled: true}
	staged := world{late: versionGone, plain: versionThere, stubborn: versionGone}
	if x.staged {
		claim(run.Start(itemWake), staged)
		claim(run.Record(), staged)
	} else {
		claim(run.Start(itemWake), refusing)
		claim(run.Start(itemWake), growing)
	}
	return roots
}

// successors emits every transition that leaves the state.
func (x *explorer) successors(s state) {
	x.deliver(s)
	x.recordFaults(s)
	for w := range s.workers {
		x.work(s, w)
	}
	x.sweep(s)
	x.operate(s)
	x.pass(s)
}

// pass is what happens by itself: time, and a version that appears late (a multipart upload that is completed).
func (x *explorer) pass(s state) {
	if int(s.queued) <= x.delayed {
		x.emit(straight, "clock", "an hour passes", s.tick())
	}
	if s.world.late == versionAbsent && !final(s.run) {
		next := s
		next.world.late = versionThere
		x.emit(choice, "bucket", "an old version appears", next)
	}
	if !s.world.enabled && !final(s.run) {
		next := s
		next.world.enabled = true
		x.emit(choice, "operator", "enables deleting for the scope", next)
	}
}

// deliver starts a worker with the head of the stream. Behind a head that is in flight, the key's other records wait.
func (x *explorer) deliver(s state) {
	head := s.queue[0]
	if s.queued == 0 || head.flying > 0 {
		return
	}
	for w := range s.workers {
		if s.workers[w].phase == idle {
			s.workers[w] = worker{phase: starting, record: head.id, current: head.current, late: head.late}
			s.queue[0].flying = uint8(w + 1)
			x.emit(straight, "stream", "delivers the head record", s)
			return
		}
	}
}

// recordFaults are what a stream can do to a record by itself. That it is delivered again although it was worked is in finish.
func (x *explorer) recordFaults(s state) {
	if s.queued == 0 || !x.faultsLeft {
		return
	}
	if f := s.queue[0].flying; f > 0 {
		if s.workers[f-1].lost {
			return
		}
		s.workers[f-1].lost = true
		x.retry(&s)
		x.emit(fault, "stream", "gives the delivery up, and the process lives on", s)
		return
	}
	s.pop()
	x.emit(fault, "stream", "loses the head record", s)
}

// retry makes the head record wait for its next delivery, or be dead.
func (x *explorer) retry(s *state) {
	head := &s.queue[0]
	head.flying = 0
	if head.tries++; int(head.tries) > x.retries {
		s.pop()
	}
}

// sweeperSettings make Decide say what the model's bounds say.
func (x *explorer) sweeperSettings() sweeper.Settings {
	return sweeper.Settings{WakeAfter: tickTime, Limit: 100, AttemptCeiling: x.attemptCeiling}
}

// sweep makes the sweeper's moves as from any stale row: any row of the past may have led to either, with the shortest backoff.
// What Decide says of the row as it is now is held against the moves: it must pick those, and only those, that are accepted.
func (x *explorer) sweep(s state) {
	wake, woken := x.sweepMove(s, inbox.Wake(), tickTime)
	if woken {
		x.emit(choice, "sweeper", "wakes the run, perhaps by an old row", wake)
	}
	givenUp, done := x.sweepMove(s, inbox.GiveUp(), 0)
	if done {
		x.emit(choice, "sweeper", "gives the run up, perhaps by an old row", givenUp)
	}
}

func (x *explorer) sweepMove(s state, m inbox.Move, backoff time.Duration) (state, bool) {
	_, ok := x.write(&s, nobody, m, inbox.Change{
		Now: now, NewWake: newWake, WakeBefore: now.Add(-backoff), Ceiling: x.attemptCeiling,
		Err: inbox.LastError{Category: inbox.CategoryAttemptCeiling},
	})
	return s, ok
}

// sweepNow is one tick of the sweeper over the index as it is: sweeper.tick.plan and moveOne.
func (x *explorer) sweepNow(s state) (state, bool) {
	x.store.Set(s.run.expand())
	for row, err := range x.store.Rows(x.ctx, inbox.StatePending.OpenIndex()) {
		x.require(err == nil, "%v", err)
		switch d := sweeper.Decide(row, now, x.sweeperSettings()); d.Action {
		case sweeper.ActionWake:
			next, ok := x.sweepMove(s, inbox.Wake(), d.Backoff)
			x.require(ok, "the sweeper decides to wake, and the move is refused")
			return next, ok
		case sweeper.ActionGiveUp:
			next, ok := x.sweepMove(s, inbox.GiveUp(), 0)
			x.require(ok, "the sweeper decides to give up, and the move is refused")
			return next, ok
		case sweeper.ActionLeave:
			if d.Reason != sweeper.ReasonFreshWake {
				_, ok := x.sweepMove(s, inbox.Wake(), tickTime)
				x.require(!ok, "the sweeper leaves the run (%s), and a wake is accepted", d.Reason)
			}
			_, ok := x.sweepMove(s, inbox.GiveUp(), 0)
			x.require(!ok, "the sweeper leaves the run (%s), and giving up is accepted", d.Reason)
		}
	}
	return s, false
}

// operate makes the operator's moves. What S3 refused may have been mended before a retry, or not.
func (x *explorer) operate(s state) {
	change := inbox.Change{Now: now, NewWake: newWake, TTL: 1, Operation: inbox.Operation{By: "operator", At: now}}
	for _, o := range operations {
		x.repeat(s, o.move, change, o.may(states[s.run.state], modes[s.run.mode]))
		next := s
		_, ok := x.write(&next, nobody, o.move, change)
		x.require(ok == o.may(states[s.run.state], modes[s.run.mode]), "a %s run (%s) answers %t to %s", states[s.run.state], modes[s.run.mode], ok, o.move.Name)
		if !ok {
			continue
		}
		x.emit(choice, "operator", o.does, next)
		if o.move.Name == inbox.MoveRetry && s.world.stubborn == versionThere {
			next.world.stubborn = versionMended
			x.emit(choice, "operator", "mends what S3 refused, and retries", next)
		}
	}
}

// repeat asks whether a move is made of a run with which another operation was made before, and whether its own repetition, whose
// answer was lost, starts the run once more when it comes this late. The state need not know which operation was the last one.
func (x *explorer) repeat(s state, move inbox.Move, c inbox.Change, may bool) {
	if move.To != inbox.StatePending || !move.Leaves(states[s.run.state]) {
		return // dismissed is final, and from elsewhere the move is refused whatever came before
	}
	m, c := x.rewrite(x.table[move.Name], c)
	other := c.Operation
	other.By = "another operator"
	for _, last := range []inbox.Operation{other, c.Operation} {
		was := s.run.expand()
		was.Operation = &last
		x.store.Set(was)
		_, err := x.store.Move(x.ctx, runKey, m, c)
		x.store.Drain()
		_, refused := errors.AsType[*inbox.Refused](err)
		x.require(refused || err == nil, "%v", err)
		if last == c.Operation {
			x.require(refused, "the repeated request of a %s is taken for another one", move.Name)
		} else {
			x.require(refused != may, "a %s run (%s) answers %t to a %s behind another operation", was.State, was.Mode, !refused, move.Name)
		}
	}
}

// operations are what an operator may do, and when.
var operations = []struct {
	move inbox.Move
	does string
	may  func(inbox.State, inbox.Mode) bool
}{
	{inbox.Retry(), "retries the run", func(s inbox.State, _ inbox.Mode) bool { return s == inbox.StateFailed }},
	{inbox.Release(), "releases the run", func(s inbox.State, m inbox.Mode) bool {
		return s == inbox.StateRecorded || s == inbox.StateDone && m == inbox.ModeDryRun
	}},
	{inbox.Dismiss(), "dismisses the run", func(s inbox.State, _ inbox.Mode) bool { return !expires(s) }},
}
