package cleanup_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"custody/internal/retention"
)

// judge knows which versions may go and which must, from the spec's own words and without the product's decisions. It is told what
// somebody else does to the bucket and what the product asks, and lists the bucket behind every single request.
type judge struct {
	now      func() time.Time
	list     func() []seen
	cutoff   time.Time
	prefixes []string
	tags     bool // the stack checks tags
	locking  bool // the bucket has Object Lock
	single   bool // one batch at a time, so that the last read is the one that a request rests on

	was       []seen // the last listing
	marked    map[name]marks
	foreign   map[string]bool // keys of which somebody else removed a version by id: I3 says nothing of them
	rows      []row
	suspended bool

	reads     []holdsRead
	enabled   bool           // the first answer of this slice about versioning was Enabled
	versioned bool           // and so was one since the holds were read
	rests     bool           // and so was one right before the holds were read that requests rest on now
	uneasy    bool           // versioning was suspended since the first: I1 and I3 say nothing of null versions
	asked     map[name]marks // what the last answer said of the version's marks, if it was asked

	excused map[name]bool // there was a reason to keep it, at some instant of this scan
	acted   bool          // somebody else did something in this scan
	removed int           // versions that went by the product's requests
	took    int           // of them, in this scan, by a process that lived on
	says    []string      // what was wrong
}

// row is a row of the holds table, as its writer means it.
type row struct {
	scope, key, prefix string
	stop, unreadable   bool // unreadable: nobody can say what it covers
	expires            time.Time
}

// holdsRead is a look at the rows of one scope, or at those for all.
type holdsRead struct {
	of   string
	at   time.Time
	rows []row // in force
}

func newJudge(now func() time.Time, list func() []seen, cutoff time.Time, prefixes ...string) *judge {
	return &judge{
		now: now, list: list, cutoff: cutoff, prefixes: prefixes, marked: map[name]marks{}, foreign: map[string]bool{},
		asked: map[name]marks{}, excused: map[name]bool{},
	}
}

func (j *judge) wrong(format string, args ...any) {
	j.says = append(j.says, fmt.Sprintf(format, args...))
}

// covers: a row of another scope says nothing; one that nobody understands covers all of its own.
func (r row) covers(key string) bool {
	switch {
	case r.scope != scope && r.scope != "*":
		return false
	case r.unreadable, r.stop:
		return true
	case r.key != "":
		return key == r.key
	}
	return strings.HasPrefix(key, r.prefix)
}

func (j *judge) inForce() []row {
	return slices.DeleteFunc(slices.Clone(j.rows), func(r row) bool { return !r.expires.IsZero() && !j.now().Before(r.expires) })
}

