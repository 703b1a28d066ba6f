package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/command"
	"custody/internal/inbox"
	"custody/internal/inbox/inboxtest"
	"custody/internal/webhook"
)

var (
	expired      = answer{204, inbox.OutcomeExpired}
	noLongerHeld = answer{204, inbox.OutcomeNoLongerHeld}
)

// shelf is the inbox in memory with an application's reservations. What happens around a claim can be said.
type shelf struct {
	*inboxtest.Store
	mu       sync.Mutex
	claims   []string // as they came
	expiries []inbox.Expiry

	before func(ctx context.Context, claim string) error // the claim is not made
	after  func(ctx context.Context, claim string) error // it is, and its answer is lost
}

func (s *shelf) Expire(ctx context.Context, d inbox.Delivery, e inbox.Expiry) (*inbox.ExpiryRefused, error) {
	return s.around(ctx, "expire", e, func() (*inbox.ExpiryRefused, error) { return s.Store.Expire(ctx, d, e) })
}

func (s *shelf) Decline(ctx context.Context, d inbox.Delivery, e inbox.Expiry) (*inbox.ExpiryRefused, error) {
	return s.around(ctx, "decline", e, func() (*inbox.ExpiryRefused, error) { return s.Store.Decline(ctx, d, e) })
}

func (s *shelf) around(
	ctx context.Context, name string, e inbox.Expiry, claim func() (*inbox.ExpiryRefused, error),
) (*inbox.ExpiryRefused, error) {
	s.mu.Lock()
	s.claims, s.expiries = append(s.claims, name), append(s.expiries, e)
	before, after := s.before, s.after
	s.mu.Unlock()
	if before != nil {
		if err := before(ctx, name); err != nil {
			return nil, err
		}
	}
	refused, err := claim()
	if after != nil {
		if err := after(ctx, name); err != nil {
			return nil, err
		}
	}
	return refused, err
}

func (s *shelf) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.after = nil, nil
}

// shop is a front door that takes every command, and the shelf behind it.
type shop struct {
	front
	Shelf *shelf
}

func openShop(t testing.TB, change ...func(*webhook.Handler)) shop {
	t.Helper()
	s := &shelf{Store: new(inboxtest.Store)}
	take := func(h *webhook.Handler) { h.Commands, h.Store, h.Reservations = everyCommand(t), s.Store, s }
	return shop{open(t, append([]func(*webhook.Handler){take}, change...)...), s}
}

