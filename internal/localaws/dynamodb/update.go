package dynamodb

import "slices"

// Errors an update meets in the item itself; in a transaction they cancel it with the reason ValidationError.
const (
	pathInvalid   = "The document path provided in the update expression is invalid for update"
	operandAbsent = "The provided expression refers to an attribute that does not exist in the item"
	operandWrong  = "An operand in the update expression has an incorrect data type"
)

// update is a parsed update expression. Its paths never overlap, so the order of the parts does not matter.
type update struct {
	sets    []assignment
	removes []path
	adds    []member
	deletes []member
}

// assignment is path = term of SET.
type assignment struct {
	path path
	term term
}

// member is path :value of ADD and DELETE.
type member struct {
	path path
	v    value
}

// written is a value and where it goes.
type written struct {
	path path
	v    value
}

// paths lists everything the update names as a target.
func (u update) paths() []path {
	out := slices.Clone(u.removes)
	for _, s := range u.sets {
		out = append(out, s.path)
	}
	for _, m := range slices.Concat(u.adds, u.deletes) {
		out = append(out, m.path)
	}
	return out
}

// apply returns the item as the update leaves it. Every operand is read from the item as it was before, and list positions
// mean the list as it was before.
func (u update) apply(item attributes) (attributes, error) {
	writes, removes, err := u.plan(item)
	if err != nil {
		return nil, err
	}
	root := value{kind: kindMap, fields: item.clone()}
	slices.SortStableFunc(writes, func(a, b written) int { return a.path.compare(b.path) }) // positions past the end append in order
	for _, w := range writes {
		if root, err = root.with(w.path, w.v); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(removes, func(a, b path) int { return b.compare(a) }) // from the back, so that positions stay true
	for _, p := range removes {
		if root, err = root.without(p); err != nil {
			return nil, err
		}
	}
	return root.fields, nil
}

// plan evaluates everything against the old item.
func (u update) plan(item attributes) (writes []written, removes []path, err error) {
	for _, s := range u.sets {
		v, err := s.term.result(item)
		if err != nil {
			return nil, nil, err
		}
		writes = append(writes, written{s.path, v})
	}
	for _, a := range u.adds {
		v, err := a.added(item)
		if err != nil {
			return nil, nil, err
		}
		writes = append(writes, written{a.path, v})
	}
	for _, d := range u.deletes {
		left, present, err := d.deleted(item)
		switch {
		case err != nil:
			return nil, nil, err
		case present && len(left.list) == 0: // a set is never empty; the attribute goes with its last member
			removes = append(removes, d.path)
		case present:
			writes = append(writes, written{d.path, left})
		}
	}
	for _, p := range u.removes {
		if !p.parentIn(item) {
			return nil, nil, invalid(pathInvalid)
		}
		if _, ok := p.in(item); ok {
			removes = append(removes, p)
		}
	}
	return writes, removes, nil
}

// parentIn tells whether the value that holds the path's last step is there and of the right kind.
func (p path) parentIn(item attributes) bool {
	last := p[len(p)-1]
	parent := value{kind: kindMap, fields: item}
	if len(p) > 1 {
		var ok bool
		if parent, ok = p[:len(p)-1].in(item); !ok {
			return false
		}
	}
	return parent.kind == kindMap && !last.isIndex || parent.kind == kindList && last.isIndex
}

// added is what ADD leaves: a sum, a union, or the value itself where nothing was.
func (m member) added(item attributes) (value, error) {
	old, ok := m.path.in(item)
	switch {
	case !ok:
		return m.v, nil
	case old.kind != m.v.kind:
		return value{}, invalid(operandWrong)
	case old.kind == kindNumber:
		sum, err := old.number.plus(m.v.number)
		return value{kind: kindNumber, number: sum}, err
	}
	return makeSet(old.kind, slices.Concat(old.list, m.v.list)), nil
}

// deleted is what DELETE leaves of a set.
func (m member) deleted(item attributes) (left value, present bool, err error) {
	old, ok := m.path.in(item)
	if !ok {
		return value{}, false, nil
	}
	if old.kind != m.v.kind {
		return value{}, false, invalid(operandWrong)
	}
	kept := slices.DeleteFunc(slices.Clone(old.list), m.v.has)
	return value{kind: old.kind, list: kept}, true, nil
}

// with returns the value with another one at the path. Only the last step may lead to something new.
func (v value) with(p path, put value) (value, error) {
	s, rest := p[0], p[1:]
	if len(rest) > 0 {
		child, ok := v.child(s)
		if !ok {
			return value{}, invalid(pathInvalid)
		}
		changed, err := child.with(rest, put)
		if err != nil {
			return value{}, err
		}
		put = changed
	}
	switch {
	case v.kind == kindMap && !s.isIndex:
		v.fields = v.fields.clone()
		v.fields[s.name] = put
	case v.kind == kindList && s.isIndex && s.index < len(v.list):
		v.list = slices.Clone(v.list)
		v.list[s.index] = put
	case v.kind == kindList && s.isIndex: // beyond the end is behind the last
		v.list = append(slices.Clip(v.list), put)
	default:
		return value{}, invalid(pathInvalid)
	}
	return v, nil
}

// without returns the value without what the path leads to, which is there.
func (v value) without(p path) (value, error) {
	s := p[0]
	if len(p) > 1 {
		child, ok := v.child(s)
		if !ok {
			return value{}, invalid(pathInvalid)
		}
		changed, err := child.without(p[1:])
		if err != nil {
			return value{}, err
		}
		return v.with(path{s}, changed)
	}
	if s.isIndex {
		v.list = slices.Delete(slices.Clone(v.list), s.index, s.index+1)
		return v, nil
	}
	v.fields = v.fields.clone()
	delete(v.fields, s.name)
	return v, nil
}
