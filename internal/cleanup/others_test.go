package cleanup_test

import (
	"slices"
	"time"
)

// hands are what somebody else does a bucket and its holds with.
type hands interface {
	list() []seen
	write(key string, marker bool) (id string)
	remove(n name)
	mark(n name, m marks)
	suspend(on bool)
	place(rows []row) // and nothing but these
}

// others are everybody but the product. They do what the plan says and tell the judge.
type others struct {
	plan
	hands
	judge *judge
	now   func() time.Time
	calm  bool // nothing is done any more, and nothing fails
}

func newOthers(p plan, h hands, now func() time.Time, cutoff time.Time) *others {
	p.Acts = slices.Clone(p.Acts) // they are counted down
	j := newJudge(now, h.list, cutoff, planPrefixes()...)
	j.tags, j.locking, j.single = p.Tags, p.Locking, p.Batches == 1
	return &others{plan: p, hands: h, judge: j, now: now}
}

// beforehand is how long before the run the bucket is filled.
const beforehand = time.Hour

// fill writes the bucket and the holds. What runs out is counted from the start of the run.
func (o *others) fill(cutoff time.Time, at func(time.Time)) {
	for _, w := range o.Writes {
		at(cutoff.Add(-time.Duration(w.Age) * time.Second))
		o.suspend(w.Null)
		n := name{w.Key, o.write(w.Key, w.Marker)}
		delete(o.judge.marked, n) // of the null version whose place this one took
		if !w.Marker {
			o.marking(n, w.Marks, cutoff.Add(beforehand))
		}
	}
	o.suspend(o.Suspended)
	o.judge.suspended = o.Suspended
	for _, h := range o.Holds {
		o.judge.rows = append(o.judge.rows, h.row(cutoff.Add(beforehand)))
	}
	o.place(o.judge.rows)
}

func (o *others) marking(n name, word string, now time.Time) {
	m := marksOf(word, now)
	if !o.Locking {
		m = marks{tag: m.tag}
	}
	if is := o.judge.marked[n]; m == is || is.locked(o.now()) { // S3 takes back no lock, and this needs no more
		return
	}
	o.mark(n, m)
	o.judge.marked[n] = m
}

// act does what is due before the next request.
func (o *others) act() {
	for !o.calm && len(o.Acts) > 0 {
		if a := &o.Acts[0]; a.Gap > 0 {
			a.Gap--
			return
		}
		o.perform(take(&o.Acts))
	}
}

func (o *others) perform(a act) {
	switch a.Do {
	case "put", "mark":
		o.judge.written(name{a.Key, o.write(a.Key, a.Do == "mark")})
	case "hold":
		o.judge.rows = append(o.judge.rows, a.Hold.row(o.now()))
		o.place(o.judge.rows)
		o.judge.changed()
	case "lift":
		first := true
		o.lift(func(row) bool { defer func() { first = false }(); return first })
	case "suspend", "enable":
		if !o.Locking {
			o.suspend(a.Do == "suspend")
			o.judge.suspend(a.Do == "suspend")
		}
	default:
		o.performOn(a)
	}
}

// performOn does what is done to a version, if there is one.
func (o *others) performOn(a act) {
	there := slices.DeleteFunc(o.list(), func(v seen) bool { return v.key != a.Key })
	if a.Nth >= len(there) {
		return
	}
	v := there[a.Nth]
	switch {
	case a.Do == "remove" && !(o.Locking && o.judge.marked[v.name].locked(o.now())):
		o.remove(v.name)
		o.judge.removedByAnother(v.name)
	case a.Do == "marks" && !v.marker:
		o.marking(v.name, a.Marks, o.now())
		o.judge.changed()
	}
}

func (o *others) lift(which func(row) bool) {
	o.judge.rows = slices.DeleteFunc(o.judge.rows, which)
	o.place(o.judge.rows)
	o.judge.changed()
}

// take takes the first of what is left, the zero value behind the end.
func take[T any](s *[]T) (v T) {
	if len(*s) > 0 {
		v, *s = (*s)[0], (*s)[1:]
	}
	return v
}
