package wirecontract_test

import (
	"testing"
)

// Every fault is sent alone, and together with one of each later rank, in turns. The answer is that of the earlier check, with
// nothing in it that the status does not say; the table stays empty, and unless everything in front was right, nobody asked it.
func TestOrderOfTheChecks(t *testing.T) {
	t.Parallel()
	for _, sc := range schemes() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, sc)
			faults := s.faults()
			byRank := map[rank][]fault{}
			for _, f := range faults {
				byRank[f.rank] = append(byRank[f.rank], f)
			}
			for i, first := range faults {
				s.refuses(t, first, first)
				for later := first.rank + 1; later <= rankStore; later++ {
					if others := byRank[later]; len(others) > 0 {
						s.refuses(t, first, others[i%len(others)])
					}
				}
			}
			ops := s.gate.opsNow()
			delete(ops, "TransactWriteItems") // those of the store's own fault, which are counted by their deliveries
			if len(ops) > 0 {
				t.Errorf("the webhook asked the store for %v", ops)
			}
			if ids := s.deliveries(t.Context(), t); len(ids) > 0 {
				t.Errorf("deliveries that were refused stand in the table: %v", ids)
			}
		})
	}
}

// refuses sends what is wrong in both ways. The later fault is made first: what comes earlier must win.
func (s stack) refuses(t *testing.T, first, second fault) {
	t.Helper()
	m := s.delivery()
	id := m.id
	if second.sentence != first.sentence {
		second.spoil(&m)
	}
	first.spoil(&m)
	sentence := first.sentence + " and " + second.sentence
	if a := s.expect(t, sentence, m, first.want); a.word() == first.want && first.reason != "" {
		if got := s.reason(t, m.id); got != first.reason {
			t.Errorf("%s: the log says %q of the signature, want %q", sentence, got, first.reason)
		}
	}
	if n := s.gate.callsAbout(id); n > 0 != (first.rank == rankStore) {
		t.Errorf("%s: %d store calls", sentence, n)
	}
}
