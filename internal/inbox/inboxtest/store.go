package inboxtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"custody/internal/inbox"
)

// Store is an inbox table with its stream. The zero value is an empty one; it is safe for concurrent use. Unlike DynamoDB it
// has no bound on an item's size, and its index is never late.
type Store struct {
	mu         sync.Mutex
	runs       []inbox.Run      // by item key
	deliveries []inbox.Delivery // by item key
	records    []Record
	written    int // stream records so far, the drained ones included

	reservations map[string]inbox.Reservation // of the application, by id
}

// Record is what the stream says of one write whose new item carries a wake; the others never leave Lambda's filter.
type Record struct {
	Identity string // never the same twice in one store
	Image    inbox.Run
}

// Claim writes the delivery and its run at once, where neither exists; otherwise it says what stood in the way.
func (s *Store) Claim(_ context.Context, c inbox.Claim) (*inbox.Existing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delivery, run := s.delivery(c.Delivery.ID), s.run(c.Run.RunKey())
	if delivery != nil || run != nil {
		return &inbox.Existing{Delivery: delivery, Run: run}, nil
	}
	s.putDelivery(c.Delivery)
	s.put(asStored(c.Run), true)
	return nil, nil
}

// Alias writes the delivery alone, where it does not exist; otherwise it returns the one that is there.
func (s *Store) Alias(_ context.Context, d inbox.Delivery) (*inbox.Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there := s.delivery(d.ID); there != nil {
		return there, nil
	}
	s.putDelivery(d)
	return nil, nil
}

// Move makes the move and returns the run behind it. A condition that did not hold is *inbox.Refused with the run that refused
// it; any other error is the caller's: a value that the move needs is missing, or its data says nothing sensible.
func (s *Store) Move(_ context.Context, key inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error) {
	if err := complete(m, c); err != nil {
		return inbox.Run{}, fmt.Errorf("%s run %s: %w", m.Name, key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, found := s.find(key)
	if !found {
		return inbox.Run{}, &inbox.Refused{Move: m.Name}
	}
	next, changed, ok := apply(m, &s.runs[i], c)
	if !ok {
		there := clone(s.runs[i])
		return inbox.Run{}, &inbox.Refused{Move: m.Name, Run: &there}
	}
	if changed {
		s.put(next, true)
	}
	return clone(next), nil
}

// Run reads a run; nil when there is none.
func (s *Store) Run(_ context.Context, key inbox.RunKey) (*inbox.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run(key), nil
}

// Set puts a run as it is, past every condition and without a stream record: for a test that begins in the middle.
func (s *Store) Set(run inbox.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(asStored(run), false)
}

// Deliveries returns every delivery, by id.
func (s *Store) Deliveries() []inbox.Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.deliveries)
}

// Drain takes the stream's records out, in the order of the writes.
func (s *Store) Drain() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.records
	s.records = nil
	return out
}

// Clone is a store with the same content; what is done to one is not seen in the other.
func (s *Store) Clone() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Runs are replaced as a whole and never changed in place, so a copy of the slices is enough.
	return &Store{
		runs: slices.Clone(s.runs), deliveries: slices.Clone(s.deliveries), records: slices.Clone(s.records), written: s.written,
		reservations: maps.Clone(s.reservations),
	}
}

// Fingerprint is equal for stores with equal content, and only for them.
func (s *Store) Fingerprint() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := json.Marshal([]any{s.runs, s.deliveries, s.records, s.written, s.reservations})
	if err != nil {
		panic(err) // plain data: it cannot happen
	}
	return string(b)
}

func (s *Store) find(key inbox.RunKey) (int, bool) {
	return slices.BinarySearchFunc(s.runs, key, func(r inbox.Run, k inbox.RunKey) int {
		return cmp.Or(cmp.Compare(r.Type, k.Type), cmp.Compare(r.Key, k.Key))
	})
}

func (s *Store) run(key inbox.RunKey) *inbox.Run {
	i, found := s.find(key)
	if !found {
		return nil
	}
	run := clone(s.runs[i])
	return &run
}

func (s *Store) put(run inbox.Run, onStream bool) {
	i, found := s.find(run.RunKey())
	if found {
		s.runs[i] = run
	} else {
		s.runs = slices.Insert(s.runs, i, run)
	}
	if onStream && run.Wake != "" {
		s.written++
		s.records = append(s.records, Record{Identity: fmt.Sprintf("record-%d", s.written), Image: clone(run)})
	}
}

func (s *Store) findDelivery(id string) (int, bool) {
	return slices.BinarySearchFunc(s.deliveries, id, func(d inbox.Delivery, id string) int { return cmp.Compare(d.ID, id) })
}

func (s *Store) delivery(id string) *inbox.Delivery {
	i, found := s.findDelivery(id)
	if !found {
		return nil
	}
	d := s.deliveries[i]
	return &d
}

func (s *Store) putDelivery(d inbox.Delivery) {
	d.ReceivedAt = stored(d.ReceivedAt)
	i, _ := s.findDelivery(d.ID)
	s.deliveries = slices.Insert(s.deliveries, i, d)
}

// stored is the time as the table gives it back: whole milliseconds, UTC; a zero time is no attribute.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}

// asStored is the run as the table gives it back.
func asStored(r inbox.Run) inbox.Run {
	r = clone(r)
	for _, t := range []*time.Time{
		&r.LeaseExpiresAt, &r.WakeAt, &r.NextAttemptAt, &r.ReceivedAt, &r.StartedAt, &r.EndedAt, &r.OpenSince, &r.Selection.Cutoff,
	} {
		*t = stored(*t)
	}
	for _, e := range []*inbox.LastError{r.LastError, r.Cause} {
		if e != nil {
			e.At = stored(e.At)
		}
	}
	if r.Operation != nil {
		r.Operation.At = stored(r.Operation.At)
	}
	return r
}

// clone shares nothing with the run that anybody could change.
func clone(r inbox.Run) inbox.Run {
	r.Selection.Prefixes = slices.Clone(r.Selection.Prefixes)
	r.Place = clonePlace(r.Place)
	r.LastError, r.Cause, r.Operation = copyOf(r.LastError), copyOf(r.Cause), copyOf(r.Operation)
	return r
}

func clonePlace(p inbox.Place) inbox.Place {
	p.Retained, p.Refused = maps.Clone(p.Retained), slices.Clone(p.Refused)
	return p
}

func copyOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
