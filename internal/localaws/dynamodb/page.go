package dynamodb

import "iter"

// maxPage is how much data one Query or Scan looks at (API reference: 1 MB, counted before the filter).
const maxPage = 1 << 20

// search is a walk over the rows of a table or index.
type search struct {
	table      *table
	index      *index // nil for the table itself
	within     span
	descending bool
	filter     condition // nil without one
	paths      []path    // nil for everything
	limit      int       // 0 without one; counts what is looked at, not what passes the filter
	countOnly  bool
}

// keys is the schema of what is walked.
func (s *search) keys() keySchema {
	if s.index != nil {
		return s.index.keys
	}
	return s.table.keys
}

func (s *search) rows() iter.Seq[row] {
	rows := &s.table.rows
	if s.index != nil {
		rows = &s.index.rows
	}
	if s.descending {
		return rows.down(s.within)
	}
	return rows.up(s.within)
}

// page collects rows behind the start key until the limit, the size bound or the end. The last key is given whenever the
// walk stopped before it had seen the end, even if nothing more follows, as DynamoDB does.
func (s *search) page(start attributes) (searchAnswer, error) {
	if err := s.skip(start); err != nil {
		return searchAnswer{}, err
	}
	out := searchAnswer{}
	if !s.countOnly {
		out.Items = []attributes{}
	}
	bytes := 0
	var last attributes
	for r := range s.rows() {
		if bytes += r.size; bytes > maxPage && out.ScannedCount > 0 {
			out.LastEvaluatedKey = s.startKey(last)
			break
		}
		last = r.item
		s.take(r.item, &out)
		if out.ScannedCount == s.limit {
			out.LastEvaluatedKey = s.startKey(last)
			break
		}
	}
	return out, nil
}

// take counts a row and keeps it if it passes the filter.
func (s *search) take(item attributes, out *searchAnswer) {
	out.ScannedCount++
	if s.filter != nil && !s.filter.holds(item) {
		return
	}
	out.Count++
	switch {
	case s.countOnly:
	case s.paths != nil:
		out.Items = append(out.Items, project(item, s.paths))
	default:
		out.Items = append(out.Items, item)
	}
}

// startKey is the key that continues behind an item: the primary key, and the index's own if there is one.
func (s *search) startKey(item attributes) attributes {
	key := s.table.keys.of(item)
	if s.index != nil {
		for name, v := range s.index.keys.of(item) {
			key[name] = v
		}
	}
	return key
}

// skip narrows the walk to what lies behind the start key. The item it names need not exist any more.
func (s *search) skip(start attributes) error {
	if start == nil {
		return nil
	}
	if err := s.checkStart(start); err != nil {
		return err
	}
	code := s.table.keys.code(start)
	if s.index != nil {
		code = s.index.rowCode(code, start)
	}
	if code < s.within.from || s.within.to != "" && code >= s.within.to {
		return invalid("The provided starting key is outside query boundaries based on provided conditions")
	}
	if s.descending {
		s.within.to = code
	} else {
		s.within.from = code + "\x00" // the smallest code above it
	}
	return nil
}

// checkStart wants exactly the attributes of startKey, with their types.
func (s *search) checkStart(start attributes) error {
	want := map[string]kind{}
	for _, a := range append(s.table.keys.all(), s.keys().all()...) {
		want[a.name] = a.kind
	}
	if len(start) != len(want) {
		return invalid("The provided starting key is invalid")
	}
	for name, k := range want {
		if v, ok := start[name]; !ok || v.kind != k {
			return invalid("The provided starting key is invalid: The provided key element does not match the schema")
		}
	}
	return nil
}
