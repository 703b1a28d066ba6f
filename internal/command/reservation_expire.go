package command

import "custody/internal/inbox"

// ReservationExpire asks to move one reservation that is still held past its deadline to expired.
const ReservationExpire = "reservation.expire"

func reservationExpire() kind {
	return kind{
		names: []string{"reservationId", "titleId", "expiresAt"},
		build: buildReservationExpire,
	}
}

// buildReservationExpire starts no run: the whole effect happens inside the claim. The title is checked and no more, since
// the reservation's id alone names the item. The names are in camel case, as the systems that send this command write them.
func buildReservationExpire(f *fields, _ Settings) Command {
	reservation, _, expiresAt := f.id("reservationId"), f.id("titleId"), f.time("expiresAt")
	return Command{
		Type:   ReservationExpire,
		Expiry: &inbox.Expiry{ReservationID: reservation, ExpiresAt: expiresAt},
		Due:    expiresAt,
	}
}
