package dynamodb

// projectionPaths parses a projection expression; nil means everything.
func (b *bindings) projectionPaths(expression *string) ([]path, error) {
	if expression == nil {
		return nil, nil
	}
	p := b.parser("ProjectionExpression", *expression)
	paths := []path{p.path()}
	for p.symbol(",") {
		paths = append(paths, p.path())
	}
	if p.err == nil {
		p.checkClashes(paths)
	}
	return paths, p.end()
}

// project keeps what the paths lead to, in the structure it has in the item.
func project(item attributes, paths []path) attributes {
	if item == nil {
		return nil
	}
	v, ok := value{kind: kindMap, fields: item}.keep(paths)
	if !ok {
		return attributes{}
	}
	return v.fields
}

// keep returns the part of a value the paths lead to; list elements close up, in the list's order.
func (v value) keep(paths []path) (value, bool) {
	if len(paths[0]) == 0 { // the whole value; there is no second path, as paths do not overlap
		return v, true
	}
	below := map[step][]path{}
	for _, p := range paths {
		below[p[0]] = append(below[p[0]], p[1:])
	}
	out := value{kind: v.kind}
	switch v.kind {
	case kindMap:
		out.fields = attributes{}
		for s, rest := range below {
			if child, ok := v.child(s); ok {
				if kept, ok := child.keep(rest); ok {
					out.fields[s.name] = kept
				}
			}
		}
		return out, len(out.fields) > 0
	case kindList:
		for i, child := range v.list {
			if rest := below[step{index: i, isIndex: true}]; rest != nil {
				if kept, ok := child.keep(rest); ok {
					out.list = append(out.list, kept)
				}
			}
		}
		return out, len(out.list) > 0
	}
	return out, false
}
