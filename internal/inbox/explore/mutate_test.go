package explore_test

import (
	"fmt"
	"slices"

	"custody/internal/inbox"
)

// mutant is the table with one guard or one effect less.
type mutant struct {
	name string
	edit edit
}

// mutants drops each single leaf of each condition (it always holds), shuts each leaf of an alternative (it never holds), and
// drops each single effect, one at a time.
func mutants() []mutant {
	var all []mutant
	for _, m := range inbox.Moves() {
		if len(m.From) == 0 {
			continue
		}
		for _, l := range leaves(m.If, nil, false) {
			all = append(all, mutant{fmt.Sprintf("%s without %s", m.Name, l.name), replaceIf(m.Name, l.path, inbox.Condition{Op: inbox.OpAll})})
			if l.alternative {
				all = append(all, mutant{fmt.Sprintf("%s never by %s", m.Name, l.name), replaceIf(m.Name, l.path, inbox.Condition{Op: inbox.OpAny})})
			}
		}
		for i, e := range m.Then {
			all = append(all, mutant{fmt.Sprintf("%s leaves %s", m.Name, e.Attr), dropEffect(m.Name, i)})
		}
	}
	return all
}

type leaf struct {
	name        string
	path        []int
	alternative bool // there is another way to make the move
}

func leaves(c inbox.Condition, path []int, alternative bool) []leaf {
	if c.Op != inbox.OpAll && c.Op != inbox.OpAny {
		op := [...]string{inbox.OpAbsent: "absent", inbox.OpEqual: "=", inbox.OpNotEqual: "<>", inbox.OpLess: "<", inbox.OpAtMost: "<=", inbox.OpAtLeast: ">="}[c.Op]
		return []leaf{{fmt.Sprintf("%s %s", c.Attr, op), path, alternative}}
	}
	var all []leaf
	for i, of := range c.Of {
		all = append(all, leaves(of, append(slices.Clone(path), i), alternative || c.Op == inbox.OpAny)...)
	}
	return all
}

func replaceIf(move string, path []int, by inbox.Condition) edit {
	return func(m inbox.Move, c inbox.Change) (inbox.Move, inbox.Change) {
		if m.Name == move {
			m.If = replace(m.If, path, by)
		}
		return m, c
	}
}

func replace(c inbox.Condition, path []int, by inbox.Condition) inbox.Condition {
	if len(path) == 0 {
		return by
	}
	c.Of = slices.Clone(c.Of)
	c.Of[path[0]] = replace(c.Of[path[0]], path[1:], by)
	return c
}

func dropEffect(move string, i int) edit {
	return func(m inbox.Move, c inbox.Change) (inbox.Move, inbox.Change) {
		if m.Name == move {
			m.Then = slices.Delete(slices.Clone(m.Then), i, i+1)
		}
		return m, c
	}
}

// without makes every comparison of the attribute hold.
func without(c inbox.Condition, a inbox.Attribute) inbox.Condition {
	if c.Attr == a {
		return inbox.Condition{Op: inbox.OpAll}
	}
	c.Of = slices.Clone(c.Of)
	for i := range c.Of {
		c.Of[i] = without(c.Of[i], a)
	}
	return c
}

func withoutEffect(then []inbox.Effect, a inbox.Attribute) []inbox.Effect {
	return slices.DeleteFunc(slices.Clone(then), func(e inbox.Effect) bool { return e.Attr == a })
}
