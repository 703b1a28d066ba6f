package cleanup

import (
	"maps"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// position is a point in the order of a scan: everything up to the key, in the prefix with the index, lies behind it.
type position struct {
	prefix int
	key    string
}

// tally is what a scan has seen of finished keys, and not yet counted into the place.
type tally struct {
	retained     map[retention.Reason]int64
	refusedCount int64
	refused      []inbox.RefusedVersion
}

func (t *tally) retain(r retention.Reason) {
	if t.retained == nil {
		t.retained = map[retention.Reason]int64{}
	}
	t.retained[r]++
}

func (t *tally) refuse(v retention.Version, code string) {
	t.refusedCount++
	if len(t.refused) < inbox.MaxRefusedNames {
		t.refused = append(t.refused, inbox.RefusedVersion{Key: v.Key, VersionID: v.ID, Code: code})
	}
}

func (t *tally) add(o tally) {
	for reason, n := range o.retained {
		if t.retained == nil {
			t.retained = map[retention.Reason]int64{}
		}
		t.retained[reason] += n
	}
	t.refusedCount += o.refusedCount
	room := max(0, inbox.MaxRefusedNames-len(t.refused))
	t.refused = append(t.refused, o.refused[:min(room, len(o.refused))]...)
}

// keyWork is a key that is not finished: it is still being listed, or versions of it are on their way.
type keyWork struct {
	before  position           // what lay behind everything before this key
	pending int                // versions in a batch or waiting for one
	stays   bool               // a version other than the current one stays
	current *retention.Version // the current version, expired, held back until the others are confirmed gone
	ended   bool               // the listing has gone past the key
	tally   tally

	prev, next *keyWork // in the order of the listing
}

// ledger knows which keys are unfinished, and so how far the place may go: never past an unconfirmed version, so that a
// process may die anywhere. What finished keys have seen is counted into the place when it passes them, since a resumed scan
// sees the keys behind the place again. Memory is bounded by the unfinished keys alone.
type ledger struct {
	place    inbox.Place
	counters inbox.Counters
	reached  position // where the listing stands: all keys up to here were listed whole

	first, last *keyWork
	slice       sliceCounts
}

// sliceCounts is what this slice did, for its log line.
type sliceCounts struct {
	listed, deleted, absent int64
	refused                 tally // by name, too
	retained                map[retention.Reason]int64
}

func newLedger(place inbox.Place, counters inbox.Counters) *ledger {
	return &ledger{
		place: place, counters: counters, reached: position{place.Prefix, place.Key},
		slice: sliceCounts{retained: map[retention.Reason]int64{}},
	}
}

// begin opens a key that the listing has come to.
func (l *ledger) begin() *keyWork {
	k := &keyWork{before: l.reached, prev: l.last}
	if l.last == nil {
		l.first = k
	} else {
		l.last.next = k
	}
	l.last = k
	return k
}

// end closes a key that the listing has gone past, and returns its current version if that is what is left to decide.
func (l *ledger) end(k *keyWork, at position) *candidate {
	k.ended = true
	l.reached = at
	return l.settle(k)
}

// endPrefix moves on to the next prefix.
func (l *ledger) endPrefix(prefix int) {
	l.reached = position{prefix: prefix + 1}
	l.advance()
}

// selected counts a version that a dry run would have deleted.
func (l *ledger) selected(k *keyWork) *candidate {
	l.counters.Selected++
	k.pending--
	return l.settle(k)
}

// deleted counts a version that is confirmed gone.
func (l *ledger) deleted(k *keyWork, absent bool) *candidate {
	l.counters.Selected++
	if absent {
		l.counters.Absent++
		l.slice.absent++
	} else {
		l.counters.Deleted++
		l.slice.deleted++
	}
	l.place.Deleted = true
	k.pending--
	return l.settle(k)
}

// uncertain notes a delete request without an answer: it may have deleted, so this scan is not the empty one that completes a run.
func (l *ledger) uncertain() { l.place.Deleted = true }

// retained counts a version that the decision kept when its batch was about to go.
func (l *ledger) retained(k *keyWork, v retention.Version, r retention.Reason) *candidate {
	k.pending--
	l.keep(k, v, r)
	return l.settle(k)
}

// locked counts a version that was sent, and that its lock kept.
func (l *ledger) locked(k *keyWork, v retention.Version, r retention.Reason) *candidate {
	l.counters.Selected++
	return l.retained(k, v, r)
}

// keep counts a version that stays. Young versions are not expired, and so are not counted as retained.
func (l *ledger) keep(k *keyWork, v retention.Version, r retention.Reason) {
	if v.Currency != retention.Current {
		k.stays = true
	}
	if r != retention.ReasonYoung {
		k.tally.retain(r)
		l.slice.retained[r]++
	}
}

// refused counts a version that S3 refused to delete.
func (l *ledger) refused(k *keyWork, v retention.Version, code string) *candidate {
	k.pending--
	if v.Currency != retention.Current {
		k.stays = true
	}
	k.tally.refuse(v, code)
	l.counters.Selected++
	l.slice.refused.refuse(v, code)
	return l.settle(k)
}

// settle finishes a key with nothing left to wait for. Its current version comes last: it is returned to be decided when the
// fate of every other version of the key is known, since removing it over one that stays would bring that one back.
func (l *ledger) settle(k *keyWork) *candidate {
	if !k.ended || k.pending > 0 {
		return nil
	}
	if v := k.current; v != nil {
		k.current = nil
		k.pending++
		return &candidate{version: *v, key: k, othersStay: k.stays}
	}
	l.finish(k)
	return nil
}

// finish takes the key out of the unfinished ones. Behind another unfinished key, what it saw waits with that one.
func (l *ledger) finish(k *keyWork) {
	if k.prev == nil {
		l.count(k.tally)
		l.first = k.next
	} else {
		k.prev.tally.add(k.tally)
		k.prev.next = k.next
	}
	if k.next == nil {
		l.last = k.prev
	} else {
		k.next.prev = k.prev
	}
	l.advance()
}

func (l *ledger) count(t tally) {
	seen := tally{refusedCount: l.place.RefusedCount, refused: l.place.Refused}
	seen.add(t)
	l.place.RefusedCount, l.place.Refused = seen.refusedCount, seen.refused
	for reason, n := range t.retained {
		l.place.Retained[string(reason)] += n
	}
}

func (l *ledger) advance() {
	at := l.reached
	if l.first != nil {
		at = l.first.before
	}
	l.place.Prefix, l.place.Key = at.prefix, at.key
}

// nextScan starts over, with what the last scan saw forgotten and the totals kept.
func (l *ledger) nextScan() {
	l.place = l.place.NextScan()
	l.reached = position{}
}

// snapshot is the place as it may be written while work goes on.
func (l *ledger) snapshot() inbox.Place {
	p := l.place
	p.Retained = maps.Clone(p.Retained)
	p.Refused = append([]inbox.RefusedVersion{}, p.Refused...)
	return p
}

func (l *ledger) mark() mark {
	return mark{
		place: position{l.place.Prefix, l.place.Key}, scan: l.place.Scan, deleted: l.counters.Deleted + l.counters.Absent,
	}
}
