package explore_test

import (
	"fmt"
	"testing"

	"custody/internal/inbox"
	"custody/internal/inbox/inboxtest"
)

// The claims have a model of their own: two webhooks at once, over two runs, with deliveries that are copies, other ids of the
// same command, and other commands under a known id or run key; answers are lost and deliveries come again, in any order.
//
// What a webhook of the model does is webhook.Handler.claim, alias and settled (claim.go): one claim, by its refusal perhaps one
// alias, and the answer.

// request is what a producer sends: a delivery id, a body and the command in it.
type request struct{ delivery, body, run, command string }

// requests are every kind of relation between two of them.
var requests = []request{
	{"d1", "b1", "r1", "c1"},
	{"d2", "b2", "r1", "c1"}, // another id for the same command
	{"d2", "b3", "r1", "c1"}, // that id with another body
	{"d1", "b4", "r2", "c2"}, // a known id for another run
	{"d3", "b5", "r1", "c2"}, // another command of a known run
}

func (r request) claim() inbox.Claim {
	key := inbox.RunKey{Type: "cleanup.run", Key: r.run}
	return inbox.Claim{
		Delivery: inbox.Delivery{ID: r.delivery, BodySHA256: r.body, RunKey: r.run, Outcome: inbox.OutcomeAccepted},
		// Every claim brings a wake of its own: a second one that got through would start the run again.
		Run: inbox.NewRun(key, "s", inbox.Selection{}, r.command, r.delivery, now).Start("wake-" + r.delivery + r.body),
	}
}

// claims is a state: the table, what each webhook is about to do, and what producers were told.
type claims struct {
	table *inboxtest.Store
	busy  [2]int             // 0 idle, 1+i before the claim of request i, -1-i before its alias
	told  map[request]string // the first definite answer to each request: it must stay the answer
	lost  int                // answers that may still be lost
}

func (c claims) fingerprint() string {
	return fmt.Sprint(c.table.Fingerprint(), c.busy, c.told, c.lost)
}

func (c claims) copied() claims {
	told := map[request]string{}
	for k, v := range c.told {
		told[k] = v
	}
	c.told, c.table = told, c.table.Clone()
	return c
}

func TestNoInterleavingOfDeliveriesMakesASecondEffect(t *testing.T) {
	t.Parallel()
	start := claims{table: new(inboxtest.Store), told: map[request]string{}, lost: 1}
	seen := map[string]bool{start.fingerprint(): true}
	transitions := 0
	for queue := []claims{start}; len(queue) > 0; queue = queue[1:] {
		for _, next := range successorsOf(t, queue[0]) {
			transitions++
			if f := next.fingerprint(); !seen[f] {
				seen[f] = true
				queue = append(queue, next)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d states, %d transitions", len(seen), transitions)
}

func successorsOf(t *testing.T, c claims) []claims {
	var all []claims
	for w, at := range c.busy {
		switch {
		case at == 0 && (w == 0 || c.busy[0] != 0): // two idle webhooks are the same
			for i := range requests[:requestsOfOneHistory] {
				next := c.copied()
				next.busy[w] = 1 + i
				all = append(all, next)
			}
		case at > 0:
			all = append(all, c.claims(t, w, requests[at-1])...)
		case at < 0:
			all = append(all, c.aliases(t, w, requests[-at-1])...)
		}
	}
	return all
}

// claims is the first write of webhook w, and what follows from its answer.
func (c claims) claims(t *testing.T, w int, r request) []claims {
	next := c.copied()
	claim := r.claim()
	before := next.table.Fingerprint()
	existing, err := next.table.Claim(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	if existing == nil {
		checkTable(t, next.table)
		return next.answers(t, w, r, "committed")
	}
	if next.table.Fingerprint() != before {
		t.Errorf("%v: a refused claim wrote something", r)
	}
	if claim.Classify(*existing) == inbox.VerdictAlias {
		next.busy[w] = -next.busy[w]
		return []claims{next}
	}
	return next.answers(t, w, r, verdict(claim.Classify(*existing)))
}

func (c claims) aliases(t *testing.T, w int, r request) []claims {
	next := c.copied()
	claim := r.claim()
	there, err := next.table.Alias(t.Context(), claim.Delivery)
	if err != nil {
		t.Fatal(err)
	}
	checkTable(t, next.table)
	if there == nil {
		return next.answers(t, w, r, "committed")
	}
	return next.answers(t, w, r, verdict(claim.Classify(inbox.Existing{Delivery: there})))
}

func verdict(v inbox.Verdict) string {
	if v == inbox.VerdictDuplicate {
		return "committed"
	}
	return "conflict"
}

// answers tells the producer, or loses the answer. What was acknowledged once is acknowledged always, and lies in the table.
func (c claims) answers(t *testing.T, w int, r request, answer string) []claims {
	var all []claims
	if c.lost > 0 {
		lost := c.copied()
		lost.busy[w], lost.lost = 0, c.lost-1
		all = append(all, lost)
	}
	told := c.copied()
	told.busy[w] = 0
	if first := told.told[r]; first != "" && first != answer {
		t.Errorf("%v: first %s, then %s", r, first, answer)
	}
	told.told[r] = answer
	if answer == "committed" {
		checkCommitted(t, told.table, r)
	}
	return append(all, told)
}

// checkCommitted: the delivery and the run of an acknowledged request are there, and they are its own.
func checkCommitted(t *testing.T, table *inboxtest.Store, r request) {
	run, err := table.Run(t.Context(), inbox.RunKey{Type: "cleanup.run", Key: r.run})
	if err != nil || run == nil || run.CommandHash != r.command {
		t.Errorf("%v is acknowledged, and the run is %+v", r, run)
	}
	for _, d := range table.Deliveries() {
		if d.ID == r.delivery && d.BodySHA256 == r.body && d.RunKey == r.run {
			return
		}
	}
	t.Errorf("%v is acknowledged, and its delivery is not in the table", r)
}

// checkTable: each run was put on the stream once, by the delivery that it names, and every delivery's run is there.
func checkTable(t *testing.T, table *inboxtest.Store) {
	wakes := map[string]int{}
	for _, record := range table.Clone().Drain() {
		wakes[record.Image.Key]++
	}
	for _, d := range table.Deliveries() {
		if run, _ := table.Run(t.Context(), inbox.RunKey{Type: "cleanup.run", Key: d.RunKey}); run == nil {
			t.Errorf("delivery %s without its run", d.ID)
		}
	}
	for run, n := range wakes {
		if n != 1 {
			t.Errorf("run %s was started %d times", run, n)
		}
	}
}
