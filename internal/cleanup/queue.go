package cleanup

import "custody/internal/retention"

const (
	// batchSize is the most versions that one delete request takes (S3 API reference, DeleteObjects).
	batchSize = 1000
	// batchPages is how many pages a batch that does not fill may wait: a version that waits holds back the place.
	batchPages = 8
)

// candidate is a version on its way to be decided and deleted, with the key that waits for it.
type candidate struct {
	version    retention.Version
	key        *keyWork
	othersStay bool // of a current version: another version of its key stays
}

// lane gathers candidates into batches.
type lane struct {
	gathering []candidate
	since     int // page number at which gathering began
}

// queue holds the batches that are ready and the two that are being filled. Current versions go in batches of their own, behind
// the batches of their keys.
type queue struct {
	noncurrent, current lane
	ready               [][]candidate
	pages               int // pages listed so far
}

func (q *queue) add(c candidate) {
	l := &q.noncurrent
	if c.version.Currency == retention.Current {
		l = &q.current
	}
	if len(l.gathering) == 0 {
		l.since = q.pages
	}
	l.gathering = append(l.gathering, c)
	if len(l.gathering) == batchSize {
		q.flush(l)
	}
}

func (q *queue) flush(l *lane) {
	if len(l.gathering) > 0 {
		q.ready = append(q.ready, l.gathering)
		l.gathering = nil
	}
}

// page counts a listed page and sends on what has waited too long.
func (q *queue) page() {
	q.pages++
	for _, l := range []*lane{&q.noncurrent, &q.current} {
		if q.pages-l.since >= batchPages {
			q.flush(l)
		}
	}
}

// drain makes the rest ready once nothing more is listed. Current versions wait until nothing is on its way: what the last
// batches confirm joins them.
func (q *queue) drain(onTheirWay int) {
	q.flush(&q.noncurrent)
	if onTheirWay == 0 && len(q.ready) == 0 {
		q.flush(&q.current)
	}
}

func (q *queue) take() []candidate {
	if len(q.ready) == 0 {
		return nil
	}
	b := q.ready[0]
	q.ready = q.ready[1:]
	return b
}

func (q *queue) empty() bool {
	return len(q.ready) == 0 && len(q.noncurrent.gathering) == 0 && len(q.current.gathering) == 0
}
