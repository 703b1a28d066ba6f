package wirecontract_test

import (
	"fmt"
	"testing"
	"time"
)

// The receipt is the front's, and here its clock stands still, so the edges are exact. A timestamp is a whole second and so is what
// it is compared with: the fraction of the receipt must not move an edge.
func TestEdgesOfTheWindow(t *testing.T) {
	t.Parallel()
	for _, sc := range schemes() {
		if sc.timestamp == "" {
			continue // the body scheme has no window, which TestTheBodySchemeHasNoWindow shows
		}
		for setting, window := range map[string]time.Duration{"300s": 300 * time.Second, "1s": time.Second, "12h": 12 * time.Hour} {
			t.Run(sc.name+" "+setting, func(t *testing.T) {
				t.Parallel()
				s := open(t, sc, "CUSTODY_REPLAY_WINDOW="+setting)
				second := time.Now().Truncate(time.Second)
				for _, fraction := range []time.Duration{0, time.Millisecond, 999 * time.Millisecond} {
					front := s.at(t, second.Add(fraction))
					for offset, want := range map[time.Duration]string{
						-window - time.Second: "401 rejected", -window: "204 accepted", 0: "204 accepted", window: "204 accepted",
						window + time.Second: "401 rejected",
					} {
						m := front.deliveryOf(s)
						m.timestamp = unix(second.Add(offset))
						sentence := fmt.Sprintf("signed %s from a receipt at .%03d", offset, fraction.Milliseconds())
						front.expect(t, sentence, m, want)
						if reason := s.reason(t, m.id); (reason == "stale") != (want == "401 rejected") {
							t.Errorf("%s: the log says %q of the signature", sentence, reason)
						}
					}
				}
			})
		}
	}
}

// deliveryOf is the stack's next delivery, through this front.
func (to target) deliveryOf(s stack) message {
	id := s.fresh()
	return to.message(id, s.body(id))
}

func TestTheBodySchemeHasNoWindow(t *testing.T) {
	t.Parallel()
	s := open(t, schemes()[2])
	m := s.at(t, time.Now().AddDate(50, 0, 0)).deliveryOf(s)
	s.at(t, time.Now().AddDate(50, 0, 0)).expect(t, "a delivery that was captured half a century ago", m, "204 accepted")
	s.expect(t, "and its copy today", m, "204 already_processed")
	m.id = s.fresh()
	s.expect(t, "and under another id, which is not signed", m, "204 already_processed")
}

// The window of what is not due yet is the same, and its edges are told from the receipt as well.
func TestEdgesOfWhatIsNotDue(t *testing.T) {
	t.Parallel()
	s := open(t, schemes()[0])
	receipt := time.Now().Truncate(time.Second).Add(250 * time.Millisecond)
	front := s.at(t, receipt)
	for in, want := range map[time.Duration]struct{ word, wait string }{
		0: {"204 accepted", ""}, time.Millisecond: {"503 not_due", "1"}, time.Second: {"503 not_due", "1"},
		1001 * time.Millisecond: {"503 not_due", "2"}, 300 * time.Second: {"503 not_due", "300"},
		300*time.Second + time.Millisecond: {"422 rejected", ""},
	} {
		id := s.fresh()
		m := front.message(id, s.body(id))
		cutoff("2020-01-02T03:04:05Z", receipt.Add(in).UTC().Format(time.RFC3339Nano))(&m)
		a := front.expect(t, "due in "+in.String(), m, want.word)
		if wait := a.header.Get("Retry-After"); wait != want.wait {
			t.Errorf("due in %s: Retry-After is %q, want %q", in, wait, want.wait)
		}
	}
}