func (j *judge) selected(key string) bool {
	return slices.ContainsFunc(j.prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

func (j *judge) expired(v seen) bool { return v.at.Before(j.cutoff) }

// keeps says whether there is a reason of its own to keep the version at this instant; what lies below a current one is not asked.
func (j *judge) keeps(v seen) bool {
	m := j.marked[v.name]
	held := slices.ContainsFunc(j.inForce(), func(r row) bool { return !r.stop && r.covers(v.key) })
	return held || v.id == retention.NullID && (j.suspended || !j.enabled) ||
		!v.marker && (j.tags && m.tag || j.locking && m.locked(j.now()))
}

// look lists the bucket and notes who is excused at this instant.
func (j *judge) look() {
	j.was = j.list()
	stays := map[string]bool{}
	for _, v := range j.was {
		if j.expired(v) && j.keeps(v) {
			j.excused[v.name] = true
		}
		stays[v.key] = stays[v.key] || !v.current && (!j.expired(v) || j.excused[v.name])
	}
	for _, v := range j.was {
		if v.current && stays[v.key] {
			j.excused[v.name] = true
		}
	}
}

// scanBegan: what is met from here on needs a new reason.
func (j *judge) scanBegan() {
	j.excused, j.acted, j.took = map[name]bool{}, false, 0
	j.look()
}

func (j *judge) holdsRead(of string) {
	rows := slices.DeleteFunc(j.inForce(), func(r row) bool { return r.scope != of })
	j.reads = append(j.reads, holdsRead{of, j.now(), rows})
	if of == scope {
		j.rests, j.versioned = j.versioned, false
	}
}

// sliceBegan is the first look at the bucket's versioning.
func (j *judge) sliceBegan() { j.enabled, j.uneasy = !j.suspended, false }

func (j *judge) versioningRead() { j.versioned = !j.suspended }

// marksRead is an answer about some of a version's marks.
func (j *judge) marksRead(n name, tag, legal, until bool) {
	is, said := j.marked[n], j.asked[n]
	if tag {
		said.tag = is.tag
	}
	if legal {
		said.legal = is.legal
	}
	if until {
		said.until = is.until
	}
	j.asked[n] = said
}

// written is somebody's write. A null version takes the place of another, and that one's marks go with it.
func (j *judge) written(n name) {
	j.acted = true
	if n.id == retention.NullID {
		delete(j.marked, n)
		delete(j.asked, n)
		delete(j.excused, n)
	}
	j.look()
}

func (j *judge) removedByAnother(n name) {
	j.acted = true
	j.foreign[n.key] = true
	j.look()
}

func (j *judge) changed() {
	j.acted = true
	j.look()
}

func (j *judge) suspend(on bool) {
	j.suspended = on
	j.uneasy = j.uneasy || on
	j.changed()
}

// sent is a delete request of these versions that has reached the bucket.
func (j *judge) sent(request []name) {
	before, now := j.was, j.list()
	for _, n := range request {
		// Locks are read before the batch: a version that was seen to be locked, and still is, is not even sent.
		if was, asked := j.asked[n]; asked && j.locking && was.locked(j.now()) && j.marked[n].locked(j.now()) {
			j.wrong("%v was sent although its lock was known", n)
		}
	}
	for _, v := range before {
		if !slices.ContainsFunc(now, func(w seen) bool { return w.name == v.name }) {
			j.removed++
			j.took++
			j.gone(v, request)
		}
	}
	j.risen(before, now)
	j.look()
}

// gone asks whether the version may go.
func (j *judge) gone(v seen, request []name) {
	null := v.id == retention.NullID
	switch {
	case !slices.Contains(request, v.name):
		j.wrong("%v is gone and was not in the request", v.name)
	case !j.selected(v.key):
		j.wrong("%v is not selected and is gone", v.name)
	case null && j.uneasy:
		return
	case !j.expired(v):
		j.wrong("I1: %v of %s is gone, the cutoff is %s", v.name, v.at, j.cutoff)
	case null && (!j.enabled || j.single && !j.rests):
		j.wrong("%v is gone, and versioning was not seen to be enabled before the listing and right before the request", v.name)
	}
	if !j.unheld(v.key) {
		j.wrong("I2: %v is gone under a hold, or without a look at the holds in the last 5 s", v.name)
	}
	m, asked := j.asked[v.name]
	switch {
	case v.marker || !j.tags && !j.locking:
	case !asked:
		j.wrong("%v is gone and was not asked for its marks", v.name)
	case j.tags && m.tag:
		j.wrong("%v is gone although it is tagged", v.name)
	}
}

// unheld is I2: the request rests on holds that were read less than 5 s ago, and none of them covers the key.
func (j *judge) unheld(key string) bool { return j.unheldBy(scope, key) && j.unheldBy("*", key) }

func (j *judge) unheldBy(of, key string) bool {
	for _, r := range slices.Backward(j.reads) {
		if r.of != of {
			continue
		}
		fresh := j.now().Before(r.at.Add(5 * time.Second))
		if fresh && !slices.ContainsFunc(r.rows, func(h row) bool { return h.covers(key) }) {
			return true
		}
		if !fresh || j.single {
			return false
		}
	}
	return false
}

// risen is I3: behind a request of ours a key shows what it showed before, or nothing.
func (j *judge) risen(before, now []seen) {
	current := map[string]name{}
	for _, v := range before {
		if v.current {
			current[v.key] = v.name
		}
	}
	for _, v := range now {
		if v.current && current[v.key] != v.name && !j.foreign[v.key] && (current[v.key].id != retention.NullID || !j.uneasy) {
			j.wrong("I3: %v rose behind %v", v.name, current[v.key])
		}
	}
}

// died: what the process took is known to nobody, and is looked for again behind the last place that was written.
func (j *judge) died() { j.took = 0 }

// done is I5: the last scan took nothing, and each expired version that is left had a reason to stay in it.
func (j *judge) done(retained map[string]int64) {
	if j.took > 0 {
		j.wrong("I5: the run is done by a scan that took %d versions", j.took)
	}
	left := int64(0)
	for _, v := range j.list() {
		if !j.selected(v.key) || !j.expired(v) {
			continue
		}
		left++
		if !j.excused[v.name] {
			j.wrong("I5: the run is done and %v of %s is left, the cutoff is %s", v.name, v.at, j.cutoff)
		}
	}
	counted := int64(0)
	for _, n := range retained {
		counted += n
	}
	if counted != left && !j.acted {
		j.wrong("I5: the run counts %v as retained, %d are left", retained, left)
	}
}
