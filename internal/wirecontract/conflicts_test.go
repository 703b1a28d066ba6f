package wirecontract_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What a stack remembers is two items with a life of their own. Each line of the story is one delivery or one removal by time to live.
func TestRedeliveriesWhileTheItemsLiveAndAfterwards(t *testing.T) {
	t.Parallel()
	for _, sc := range schemes() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, sc)
			run := s.fresh()
			send := func(sentence, id, body, want string) {
				t.Helper()
				s.expect(t, sentence, s.message(id, body), want)
			}
			outcome := func(id, want string) {
				t.Helper()
				if got := s.item(t.Context(), t, "delivery#"+id)["outcome"]; got != want {
					t.Errorf("the item of %s says %q, want %q", id, got, want)
				}
			}
			body, other := s.body(run), s.bodyFor(run, "wh-18")
			send("the first", "a", body, "204 accepted")
			outcome("a", "accepted")
			send("its copy", "a", body, "204 already_processed")
			send("an alias", "b", body, "204 already_processed")
			outcome("b", "already_processed")
			send("the alias's copy", "b", body, "204 already_processed")
			send("the alias's id for another body", "b", other, "409 conflict")
			send("the run for another selection", "c", other, "409 conflict")

			s.removeItem(t, "delivery#a")
			send("a redelivery behind the life of its item, while the run stands", "a", body, "204 already_processed")
			outcome("a", "already_processed")
			s.removeItem(t, "delivery#a")
			send("its id for another selection of the run", "a", other, "409 conflict")
			send("its id for another run", "a", s.body(s.fresh()), "204 accepted")

			s.removeItem(t, "run#cleanup.run#"+run)
			send("the alias's copy, while its item lives and the run is gone", "b", body, "204 already_processed")
			s.removeItem(t, "delivery#b")
			send("and when both are gone it is a new delivery, even for another selection", "b", other, "204 accepted")
			if got := s.item(t.Context(), t, "run#cleanup.run#"+run)["scope"]; got != "warehouse:wh-18" {
				t.Errorf("the new run's scope is %q", got)
			}
		})
	}
}

// The items' own lives are as long as RetentionDays says: that of a delivery from its receipt on, that of a run not before it ends.
func TestLivesOfTheItems(t *testing.T) {
	t.Parallel()
	s := open(t, schemes()[0], "CUSTODY_RETENTION_DAYS=7")
	receipt := time.Now().Truncate(time.Second)
	m := s.at(t, receipt).deliveryOf(s)
	s.at(t, receipt).expect(t, "a delivery", m, "204 accepted")
	if got, want := s.item(t.Context(), t, "delivery#"+m.id)["ttl"], unix(receipt.Add(7*24*time.Hour)); got != want {
		t.Errorf("the delivery lives until %s, want %s", got, want)
	}
	if got := s.item(t.Context(), t, "run#cleanup.run#"+m.id)["ttl"]; got != "" {
		t.Errorf("the run lives until %s, and it has not ended", got)
	}
}

// push is a delivery out of a few ids, runs and selections, so that many meet.
type push struct{ ID, Run, Warehouse, Blanks int }

func (p push) id() string { return fmt.Sprint("d-", p.ID) }

func (p push) body(s stack) string {
	return fmt.Sprintf("%*s", p.Blanks+1, " ") + s.bodyFor(fmt.Sprint("r-", p.Run), fmt.Sprint("wh-", p.Warehouse))
}

// Random deliveries at the same time, over HTTP: each id and each run belong to one command, exactly one delivery of a run is
// accepted, and a conflict is only ever with something that was acknowledged.
func TestRandomDeliveriesAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, schemes()[0])
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		few := rapid.Custom(func(r *rapid.T) push {
			return push{ID: round*100 + rapid.IntRange(0, 4).Draw(r, "id"), Run: round*100 + rapid.IntRange(0, 2).Draw(r, "run"),
				Warehouse: rapid.IntRange(1, 2).Draw(r, "warehouse"), Blanks: rapid.IntRange(0, 1).Draw(r, "blanks")}
		})
		pushes := rapid.SliceOfN(few, 2, 12).Draw(r, "pushes")
		words := make([]string, len(pushes))
		var all sync.WaitGroup
		for lane := range 4 {
			all.Go(func() {
				for i := lane; i < len(pushes); i += 4 {
					words[i] = s.expectAny(t, s.message(pushes[i].id(), pushes[i].body(s)))
				}
			})
		}
		all.Wait()
		judge(r, pushes, words)
	})
}

// expectAny sends and judges nothing but the answer's form.
func (s stack) expectAny(t *testing.T, m message) string {
	a, err := s.send(t.Context(), m)
	if err != nil {
		t.Error(err)
	}
	for _, complaint := range a.complaints(false) {
		t.Errorf("answered %s: %s", a.word(), complaint)
	}
	return a.word()
}

// judge compares the answers with what any order of the deliveries allows.
func judge(r *rapid.T, pushes []push, words []string) {
	type command struct{ Run, Warehouse int }
	bodies, commands, accepted := map[int]push{}, map[int]command{}, map[int]int{}
	for i, p := range pushes {
		switch words[i] {
		case "204 accepted":
			accepted[p.Run]++
			fallthrough
		case "204 already_processed":
			if first, known := bodies[p.ID]; known && first != p {
				r.Errorf("id %d was acknowledged for %+v and %+v", p.ID, first, p)
			}
			if first, known := commands[p.Run]; known && first != (command{p.Run, p.Warehouse}) {
				r.Errorf("run %d was acknowledged for %+v and %+v", p.Run, first, p)
			}
			bodies[p.ID], commands[p.Run] = p, command{p.Run, p.Warehouse}
		case "409 conflict":
		default:
			r.Errorf("%+v was answered %s", p, words[i])
		}
	}
	for run := range commands {
		if accepted[run] != 1 {
			r.Errorf("run %d was accepted %d times", run, accepted[run])
		}
	}
	for i, p := range pushes {
		if words[i] != "409 conflict" {
			continue
		}
		body, idTaken := bodies[p.ID]
		if c, runTaken := commands[p.Run]; !(idTaken && body != p || runTaken && c.Warehouse != p.Warehouse) {
			r.Errorf("%+v conflicts with nothing: %v, %v", p, pushes, words)
		}
	}
}
