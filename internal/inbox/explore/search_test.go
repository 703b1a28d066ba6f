package explore_test

import (
	"fmt"
	"strings"
)

// found is what a search met.
type found struct {
	states, transitions int
	complete            bool // every reachable state was visited
	quiet               int  // most steps that a quiet world needed to an end
	violation           string
	trace               []string // of the violation, from a claim on
}

func (f found) String() string {
	return fmt.Sprintf("%d states, %d transitions, at most %d quiet steps to an end", f.states, f.transitions, f.quiet)
}

// search visits the states that need the fewest faults first, and of those the nearest first. A state that was reached with
// fewer faults is not visited again with more: from there on less could go wrong.
type search struct {
	x      *explorer
	index  map[state]int32
	states []state
	from   []int32   // the state that each was first reached from, -1 for a root
	done   []bool    // whether its successors were visited
	level  []int     // the fewest faults that it was reached with so far
	levels [][]int32 // what is to be visited, by the faults so far
	found  found
}

// explore visits up to limit states, and then lets the world be quiet in each of them.
func explore(x *explorer, limit int) found {
	s := &search{x: x, index: map[state]int32{}, levels: make([][]int32, x.faults+1)}
	for _, root := range x.roots() {
		s.visit(root, -1, 0)
	}
	for level := range s.levels {
		for i := 0; i < len(s.levels[level]); i++ {
			if len(s.states) > limit || s.found.violation != "" {
				return s.found
			}
			s.expand(s.levels[level][i], level)
		}
	}
	s.found.complete = true
	s.quieten()
	return s.found
}

func (s *search) expand(at int32, level int) {
	if s.done[at] {
		return
	}
	s.done[at] = true
	s.x.violation, s.x.faultsLeft = "", level < s.x.faults
	s.x.emit = func(k kind, who, what string, next state) {
		s.found.transitions++
		s.note(at, who+" "+what)
		if k == fault {
			s.visit(next.canonical(), at, level+1)
			return
		}
		s.visit(next.canonical(), at, level)
	}
	s.x.successors(s.states[at])
	s.x.sweepNow(s.states[at])
	s.note(at, "sweeper looks at the row")
}

// note keeps the first violation.
func (s *search) note(at int32, label string) {
	if s.x.violation != "" && s.found.violation == "" {
		s.found.violation = s.x.violation
		s.found.trace = append(s.path(at), label)
	}
}

func (s *search) visit(next state, from int32, level int) {
	i, known := s.index[next]
	if !known {
		i = int32(len(s.states))
		s.index[next] = i
		s.states, s.done = append(s.states, next), append(s.done, false)
		s.from, s.level = append(s.from, from), append(s.level, level)
		s.levels[level] = append(s.levels[level], i)
		s.found.states++
	} else if level < s.level[i] { // it waits with more faults
		s.from[i], s.level[i] = from, level
		s.levels[level] = append(s.levels[level], i)
	}
}

// path tells how a state was first reached. Workers are told apart within a step only, since equal ones are the same. Labels are not kept: they are made again by walking the same way.
func (s *search) path(at int32) []string {
	var way []int32
	for i := at; i >= 0; i = s.from[i] {
		way = append(way, i)
	}
	if len(way) == 0 {
		return nil
	}
	steps := []string{"a claim leaves the run " + string(states[s.states[way[len(way)-1]].run.state])}
	emit, violation := s.x.emit, s.x.violation
	left := s.x.faultsLeft
	defer func() { s.x.emit, s.x.violation, s.x.faultsLeft = emit, violation, left }()
	s.x.faultsLeft = true
	for i := len(way) - 1; i > 0; i-- {
		label := ""
		s.x.emit = func(_ kind, who, what string, next state) {
			if label == "" && next.canonical() == s.states[way[i-1]] {
				label = who + " " + what
			}
		}
		s.x.successors(s.states[way[i]])
		steps = append(steps, label)
	}
	return steps
}

func (f found) story() string {
	return fmt.Sprintf("%s\n  %s", f.violation, strings.Join(f.trace, "\n  "))
}
