package dynamostore_test

import (
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custody/internal/inbox"
	"custody/internal/inbox/inboxtest"
)

// The rule is written down twice, as Expiry.Lapsed and as the condition of a write, and its negation a third time: random
// reservations and expiries must be judged alike by all of them, by the table, and by the table in memory. Of the two claims
// exactly one is durable.
func TestTheConditionSaysWhatLapsedSays(t *testing.T) {
	t.Parallel()
	s := shopOver(t, nil)
	memory := new(inboxtest.Store)
	n, verdicts := 0, map[bool]int{}
	rapid.Check(t, func(rt *rapid.T) {
		for range 5 {
			n++
			there := rapid.IntRange(0, 9).Draw(rt, "there") > 0
			r, e := anyReservation().Draw(rt, "reservation"), anyExpiry().Draw(rt, "expiry")
			if !there {
				r = inbox.Reservation{}
			}
			verdicts[e.Lapsed(r)]++
			for _, name := range []string{"expire", "decline"} { // each meets a reservation of its own
				e.ReservationID = fmt.Sprintf("r-%d-%s", n, name)
				if there {
					memory.SetReservation(e.ReservationID, r)
					s.put(t, e.ReservationID, asItem(r))
				}
				d := expiryDelivery(fmt.Sprintf("d-%d-%s", n, name), e.ReservationID, inbox.OutcomeExpired)
				claim, inMemory := s.Expire, memory.Expire
				if name == "decline" {
					claim, inMemory = s.Decline, memory.Decline
				}
				for try := range 2 { // the second one meets its own delivery
					refused, err := claim(t.Context(), d, e)
					ours, _ := inMemory(t.Context(), d, e)
					if diff := gocmp.Diff(refused, ours); diff != "" || err != nil {
						rt.Fatalf("%s %+v of %+v: %v (-DynamoDB +memory):\n%s", name, e, r, err, diff)
					}
					if durable := refused == nil; try == 0 && durable != (e.Lapsed(r) == (name == "expire")) {
						rt.Fatalf("%s %+v of %+v, there %t: durable %t", name, e, r, there, durable)
					}
				}
				left, known := memory.Reservation(e.ReservationID)
				if diff := gocmp.Diff(s.reservationOf(t, e.ReservationID), left); diff != "" || known != there {
					rt.Fatalf("what %s leaves of %+v (-DynamoDB +memory):\n%s", name, r, diff)
				}
			}
		}
	})
	t.Log(verdicts)
	if verdicts[true] < 20 || verdicts[false] < 20 {
		t.Errorf("verdicts %v: the test compares nothing", verdicts)
	}
}

// anyReservation is mostly held, with a deadline around the expiry's, which is around now.
func anyReservation() *rapid.Generator[inbox.Reservation] {
	return rapid.Custom(func(rt *rapid.T) inbox.Reservation {
		return inbox.Reservation{
			Status:    rapid.SampledFrom([]string{"held", "held", "held", "paid", "released", "expired", "", "HELD", "held "}).Draw(rt, "status"),
			ExpiresAt: rapid.SampledFrom([]time.Time{{}, now, now, anyDeadline(rt), anyDeadline(rt)}).Draw(rt, "expires at").Truncate(time.Millisecond),
		}
	})
}

func anyExpiry() *rapid.Generator[inbox.Expiry] {
	return rapid.Custom(func(rt *rapid.T) inbox.Expiry {
		return inbox.Expiry{ExpiresAt: rapid.SampledFrom([]time.Time{now, anyDeadline(rt)}).Draw(rt, "expires at"), At: now}
	})
}

// anyDeadline has microseconds, which an event may name and the table does not hold, and any year that a payload may name.
func anyDeadline(rt *rapid.T) time.Time {
	if rapid.IntRange(0, 5).Draw(rt, "far") == 0 {
		return time.UnixMilli(rapid.Int64Range(0, 253402300799999).Draw(rt, "ms")).UTC()
	}
	return now.Add(time.Duration(rapid.IntRange(-2000, 2000).Draw(rt, "µs")) * time.Microsecond)
}

func asItem(r inbox.Reservation) attributes {
	it := attributes{}
	if r.Status != "" {
		it["status"] = str(r.Status)
	}
	if !r.ExpiresAt.IsZero() {
		it["expires_at"] = ms(r.ExpiresAt)
	}
	return it
}

// reservationOf is what the domain knows of the item.
func (s shop) reservationOf(t *testing.T, id string) inbox.Reservation {
	t.Helper()
	it := s.reservation(t, id)
	var r inbox.Reservation
	if status, ok := it["status"]; ok {
		r.Status = textOf(status)
	}
	if at, ok := it["expires_at"]; ok {
		r.ExpiresAt = timeOf(t, at)
	}
	return r
}
