package explore_test

import "custody/internal/inbox"

// A quiet world is one without further faults and surprises: workers go on, the stream delivers what is there, the sweeper
// ticks, time passes. Invariant I4 says that it takes every run to an end, from every state, whoever is the faster: each
// schedule is another order of who goes first.
type schedule struct {
	name string
	next func(x *explorer, s state) (state, bool)
}

var schedules = []schedule{
	{"workers first", func(x *explorer, s state) (state, bool) {
		return x.first(s, x.goOn(0), x.goOn(1), x.deliver, x.sweepQuietly, x.pass)
	}},
	{"the sweeper and the stream first, short budgets", func(x *explorer, s state) (state, bool) {
		return x.first(s, x.sweepQuietly, x.deliver, x.yieldOrGoOn(1), x.yieldOrGoOn(0), x.pass)
	}},
	{"lost workers are gone", func(x *explorer, s state) (state, bool) {
		return x.first(s, x.bury, x.goOn(1), x.goOn(0), x.deliver, x.sweepQuietly, x.pass)
	}},
}

// quietSteps is far more than any end needs: the longest is a chain of scans, each slice cut off by its budget.
const quietSteps = 250

// quieten runs every schedule from every visited state. A state from which an end was reached is not run again.
func (s *search) quieten() {
	s.x.faultsLeft = false
	for _, plan := range schedules {
		steps := make([]uint8, len(s.states)) // to the end, 0 for not yet known
		for at := range s.states {
			if !s.settle(plan, at, steps) {
				return
			}
		}
	}
}

func (s *search) settle(plan schedule, at int, steps []uint8) bool {
	var way []int32 // the states of this walk that were visited, -1 for others
	now, length := s.states[at], 0
	for way = append(way, int32(at)); !rests(now); length++ {
		if i := way[length]; i >= 0 && steps[i] > 0 {
			length += int(steps[i])
			break
		}
		s.x.violation = ""
		next, moved := plan.next(s.x, now)
		if !moved || length == quietSteps || s.x.violation != "" {
			s.found.violation = s.x.violation
			if s.found.violation == "" {
				s.found.violation = "I4: a quiet world reaches no end (" + plan.name + ")"
			}
			s.found.trace = s.path(int32(at))
			return false
		}
		now = next.canonical()
		i, known := s.index[now]
		if !known {
			i = -1
		}
		way = append(way, i)
	}
	s.found.quiet = max(s.found.quiet, length)
	for i, visited := range way {
		if visited >= 0 && length-i > 0 {
			steps[visited] = uint8(length - i)
		}
	}
	return true
}

// rests tells a run that needs nobody but, perhaps, an operator.
func rests(s state) bool {
	return ended(states[s.run.state]) || states[s.run.state] == inbox.StateRecorded
}

// first is the first step that any of the parts can make without a fault and without a choice.
func (x *explorer) first(s state, parts ...func(state)) (next state, moved bool) {
	emit := x.emit
	defer func() { x.emit = emit }()
	x.emit = func(k kind, _, _ string, n state) {
		if k == straight && !moved {
			next, moved = n, true
		}
	}
	for _, part := range parts {
		if part(s); moved {
			return next, true
		}
	}
	return s, false
}

func (x *explorer) goOn(w int) func(state) {
	return func(s state) {
		switch s.workers[w].phase {
		case starting, asking:
			x.ask(s, w)
		case working:
			if s.run.holder != uint8(w+1) {
				x.checkpoint(s, w) // and finds its lease lost
				return
			}
			x.list(s, w)
		}
	}
}

// yieldOrGoOn is a worker whose budget is used up as soon as it has done anything.
func (x *explorer) yieldOrGoOn(w int) func(state) {
	return func(s state) {
		if me := s.workers[w]; me.phase == working && me.progress && int(me.place.key) < len(keys)-1 {
			x.end(s, w, straight, inbox.Yield(), inbox.Change{NewWake: newWake}, "yields")
			return
		}
		x.goOn(w)(s)
	}
}

func (x *explorer) bury(s state) {
	for w := range s.workers {
		if s.workers[w].lost {
			x.leave(&s, w)
			x.emit(straight, workerNames[w], "is gone", s)
			return
		}
	}
}

func (x *explorer) sweepQuietly(s state) {
	if next, moved := x.sweepNow(s); moved {
		x.emit(straight, "sweeper", "sweeps", next)
	}
}
