package explore_test

import "custody/internal/inbox"

// A state of the model. It is small and comparable, so that visited states are the keys of a map, and canonical: what cannot
// matter any more is zero, times are counted from now, and names (tokens, wakes, records) are told apart only as far as
// anybody still holds them. So "now" never moves: a tick makes everything else older.
type state struct {
	run     item
	workers [2]worker
	queue   [queueCap]record // the stream of the run's key, in order; the head may be in flight
	queued  uint8
	world   world
	truth   truth
}

// queueCap is more than the records of one run that can be outstanding, not counting those that can start nothing any more; a
// write that would pass it is a violation by itself.
const queueCap = 5

// item is the run's item. Whatever follows from the rest, or only one write must treat rightly, is made up by expand and checked
// at the write.
type item struct {
	state    uint8 // index into inbox.States
	open     uint8 // index into partitions
	mode     uint8 // index into modes
	attempts uint8
	holder   uint8 // of the lease token: nobody, worker 1 or 2, or deadHolder
	lease    uint8 // leaseNone, leaseOver, leaseLive
	record   uint8 // identity of the record that the lease was taken for
	wake     uint8 // wakeNone, wakeYoung, wakeOld; records know by themselves whether it is theirs
	next     uint8 // nextNone, nextDue, nextLater
	place    place
}

const (
	deadHolder = 3

	leaseNone, leaseOver, leaseLive = 0, 1, 2
	nextNone, nextDue, nextLater    = 0, 1, 2
	wakeNone, wakeYoung, wakeOld    = 0, 1, 2
)

// place is inbox.Place, with keys as numbers.
type place struct {
	scan, key uint8
	deleted   bool
	refused   bool
}

// worker is one process of the cleanup function and the record that it was started for.
type worker struct {
	phase    uint8
	lost     bool  // the stream no longer waits for it: timed out, and still alive
	record   uint8 // until it has acquired: identity of its record
	current  bool  // until it has acquired: its record's wake is the item's
	late     bool  // until it has acquired: as of its record
	age      uint8 // asking: of the request, in ticks, up to 1
	place    place // working: in memory
	progress bool  // working: something is done since the slice began
	attempts uint8 // working: as it acquired the run; once there is progress it writes 0
	mode     uint8
	line     line
}

const (
	idle     = iota
	starting // has its record
	asking   // has asked for the lease and does not know the answer: the request will be repeated
	working  // believes to hold the lease
)

// record is a stream record: a write whose new image carried a wake.
type record struct {
	id      uint8 // identity, told apart from the others only
	current bool  // its wake is the one that the item carries
	tries   uint8 // failed deliveries
	flying  uint8 // 1 + the worker that has it, 0 for none
	late    bool  // a slice began since it was written, for another record: it must not start one any more
}

// world is what lies outside of the inbox.
type world struct {
	late     uint8 // a version that appears while scans are made: versionAbsent, versionThere or versionGone
	plain    uint8 // a version that can be deleted
	stubborn uint8 // a version whose deletion S3 refuses, until somebody mends it
	enabled  bool  // the scope is enabled for deleting
}

const (
	versionAbsent = iota
	versionThere
	versionMended // of the stubborn one: S3 would delete it now
	versionGone
)

// truth is what really happened, for the checks; no part of the product sees it.
type truth struct {
	attempts uint8 // slices in a row without progress
	line     line  // of the place in the item
}

// line is the history of a place: of the scan that it stands in, from the scan's start, over all slices that wrote it.
type line struct {
	scan    uint8
	deleted bool // a delete of this scan succeeded
	refused bool // one was refused
	late    bool // the late version was there when the scan began
}

