package dynamodb

import (
	"strings"
	"unicode/utf8"
)

// condition is a parsed condition or filter. An absent item is an item without attributes.
type condition interface {
	holds(item attributes) bool
}

// operand is something a condition compares; ok is false when the attribute is not there.
type operand interface {
	value(item attributes) (v value, ok bool)
}

type (
	pathOperand struct{ path path }
	literal     struct{ v value }
	sizeOperand struct{ of operand }
)

func (o pathOperand) value(item attributes) (value, bool) { return o.path.in(item) }

func (o literal) value(attributes) (value, bool) { return o.v, true }

// value of size: characters of a string, bytes of a binary, members of anything that has members; other kinds have none.
func (o sizeOperand) value(item attributes) (value, bool) {
	v, ok := o.of.value(item)
	if !ok {
		return value{}, false
	}
	n := 0
	switch v.kind {
	case kindString:
		n = utf8.RuneCountInString(v.text)
	case kindBinary:
		n = len(v.text)
	case kindMap:
		n = len(v.fields)
	case kindList, kindStringSet, kindNumberSet, kindBinarySet:
		n = len(v.list)
	default:
		return value{}, false
	}
	return value{kind: kindNumber, number: decimalOf(int64(n))}, true
}

type (
	both      struct{ left, right condition }
	either    struct{ left, right condition }
	negation  struct{ of condition }
	existence struct {
		path path
		want bool
	}
	comparison struct {
		operator    string
		left, right operand
	}
	between struct{ subject, low, high operand }
	oneOf   struct {
		subject operand
		members []operand
	}
	hasType struct {
		path path
		kind kind
	}
	beginsWith struct{ subject, prefix operand }
	containing struct{ subject, part operand }
)

func (c both) holds(item attributes) bool { return c.left.holds(item) && c.right.holds(item) }

func (c either) holds(item attributes) bool { return c.left.holds(item) || c.right.holds(item) }

func (c negation) holds(item attributes) bool { return !c.of.holds(item) }

func (c existence) holds(item attributes) bool {
	_, ok := c.path.in(item)
	return ok == c.want
}

// holds compares. An absent attribute equals nothing, so only <> holds for it; values of different kinds are unequal and
// have no order.
func (c comparison) holds(item attributes) bool {
	left, okLeft := c.left.value(item)
	right, okRight := c.right.value(item)
	there := okLeft && okRight
	switch c.operator {
	case "=":
		return there && left.equal(right)
	case "<>":
		return !there || !left.equal(right)
	}
	n, ok := left.compare(right)
	return there && ok && orderHolds(c.operator, n)
}

func orderHolds(operator string, n int) bool {
	switch operator {
	case "<":
		return n < 0
	case "<=":
		return n <= 0
	case ">":
		return n > 0
	}
	return n >= 0
}

func (c between) holds(item attributes) bool {
	return comparison{">=", c.subject, c.low}.holds(item) && comparison{"<=", c.subject, c.high}.holds(item)
}

func (c oneOf) holds(item attributes) bool {
	for _, m := range c.members {
		if (comparison{"=", c.subject, m}).holds(item) {
			return true
		}
	}
	return false
}

func (c hasType) holds(item attributes) bool {
	v, ok := c.path.in(item)
	return ok && v.kind == c.kind
}

func (c beginsWith) holds(item attributes) bool {
	v, okSubject := c.subject.value(item)
	prefix, okPrefix := c.prefix.value(item)
	if !okSubject || !okPrefix || v.kind != prefix.kind {
		return false
	}
	return (v.kind == kindString || v.kind == kindBinary) && strings.HasPrefix(v.text, prefix.text)
}

// holds for a part of a text, a member of a set of its kind, or an element of a list.
func (c containing) holds(item attributes) bool {
	v, okSubject := c.subject.value(item)
	part, okPart := c.part.value(item)
	if !okSubject || !okPart {
		return false
	}
	if v.kind == part.kind && (v.kind == kindString || v.kind == kindBinary) {
		return strings.Contains(v.text, part.text)
	}
	return v.kind != kindMap && v.has(part)
}
