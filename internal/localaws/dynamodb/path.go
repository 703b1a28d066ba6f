package dynamodb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// step is one part of a document path: a name in a map or an index into a list.
type step struct {
	name    string
	index   int
	isIndex bool
}

func (s step) String() string {
	if s.isIndex {
		return fmt.Sprintf("[%d]", s.index)
	}
	return s.name
}

// path leads from an item to a value in it; the first step is always a name.
type path []step

// String is the form DynamoDB uses in messages: [a, b, [0]].
func (p path) String() string {
	var parts []string
	for _, s := range p {
		parts = append(parts, s.String())
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// in finds the value the path leads to; a path that leads nowhere is an absent attribute.
func (p path) in(item attributes) (value, bool) {
	v := value{kind: kindMap, fields: item}
	for _, s := range p {
		var ok bool
		if v, ok = v.child(s); !ok {
			return value{}, false
		}
	}
	return v, true
}

func (v value) child(s step) (value, bool) {
	if !s.isIndex {
		c, ok := v.fields[s.name] // nil for everything but a map
		return c, ok
	}
	if v.kind != kindList || s.index >= len(v.list) {
		return value{}, false
	}
	return v.list[s.index], true
}

// compare orders paths so that positions of one list come in order.
func (p path) compare(o path) int {
	return slices.CompareFunc(p, o, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.index, b.index), strings.Compare(a.name, b.name))
	})
}

// clash says why two paths cannot stand in one expression: one lies in the other, or they take one value for a map and
// for a list.
func (p path) clash(o path) string {
	for i := range min(len(p), len(o)) {
		if p[i].isIndex != o[i].isIndex {
			return "conflict"
		}
		if p[i] != o[i] {
			return ""
		}
	}
	return "overlap"
}

// checkClashes refuses expressions whose result would depend on an order. An expression of 4 KB has at most two thousand
// paths, so comparing all pairs is still quick.
func (p *parser) checkClashes(paths []path) {
	for i, one := range paths {
		for _, two := range paths[i+1:] {
			if how := one.clash(two); how != "" {
				p.fail("Two document paths %s with each other; must remove or rewrite one of these paths; path one: %s, path two: %s",
					how, one, two)
				return
			}
		}
	}
}
