package command_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/command"
	"custody/internal/inbox"
)

const goodReservation = `{"reservationId":"res-7","titleId":"title-1","expiresAt":"2026-08-30T12:00:00.25+02:00"}`

func TestReservationExpireIsAnEffectAndNoRun(t *testing.T) {
	t.Parallel()
	got, err := decoder(t, everything(command.ReservationExpire)).Decode([]byte(goodReservation))
	if err != nil {
		t.Fatal(err)
	}
	// The deadline keeps its fraction: the reservation's own is in milliseconds.
	deadline := at().Add(250 * time.Millisecond)
	want := command.Command{
		Type: "reservation.expire", Due: deadline, Expiry: &inbox.Expiry{ReservationID: "res-7", ExpiresAt: deadline},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
	if slices.Contains(command.RunTypes(), command.ReservationExpire) {
		t.Error("it is listed among the types that start runs")
	}
}

func TestReservationPayloadsThatAreTheSameCommand(t *testing.T) {
	t.Parallel()
	d := decoder(t, everything(command.ReservationExpire))
	first, err := d.Decode([]byte(goodReservation))
	if err != nil {
		t.Fatal(err)
	}
	for sentence, body := range map[string]string{
		"with its type":              `{"type":"reservation.expire",` + goodReservation[1:],
		"in another time zone":       strings.Replace(goodReservation, "12:00:00.25+02:00", "10:00:00.250Z", 1),
		"of another title":           strings.Replace(goodReservation, "title-1", "title-2", 1),
		"with unknown fields":        `{"userId":17,"reservation_id":"other","expires_at":"never",` + goodReservation[1:],
		"with a number above 2^53":   `{"seat":9007199254740993,` + goodReservation[1:],
		"with a list of its own kin": `{"items":[` + goodReservation + `,` + goodReservation + `],` + goodReservation[1:],
	} {
		if got, err := d.Decode([]byte(body)); err != nil {
			t.Errorf("%s: %v", sentence, err)
		} else if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

// A stack without runs needs no prefixes, and takes none of the other types' settings into account.
func TestAStackOfReservationsAloneNeedsNoPrefixes(t *testing.T) {
	t.Parallel()
	s := everything(command.ReservationExpire)
	s.WarehousePrefixes, s.ListingPrefixes = nil, []string{"pod/{listing_id}/", "{listing_id}/"}
	if _, err := command.NewDecoder(s); err != nil {
		t.Error(err)
	}
}
