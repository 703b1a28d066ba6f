package inbox

import "time"

// Expiry is the one effect of a reservation.expire: a reservation that is still held past its deadline becomes expired. It
// starts no run.
type Expiry struct {
	ReservationID string
	ExpiresAt     time.Time // the deadline that the command names; a reservation whose own deadline is later was extended
	At            time.Time // when the reservation is said to have expired, of the transition
}

// The statuses of a reservation that Custody knows. Every other, `paid` and `released` among them, is the application's own
// and means that the reservation is no longer held.
const (
	ReservationHeld    = "held"
	ReservationExpired = "expired"
)

// Reservation is what an expiry looks at of one.
type Reservation struct {
	Status    string
	ExpiresAt time.Time // zero where the reservation has none, or one that is no number
}

// Lapsed reports whether the expiry may move the reservation: it is held, and its own deadline is not later than the expiry's.
// The store asks the same as the condition of its write; everything else is OutcomeNoLongerHeld, exactly.
func (e Expiry) Lapsed(r Reservation) bool {
	return r.Status == ReservationHeld && !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(e.ExpiresAt)
}

// ExpiryRefused is what stood in the way of an expiry's claim; at least one of the two did.
type ExpiryRefused struct {
	// Delivery is the item that has the delivery id already; nil where none has.
	Delivery *Delivery
	// Reservation says that the reservation was not as the claim expects it.
	Reservation bool
}
