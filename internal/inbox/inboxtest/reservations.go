package inboxtest

import (
	"context"

	"custody/internal/inbox"
)

// Expire claims the delivery and moves the reservation to expired, where Expiry.Lapsed holds for it; otherwise it says what
// stood in the way. The time of the transition is not kept.
func (s *Store) Expire(_ context.Context, d inbox.Delivery, e inbox.Expiry) (*inbox.ExpiryRefused, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there, lapsed := s.reservations[e.ReservationID], s.lapsed(e)
	if refused := s.claimExpiry(d, lapsed); refused != nil {
		return refused, nil
	}
	there.Status = inbox.ReservationExpired
	s.setReservation(e.ReservationID, there)
	return nil, nil
}

// Decline claims the delivery where Expiry.Lapsed does not hold for the reservation, or there is none.
func (s *Store) Decline(_ context.Context, d inbox.Delivery, e inbox.Expiry) (*inbox.ExpiryRefused, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refused := s.claimExpiry(d, !s.lapsed(e)); refused != nil {
		return refused, nil
	}
	return nil, nil
}

func (s *Store) lapsed(e inbox.Expiry) bool {
	e.ExpiresAt = stored(e.ExpiresAt)
	return e.Lapsed(s.reservations[e.ReservationID])
}

// claimExpiry writes the delivery where nothing stands in the way.
func (s *Store) claimExpiry(d inbox.Delivery, reservation bool) *inbox.ExpiryRefused {
	if there := s.delivery(d.ID); there != nil || !reservation {
		return &inbox.ExpiryRefused{Delivery: there, Reservation: !reservation}
	}
	s.putDelivery(d)
	return nil
}

// SetReservation puts a reservation as it is, as the application does.
func (s *Store) SetReservation(id string, r inbox.Reservation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.ExpiresAt = stored(r.ExpiresAt)
	s.setReservation(id, r)
}

func (s *Store) setReservation(id string, r inbox.Reservation) {
	if s.reservations == nil {
		s.reservations = map[string]inbox.Reservation{}
	}
	s.reservations[id] = r
}

// Reservation returns a reservation; false where there is none.
func (s *Store) Reservation(id string) (inbox.Reservation, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.reservations[id]
	return r, ok
}
