package report

import "slices"

// Span is which keys an object has lines about.
type Span struct{ First, Last string }

// Keys calls f with the key of each line, in the order of the lines.
func (o Object) Keys(f func(key string)) {
	for _, s := range o.Selections {
		f(s.Key)
	}
	for _, l := range o.Outcomes {
		f(l.Key)
	}
}

// Span is the object's; an object without lines has none.
func (o Object) Span() (s Span, has bool) {
	o.Keys(func(key string) {
		if !has || key < s.First {
			s.First = key
		}
		if key > s.Last {
			s.Last = key
		}
		has = true
	})
	return s, has
}

// Range is the keys from one on and before another.
type Range struct {
	From   string // "" for the first
	Before string // "" for no end
}

// Has reports whether the key is in the range. It chooses the lines of a History.
func (r Range) Has(key string) bool { return key >= r.From && (r.Before == "" || key < r.Before) }

// Meets reports whether the object with the span may have a line about a key of the range.
func (r Range) Meets(s Span) bool { return s.Last >= r.From && (r.Before == "" || s.First < r.Before) }

// Divider divides the keys of a run into ranges, so that a History of each is small however large the run is, and one behind
// the other gives all versions by key.
type Divider struct {
	// Every so many-th line stands for those before it; 1 or more. With 256, a million versions leave some eight thousand keys
	// in memory, and a range is wrong by a few hundred lines.
	Every int

	keys  []string
	lines int
}

// Add tells of a line.
func (d *Divider) Add(key string) {
	if d.lines++; d.lines%d.Every == 0 {
		d.keys = append(d.keys, key)
	}
}

// Ranges covers all keys by ranges of about so many lines each. They are more where many lines are about one key, whose lines
// stay together.
func (d *Divider) Ranges(lines int) []Range {
	slices.Sort(d.keys)
	ranges := []Range{{}}
	step := max(lines/d.Every, 1)
	for i := step; i < len(d.keys); i += step {
		last := &ranges[len(ranges)-1]
		if d.keys[i] > last.From {
			last.Before = d.keys[i]
			ranges = append(ranges, Range{From: d.keys[i]})
		}
	}
	return ranges
}
