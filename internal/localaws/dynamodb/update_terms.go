package dynamodb

import "slices"

// term is the right side of a SET: like an operand, but what is absent or of a wrong kind is an error.
type term interface {
	result(item attributes) (value, error)
}

type (
	// sum is left + right or left - right.
	sum struct {
		minus       bool
		left, right term
	}
	ifNotExists struct {
		path  path
		other term
	}
	listAppend struct{ left, right term }
)

func (o literal) result(attributes) (value, error) { return o.v, nil }

func (o pathOperand) result(item attributes) (value, error) {
	v, ok := o.path.in(item)
	if !ok {
		return value{}, invalid(operandAbsent)
	}
	return v, nil
}

func (s sum) result(item attributes) (value, error) {
	left, right, err := pair(item, s.left, s.right, kindNumber)
	if err != nil {
		return value{}, err
	}
	add := left.number.plus
	if s.minus {
		add = left.number.minus
	}
	n, err := add(right.number)
	return value{kind: kindNumber, number: n}, err
}

func (f ifNotExists) result(item attributes) (value, error) {
	if v, ok := f.path.in(item); ok {
		return v, nil
	}
	return f.other.result(item)
}

func (f listAppend) result(item attributes) (value, error) {
	left, right, err := pair(item, f.left, f.right, kindList)
	if err != nil {
		return value{}, err
	}
	return value{kind: kindList, list: slices.Concat(left.list, right.list)}, nil
}

// pair evaluates two terms that must both be of one kind.
func pair(item attributes, left, right term, want kind) (l, r value, err error) {
	if l, err = left.result(item); err != nil {
		return l, r, err
	}
	if r, err = right.result(item); err != nil {
		return l, r, err
	}
	if l.kind != want || r.kind != want {
		return l, r, invalid(operandWrong)
	}
	return l, r, nil
}