func everyCommand(t testing.TB) *command.Decoder {
	t.Helper()
	d, err := command.NewDecoder(command.Settings{
		Accepted: []string{command.CleanupRun, command.ListingExpire, command.ReservationExpire}, Bucket: "pods", MinObjectAge: 24 * time.Hour,
		WarehousePrefixes: []string{"pod/{warehouse_id}/"}, ListingPrefixes: []string{"search/{listing_id}/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// received is when the sample delivery was received, exactly.
func received() time.Time { return receipt().Add(250 * time.Millisecond) }

func expiryOf(reservation string, at time.Time) string {
	return fmt.Sprintf(`{"type":"reservation.expire","reservationId":%q,"titleId":"t-1","expiresAt":%q}`, reservation, at.Format(time.RFC3339Nano))
}

func heldUntil(at time.Time) inbox.Reservation {
	return inbox.Reservation{Status: inbox.ReservationHeld, ExpiresAt: at}
}

// deadline is that of the reservation that the deliveries here name, and of their command.
func deadline() time.Time { return receipt().Add(-time.Minute) }

func TestAReservationIsExpiredOrWasNoLongerHeld(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		reservation *inbox.Reservation
		want        answer
		claims      []string
	}{
		"held past its deadline":              {&inbox.Reservation{Status: "held", ExpiresAt: deadline()}, expired, []string{"expire"}},
		"held, its deadline before the event": {&inbox.Reservation{Status: "held", ExpiresAt: deadline().Add(-time.Hour)}, expired, []string{"expire"}},
		"extended by a millisecond":           {&inbox.Reservation{Status: "held", ExpiresAt: deadline().Add(time.Millisecond)}, noLongerHeld, []string{"expire", "decline"}},
		"paid just before":                    {&inbox.Reservation{Status: "paid", ExpiresAt: deadline()}, noLongerHeld, []string{"expire", "decline"}},
		"released":                            {&inbox.Reservation{Status: "released", ExpiresAt: deadline()}, noLongerHeld, []string{"expire", "decline"}},
		"expired by another delivery":         {&inbox.Reservation{Status: "expired", ExpiresAt: deadline()}, noLongerHeld, []string{"expire", "decline"}},
		"held without a deadline":             {&inbox.Reservation{Status: "held"}, noLongerHeld, []string{"expire", "decline"}},
		"missing":                             {nil, noLongerHeld, []string{"expire", "decline"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			if c.reservation != nil {
				s.Shelf.SetReservation("r-1", *c.reservation)
			}
			req := signed(t, "d-1", expiryOf("r-1", deadline()))
			got, resp, sum := s.send(t, req)
			if got != c.want || resp.Body != "" {
				t.Errorf("answer %v %q, want %v: %s", got, resp.Body, c.want, sum.Problem)
			}
			if diff := cmp.Diff(c.claims, s.Shelf.claims); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			wantExpiry := inbox.Expiry{ReservationID: "r-1", ExpiresAt: deadline(), At: receipt().Add(time.Second)}
			for _, e := range s.Shelf.expiries {
				if diff := cmp.Diff(wantExpiry, e); diff != "" {
					t.Errorf("expiry (-want +got):\n%s", diff)
				}
			}
			wantSum := inbox.DeliverySummary{
				DeliveryID: "d-1", KeyID: "k1", CommandType: "reservation.expire", ReservationID: "r-1", Outcome: c.want.Outcome, Status: 204,
				Signature: "valid", BodyBytes: len(req.Body), Age: 60*time.Second + 250*time.Millisecond, AckLatency: 750 * time.Millisecond,
			}
			if diff := cmp.Diff(wantSum, sum); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
			all := s.Shelf.Deliveries()
			if len(all) != 1 {
				t.Fatalf("deliveries %+v", all)
			}
			d := all[0]
			if d.Outcome != c.want.Outcome || d.ReservationID != "r-1" || d.RunKey != "" || d.TTL != received().Add(90*24*time.Hour).Unix() {
				t.Errorf("delivery %+v", d)
			}
			left, there := s.Shelf.Reservation("r-1")
			want := inbox.Reservation{}
			if c.reservation != nil {
				want = *c.reservation
			}
			if c.want == expired {
				want.Status = "expired"
			}
			if diff := cmp.Diff(want, left); diff != "" || there != (c.reservation != nil) {
				t.Errorf("reservation (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCopiesAndConflictsOfAnExpiry(t *testing.T) {
	t.Parallel()
	body := expiryOf("r-1", deadline())
	for sentence, c := range map[string]struct {
		first, second [2]string // id and body
		want          answer
	}{
		"the same delivery again":                      {[2]string{"d-1", body}, [2]string{"d-1", body}, already},
		"the same id, other bytes of the same command": {[2]string{"d-1", body}, [2]string{"d-1", body + " "}, conflict},
		"the same id for another reservation":          {[2]string{"d-1", body}, [2]string{"d-1", expiryOf("r-2", deadline())}, conflict},
		"the same id for a run":                        {[2]string{"d-1", body}, [2]string{"d-1", payload("run-1", "wh-1")}, conflict},
		"an id that a run has":                         {[2]string{"d-1", payload("run-1", "wh-1")}, [2]string{"d-1", body}, conflict},
		// There is no run that it could be an alias of: what the reservation says is the answer.
		"the same command under another id": {[2]string{"d-1", body}, [2]string{"d-2", body}, noLongerHeld},
		"another reservation":               {[2]string{"d-1", body}, [2]string{"d-2", expiryOf("r-2", deadline())}, expired},
	} {
		for status, first := range map[string]answer{"held": expired, "paid": noLongerHeld} {
			t.Run(sentence+", "+status, func(t *testing.T) {
				t.Parallel()
				s := openShop(t)
				s.Shelf.SetReservation("r-1", inbox.Reservation{Status: status, ExpiresAt: deadline()})
				s.Shelf.SetReservation("r-2", heldUntil(deadline()))
				if got, _, _ := s.send(t, signed(t, c.first[0], c.first[1])); got != first && got != accepted {
					t.Fatalf("first: answer %v", got)
				}
				before := s.Shelf.Fingerprint()
				for try := range 3 { // an answer does not change by asking again
					want := c.want
					if try > 0 && want.Status == 204 {
						want = already
					}
					got, resp, sum := s.send(t, signed(t, c.second[0], c.second[1]))
					if got != want || resp.Headers["Retry-After"] != "" {
						t.Errorf("try %d: answer %v, want %v: %s", try, got, want, sum.Problem)
					}
				}
				if wrote := s.Shelf.Fingerprint() != before; wrote != (c.want == noLongerHeld || c.want == expired) {
					t.Errorf("written: %t", wrote)
				}
			})
		}
	}
}

// A reservation that changes between the two claims is asked again, and not for ever.
func TestAReservationThatKeepsChanging(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		flips  int    // how often it is changed before a claim, so that the claim is refused
		last   string // the claim that meets it as it likes
		want   answer
		claims int
	}{
		"not at all":                          {0, "expire", expired, 1},
		"before the first":                    {1, "decline", noLongerHeld, 2},
		"before each of the first two":        {2, "expire", expired, 3},
		"before each of the first three":      {3, "decline", noLongerHeld, 4},
		"before each but the last":            {5, "decline", noLongerHeld, 6},
		"before every one":                    {6, "", retryable, 6},
		"for as long as anybody would ask it": {1000, "", retryable, 6},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			flips := 0
			s.Shelf.before = func(_ context.Context, claim string) error {
				status := map[bool]string{true: "held", false: "paid"}[(claim == "expire") == (flips >= c.flips)]
				s.Shelf.SetReservation("r-1", inbox.Reservation{Status: status, ExpiresAt: deadline()})
				flips++
				return nil
			}
			got, resp, sum := s.send(t, signed(t, "d-1", expiryOf("r-1", deadline())))
			if got != c.want || (resp.Headers["Retry-After"] != "") != (c.want == retryable) {
				t.Errorf("answer %v, want %v: %s", got, c.want, sum.Problem)
			}
			if len(s.Shelf.claims) != c.claims || c.last != "" && s.Shelf.claims[c.claims-1] != c.last {
				t.Errorf("claims %v, want %d with %s at the end", s.Shelf.claims, c.claims, c.last)
			}
			if n := len(s.Shelf.Deliveries()); (n == 1) != (c.want.Status == 204) {
				t.Errorf("%d deliveries", n)
			}
		})
	}
}

func TestInTheRecordOnlyStageAReservationIsNotTouched(t *testing.T) {
	t.Parallel()
	s := openShop(t, func(h *webhook.Handler) { h.Settings.RecordOnly = true })
	s.Shelf.SetReservation("r-1", heldUntil(deadline()))
	got, resp, sum := s.send(t, signed(t, "d-1", expiryOf("r-1", deadline())))
	if got != retryable || resp.Headers["Retry-After"] == "" || !strings.Contains(sum.Problem, "record-only") {
		t.Errorf("answer %v, Retry-After %q: %s", got, resp.Headers["Retry-After"], sum.Problem)
	}
	if left, _ := s.Shelf.Reservation("r-1"); len(s.Shelf.claims)+len(s.Shelf.Deliveries()) > 0 || left.Status != "held" {
		t.Errorf("claims %v, reservation %+v", s.Shelf.claims, left)
	}
	if got, _, _ := s.send(t, signed(t, "d-2", payload("r-1", "wh-1"))); got != accepted {
		t.Errorf("a run is recorded all the same: answer %v", got)
	}
}

func TestAnExpiryIsNotMadeBeforeItIsDue(t *testing.T) {
	t.Parallel()
	notDue := answer{503, inbox.OutcomeNotDue}
	for dueIn, c := range map[time.Duration]struct {
		want       answer
		retryAfter string
	}{
		-time.Hour:               {expired, ""},
		-time.Nanosecond:         {expired, ""},
		0:                        {expired, ""},
		time.Nanosecond:          {notDue, "1"},
		1500 * time.Millisecond:  {notDue, "2"},
		300 * time.Second:        {notDue, "300"},
		300*time.Second + 1:      {rejected(422), ""},
		24 * 365 * 9 * time.Hour: {rejected(422), ""},
	} {
		s := openShop(t)
		at := received().Add(dueIn)
		s.Shelf.SetReservation("r-1", heldUntil(at.Truncate(time.Millisecond)))
		got, resp, sum := s.send(t, signed(t, "d-1", expiryOf("r-1", at)))
		if got != c.want || resp.Headers["Retry-After"] != c.retryAfter {
			t.Errorf("due in %s: answer %v, want %v; Retry-After %q, want %q: %s", dueIn, got, c.want, resp.Headers["Retry-After"], c.retryAfter, sum.Problem)
		}
		if n := len(s.Shelf.claims); (n > 0) != (c.want == expired) {
			t.Errorf("due in %s: %d claims", dueIn, n)
		}
	}
}

func TestAnExpiryThatIsNoValidCommandReachesNoStore(t *testing.T) {
	t.Parallel()
	valid := expiryOf("r-1", deadline())
	for sentence, c := range map[string]struct{ body, says string }{
		"without the reservation":          {strings.Replace(valid, `"reservationId":"r-1",`, "", 1), "reservationId"},
		"with a reservation of two parts":  {strings.Replace(valid, `"r-1"`, `"r/1"`, 1), "reservationId"},
		"with a reservation of a number":   {strings.Replace(valid, `"r-1"`, `7`, 1), "reservationId"},
		"without the title":                {strings.Replace(valid, `"titleId":"t-1",`, "", 1), "titleId"},
		"without the deadline":             {strings.Replace(valid, `"expiresAt"`, `"expires"`, 1), "expiresAt"},
		"with a deadline without offset":   {strings.Replace(valid, `Z"}`, `"}`, 1), "expiresAt"},
		"with a deadline before 1970":      {expiryOf("r-1", time.Unix(-1, 0).UTC()), "expiresAt"},
		"with the fields of other systems": {`{"type":"reservation.expire","reservation_id":"r-1","title_id":"t","expires_at":"2026-08-30T00:00:00Z"}`, "reservationId"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			got, _, sum := s.send(t, signed(t, "d-1", c.body))
			if got != rejected(422) || !strings.Contains(sum.Problem, c.says) || len(s.Shelf.claims) > 0 {
				t.Errorf("answer %v, problem %q, claims %v", got, sum.Problem, s.Shelf.claims)
			}
		})
	}
}

func TestAStackThatTakesExpiriesNeedsReservations(t *testing.T) {
	t.Parallel()
	h := *openShop(t).Handler
	h.Reservations = nil
	if _, err := webhook.New(h); err == nil || !strings.Contains(err.Error(), "reservations: required") {
		t.Errorf("error %v", err)
	}
	h.Commands = commands(t)
	if _, err := webhook.New(h); err != nil {
		t.Errorf("without the command: %v", err)
	}
	f := open(t)
	if got, _, _ := f.send(t, signed(t, "d-1", expiryOf("r-1", deadline()))); got != rejected(422) {
		t.Errorf("a command that the stack does not take: answer %v", got)
	}
}

// Whatever fails, at either claim, before it or behind it: no success, and the redelivery finds out what became of it.
func TestAnExpiryWhoseClaimFails(t *testing.T) {
	t.Parallel()
	boom := func(where string) func(context.Context, string) error {
		return func(_ context.Context, claim string) error {
			if claim == where {
				return inbox.Failed(inbox.CategoryThrottled, inbox.ErrUnavailable)
			}
			return nil
		}
	}
	for sentence, c := range map[string]struct {
		status        string
		before, after func(context.Context, string) error
		first, second answer
		durable       bool // behind the first
	}{
		"the expiry is not made":                    {"held", boom("expire"), nil, retryable, expired, false},
		"the answer of the expiry is lost":          {"held", nil, boom("expire"), retryable, already, true},
		"the refusal of the expiry is lost":         {"paid", nil, boom("expire"), retryable, noLongerHeld, false},
		"the declining is not made":                 {"paid", boom("decline"), nil, retryable, noLongerHeld, false},
		"the answer of the declining is lost":       {"paid", nil, boom("decline"), retryable, already, true},
		"an item too large is no command":           {"held", func(context.Context, string) error { return inbox.ErrTooLarge }, nil, rejected(422), expired, false},
		"an error that nobody knows is no success":  {"held", func(context.Context, string) error { return errors.New("boom") }, nil, retryable, expired, false},
		"a panic in the store is a 500 and no more": {"held", func(context.Context, string) error { panic("SECRET") }, nil, answer{500, inbox.OutcomeRetryableFailure}, expired, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			s.Shelf.SetReservation("r-1", inbox.Reservation{Status: c.status, ExpiresAt: deadline()})
			s.Shelf.before, s.Shelf.after = c.before, c.after
			req := signed(t, "d-1", expiryOf("r-1", deadline()))
			got, _, sum := s.send(t, req)
			if got != c.first || strings.Contains(sum.Problem, "SECRET") || (len(s.Shelf.Deliveries()) == 1) != c.durable {
				t.Errorf("answer %v, want %v: %s; deliveries %+v", got, c.first, sum.Problem, s.Shelf.Deliveries())
			}
			s.Shelf.heal()
			if got, _, _ := s.send(t, req); got != c.second {
				t.Errorf("redelivery: answer %v, want %v", got, c.second)
			}
			if left, _ := s.Shelf.Reservation("r-1"); (left.Status == "expired") != (c.status == "held") {
				t.Errorf("reservation %+v", left)
			}
		})
	}
}

func TestManyCopiesOfAnExpiryAtOnce(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.Shelf.SetReservation("r-1", heldUntil(deadline()))
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		seen = map[answer]int{}
	)
	for i := range 60 {
		wg.Go(func() {
			resp, sum := s.Handler.Handle(t.Context(), signed(t, fmt.Sprint("d-", i%3), expiryOf("r-1", deadline())))
			mu.Lock()
			defer mu.Unlock()
			seen[answer{resp.StatusCode, sum.Outcome}]++
		})
	}
	wg.Wait()
	want := map[answer]int{expired: 1, noLongerHeld: 2, already: 57}
	if diff := cmp.Diff(want, seen); diff != "" || len(s.Shelf.Deliveries()) != 3 {
		t.Errorf("%d deliveries; answers (-want +got):\n%s", len(s.Shelf.Deliveries()), diff)
	}
}

// The answer is out within the ack timeout whatever the store does, and what commits behind it is found by the redelivery.
func TestAnExpiryIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	at := func(where string, then func(context.Context) error) func(context.Context, string) error {
		return func(ctx context.Context, claim string) error {
			if claim == where {
				return then(ctx)
			}
			return nil
		}
	}
	hang := func(context.Context) error { time.Sleep(time.Hour); return nil } // and then it goes on
	giveUp := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	slow := func(context.Context) error { time.Sleep(3 * time.Second); return nil }
	for sentence, c := range map[string]struct {
		status        string
		before, after func(context.Context, string) error
		redelivery    answer // at once
		late          answer // instead, when everything that hung has come back
	}{
		"the expiry hangs and commits an hour later":    {"held", at("expire", hang), nil, expired, already},
		"the expiry commits and hangs":                  {"held", nil, at("expire", hang), already, already},
		"the expiry gives up with the context":          {"held", at("expire", giveUp), nil, expired, expired},
		"the declining hangs and commits an hour later": {"paid", at("decline", hang), nil, noLongerHeld, already},
		"the declining commits and hangs":               {"paid", nil, at("decline", hang), already, already},
		"each is slow, and both together are too slow":  {"paid", func(ctx context.Context, _ string) error { return slow(ctx) }, nil, noLongerHeld, already},
		"the refusal of the expiry takes all there was": {"paid", nil, at("expire", hang), noLongerHeld, noLongerHeld},
	} {
		for _, atOnce := range []bool{true, false} {
			t.Run(fmt.Sprint(sentence, ", at once: ", atOnce), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := openShop(t)
					s.Shelf.SetReservation("r-1", inbox.Reservation{Status: c.status, ExpiresAt: deadline()})
					s.Shelf.before, s.Shelf.after = c.before, c.after
					req := signed(t, "d-1", expiryOf("r-1", deadline()))
					start := time.Now()
					got, resp, sum := s.send(t, req)
					if took := time.Since(start); got != retryable || resp.Headers["Retry-After"] == "" || took != 4900*time.Millisecond {
						t.Errorf("answer %v after %s, want 503 after 4.9 s: %s", got, took, sum.Problem)
					}
					s.Shelf.heal()
					if atOnce {
						if got, _, _ := s.send(t, req); got != c.redelivery {
							t.Errorf("redelivery: %v, want %v", got, c.redelivery)
						}
					}
					time.Sleep(2 * time.Hour)
					synctest.Wait()
					want := c.late
					if atOnce {
						want = already
					}
					if got, _, _ := s.send(t, req); got != want || len(s.Shelf.Deliveries()) != 1 {
						t.Errorf("late redelivery: %v, want %v; deliveries %+v", got, want, s.Shelf.Deliveries())
					}
				})
			})
		}
	}
}
