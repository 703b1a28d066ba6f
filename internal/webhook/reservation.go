package webhook

import (
	"context"
	"errors"

	"custody/internal/command"
	"custody/internal/inbox"
)

// Reservations is the inbox together with the application's reservations, as a command that starts no run needs them. Both
// writes are one transaction each. Nil and nil: it is durable. A refusal says what stood in the way, read by the refusal itself;
// an error says that nothing is known, except inbox.ErrTooLarge: nothing was written.
type Reservations interface {
	// Expire claims the delivery and moves the reservation to expired, where Expiry.Lapsed holds for it.
	Expire(ctx context.Context, d inbox.Delivery, e inbox.Expiry) (*inbox.ExpiryRefused, error)
	// Decline claims the delivery where Expiry.Lapsed does not hold; the reservation stays as it is, and may be missing.
	Decline(ctx context.Context, d inbox.Delivery, e inbox.Expiry) (*inbox.ExpiryRefused, error)
}

// expiryRounds bounds how often the reservation may change its mind between the two transactions, each of which takes some
// milliseconds. A sender that repeats is the next round.
const expiryRounds = 3

// expire claims the delivery together with what it does to the reservation. The two transactions ask for a condition and for
// its plain negation, so each outcome is exact at the instant of its claim: a reservation that is paid for in between stays
// paid for, and one that is answered as no longer held was not held.
func (h *Handler) expire(ctx context.Context, d inbox.Delivery, e inbox.Expiry) (inbox.Outcome, error) {
	if h.Settings.RecordOnly {
		return "", unavailable("the stage is record-only, and a reservation cannot be half expired")
	}
	for range expiryRounds {
		for _, step := range []struct {
			outcome inbox.Outcome
			claim   func(context.Context, inbox.Delivery, inbox.Expiry) (*inbox.ExpiryRefused, error)
		}{
			{inbox.OutcomeExpired, h.Reservations.Expire},
			{inbox.OutcomeNoLongerHeld, h.Reservations.Decline},
		} {
			d.Outcome = step.outcome
			refused, err := within(ctx, func(ctx context.Context) (*inbox.ExpiryRefused, error) { return step.claim(ctx, d, e) })
			if err != nil {
				return "", err
			}
			if refused == nil {
				return step.outcome, nil
			}
			if refused.Delivery != nil {
				return settled(inbox.Claim{Delivery: d}, inbox.Existing{Delivery: refused.Delivery})
			}
		}
	}
	return "", errors.New("the reservation kept changing between the claims")
}

// needsReservations reports whether the stack accepts a command that needs them and they are not there.
func (h *Handler) needsReservations() bool {
	return h.Commands != nil && h.Commands.Accepts(command.ReservationExpire) && h.Reservations == nil
}
