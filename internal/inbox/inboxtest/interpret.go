package inboxtest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"custody/internal/inbox"
)

// complete reports what the move needs and the change does not carry, as a store must before it writes anything.
func complete(m inbox.Move, c inbox.Change) error {
	if len(m.From) == 0 {
		return errors.New("the move inserts a run: it is written by a claim")
	}
	var every inbox.Run // has every attribute that there is
	if err := completeCondition(m.If, c, &every); err != nil {
		return err
	}
	for _, e := range m.Then {
		if field(&every, e.Attr) == nil {
			return fmt.Errorf("effect on %s: runs have no such attribute", e.Attr)
		}
		switch e.Kind {
		case inbox.EffectPut, inbox.EffectDefault, inbox.EffectCopy:
			if _, given := c.Value(e.Value); !given {
				return fmt.Errorf("effect on %s: the change carries no value for parameter %d", e.Attr, e.Value)
			}
		case inbox.EffectPutGiven, inbox.EffectIncrement, inbox.EffectClear:
		}
	}
	return nil
}

func completeCondition(k inbox.Condition, c inbox.Change, every *inbox.Run) error {
	switch k.Op {
	case inbox.OpAll, inbox.OpAny:
		for _, of := range k.Of {
			if err := completeCondition(of, c, every); err != nil {
				return err
			}
		}
		return nil
	case inbox.OpAbsent, inbox.OpEqual, inbox.OpNotEqual, inbox.OpLess, inbox.OpAtMost, inbox.OpAtLeast:
	}
	if field(every, k.Attr) == nil {
		return fmt.Errorf("condition on %s: runs have no such attribute", k.Attr)
	}
	if _, given := c.Value(k.With); !given && k.Op != inbox.OpAbsent {
		return fmt.Errorf("condition on %s: the change carries no value for parameter %d", k.Attr, k.With)
	}
	return nil
}

// apply is the conditional write: the run behind the move, whether it differs from the one before, and whether the condition
// held. Every effect reads the run as it was before the move.
func apply(m inbox.Move, before *inbox.Run, c inbox.Change) (next inbox.Run, changed, ok bool) {
	if !m.Leaves(before.State) || !holds(m.If, before, c) {
		return inbox.Run{}, false, false
	}
	next = *before
	if m.To != "" && m.To != before.State {
		next.State, changed = m.To, true
	}
	for _, e := range m.Then {
		was, is := field(before, e.Attr), field(&next, e.Attr)
		change(e, before, is, c)
		changed = changed || !same(was, is)
	}
	return next, changed, true
}

func change(e inbox.Effect, before *inbox.Run, target any, c inbox.Change) {
	v, given := c.Value(e.Value)
	switch e.Kind {
	case inbox.EffectClear:
		unset(target)
	case inbox.EffectIncrement:
		*target.(*int)++
	case inbox.EffectPut:
		set(target, v)
	case inbox.EffectPutGiven:
		if given {
			set(target, v)
		}
	case inbox.EffectDefault:
		if !present(target) {
			set(target, v)
		}
	case inbox.EffectCopy:
		if from := field(before, e.From); present(from) {
			copyField(target, from)
		} else {
			set(target, v)
		}
	}
}

// holds evaluates a condition. An empty OpAll is true and an empty OpAny false, which a test's own table may use.
func holds(k inbox.Condition, r *inbox.Run, c inbox.Change) bool {
	switch k.Op {
	case inbox.OpAll:
		return !slices.ContainsFunc(k.Of, func(of inbox.Condition) bool { return !holds(of, r, c) })
	case inbox.OpAny:
		return slices.ContainsFunc(k.Of, func(of inbox.Condition) bool { return holds(of, r, c) })
	case inbox.OpAbsent:
		return !present(field(r, k.Attr))
	case inbox.OpEqual, inbox.OpNotEqual, inbox.OpLess, inbox.OpAtMost, inbox.OpAtLeast:
	}
	attr := field(r, k.Attr)
	if !present(attr) {
		return false
	}
	v, _ := c.Value(k.With)
	order, ok := compare(attr, v)
	switch k.Op {
	case inbox.OpEqual:
		return ok && order == 0
	case inbox.OpNotEqual:
		return !ok || order != 0
	case inbox.OpLess:
		return ok && order < 0
	case inbox.OpAtMost:
		return ok && order <= 0
	case inbox.OpAtLeast:
		return ok && order >= 0
	case inbox.OpAbsent, inbox.OpAll, inbox.OpAny:
	}
	return false
}

// compare orders a stored attribute against a value; false where they are of different types, which DynamoDB never orders.
// Maps it only tells apart.
func compare(attr, v any) (int, bool) {
	if a, isOperation := attr.(**inbox.Operation); isOperation {
		b, ok := v.(inbox.Operation)
		b.At = stored(b.At)
		return 0, ok && **a == b
	}
	if a, isText := text(attr); isText {
		b, ok := text(v)
		return cmp.Compare(a, b), ok
	}
	if a, isNumber := number(attr); isNumber {
		b, ok := number(v)
		return cmp.Compare(a, b), ok
	}
	return 0, false
}