// canonical renumbers records in the order of their appearance, drops what nobody can compare any more and sorts the workers.
func (s state) canonical() state {
	if final(s.run) {
		s = s.atRest()
	}
	for i := range s.workers {
		if s.workers[i].phase == working && s.run.holder != uint8(i+1) {
			s.workers[i] = s.workers[i].fenced()
		}
	}
	s.thin()
	if s.workers[1].code() < s.workers[0].code() {
		s.workers[0], s.workers[1] = s.workers[1], s.workers[0]
		if h := s.run.holder; h == 1 || h == 2 {
			s.run.holder = 3 - h
		}
		for i := range s.queue {
			if f := s.queue[i].flying; f > 0 {
				s.queue[i].flying = 3 - f
			}
		}
	}
	var names [32]uint8
	next := uint8(1)
	name := func(id uint8) uint8 {
		if id == 0 {
			return 0
		}
		if names[id] == 0 {
			names[id] = next
			next++
		}
		return names[id]
	}
	for i := range s.queue[:s.queued] {
		s.queue[i].id = name(s.queue[i].id)
	}
	for i := range s.workers {
		s.workers[i].record = name(s.workers[i].record)
	}
	switch {
	case s.run.record == 0:
	case names[s.run.record] == 0:
		s.run.record = strangeRecord
	default:
		s.run.record = name(s.run.record)
	}
	return s
}

// strangeRecord is an identity that no record and no worker has any more; newRecord is one that none has yet.
const strangeRecord, newRecord = 30, 31

// code orders workers; equal codes are equal workers.
func (w worker) code() uint64 {
	c := uint64(w.phase)
	for _, n := range [...]uint8{
		bit(w.lost), w.record, bit(w.current), bit(w.late), w.age, w.place.scan, w.place.key, bit(w.place.deleted), bit(w.place.refused),
		bit(w.progress), w.attempts, w.mode, w.line.scan, bit(w.line.deleted), bit(w.line.refused), bit(w.line.late),
	} {
		c = c*7 + uint64(n) // every number but a record's is below 7
	}
	return c
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

func (s *state) push(r record) bool {
	if s.queued == queueCap {
		return false
	}
	s.queue[s.queued] = r
	s.queued++
	return true
}

func (s *state) pop() {
	copy(s.queue[:], s.queue[1:])
	s.queue[queueCap-1] = record{}
	s.queued--
}

// final tells a run that no legal move leaves.
func final(i item) bool {
	return states[i.state] == inbox.StateDismissed || states[i.state] == inbox.StateDone && modes[i.mode] == inbox.ModeDelete
}

// atRest forgets what made the run final: every write that is accepted from now on is a violation, whatever it writes.
func (s state) atRest() state {
	s.run.attempts, s.run.place, s.truth, s.world = 0, place{scan: 1}, truth{}, world{}
	return s
}

// fenced is a worker that lost the lease, which it never gets back: it may list and delete as often as it likes, and whatever
// it writes is a violation if it is accepted.
func (w worker) fenced() worker {
	return worker{phase: working, lost: w.lost, place: place{scan: 1}, attempts: 1, mode: w.mode}
}

// thin leaves one of the records that wait and must not start anything any more: if a table starts a slice by one of them, it
// does so by the first.
func (s *state) thin() {
	spent := func(r record) bool { return r.late && !r.current && r.flying == 0 && r.id != s.run.record }
	kept, seen := uint8(0), false
	for _, r := range s.queue[:s.queued] {
		if spent(r) {
			if seen {
				continue
			}
			seen, r.tries = true, 0
		}
		s.queue[kept] = r
		kept++
	}
	for i := kept; i < s.queued; i++ {
		s.queue[i] = record{}
	}
	s.queued = kept
}

// tick lets an hour pass.
func (s state) tick() state {
	if s.run.lease == leaseLive {
		s.run.lease = leaseOver
	}
	if s.run.next == nextLater {
		s.run.next = nextDue
	}
	if s.run.wake == wakeYoung {
		s.run.wake = wakeOld
	}
	for i := range s.workers {
		if s.workers[i].phase == asking {
			s.workers[i].age = 1
		}
	}
	return s
}
