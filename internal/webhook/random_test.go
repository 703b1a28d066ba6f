package webhook_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

// ledger is the model: what the streams say became of each delivery, and which answers that allows.
type ledger struct {
	deliveries map[string]inbox.Delivery // by id
	conflicts  func(told) bool           // whether a delivery that is not there may be refused all the same
	firsts     map[string]int            // by id: how often the answer of a first delivery was given
}

func sumOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// check holds an answer against the items: every 204 has a durable item of its own body, the answer of a first delivery is the
// item's outcome and is given at most once, and a conflict is one.
func (l *ledger) check(t *testing.T, a told) {
	t.Helper()
	item, there := l.deliveries[a.id]
	same := there && item.BodySHA256 == sumOf(a.body)
	switch {
	case a.Status == 204 && !same:
		t.Errorf("%s was answered %v, and its item is %+v", a.id, a.answer, item)
	case a.Status == 204 && a.Outcome != inbox.OutcomeAlreadyProcessed:
		if l.firsts[a.id]++; l.firsts[a.id] > 1 || item.Outcome != a.Outcome {
			t.Errorf("%s was answered %v, for time %d; its item is %+v", a.id, a.answer, l.firsts[a.id], item)
		}
	case a.answer == conflict && (same || !there && !l.conflicts(a)):
		t.Errorf("%s was answered %v, and its item is %+v", a.id, a.answer, item)
	case a.Status == 204, a.answer == conflict, a.answer == retryable:
	default:
		t.Errorf("%s was answered %v", a.id, a.answer)
	}
}

// settle asks again for everything, when all is quiet: each answer is definite then, and the one that the items give.
func (a *arena) settle(t *testing.T, sent []told) []told {
	t.Helper()
	a.quiet()
	event := sample(t, "delivery.json")
	var again []told
	asked := map[[2]string]bool{}
	for _, d := range sent {
		if asked[[2]string{d.id, d.body}] {
			continue
		}
		asked[[2]string{d.id, d.body}] = true
		got := a.deliver(t.Context(), event, d.id, d.body)
		if got == retryable {
			t.Errorf("%s is answered %v when all is quiet", d.id, got)
		}
		again = append(again, told{d.id, d.body, got})
	}
	return again
}

func (a *arena) met(t *testing.T, sent []told) {
	t.Helper()
	answers := map[answer]int{}
	for _, d := range sent {
		answers[d.answer]++
	}
	t.Log(a.happened, answers)
	if a.happened["conflict"] < 5 || a.happened["throttle"] == 0 || a.happened["lost answer"] == 0 || answers[conflict] == 0 || answers[already] == 0 {
		t.Errorf("what was to be met was not: %v, %v", a.happened, answers)
	}
}

// anyDeliveries draws deliveries under half as many ids. An id mostly has one body, now and then another; and some come twice in a
// row, to arrive at once.
func anyDeliveries(rng *rand.Rand, n int, anyBody func() string) []told {
	bodies := make([]string, n/2)
	for i := range bodies {
		bodies[i] = anyBody()
	}
	var sent []told
	for range n {
		i := rng.IntN(len(bodies))
		d := told{id: fmt.Sprint("d-", i), body: bodies[i]}
		if rng.IntN(6) == 0 {
			d.body = anyBody()
		}
		for range 1 + rng.IntN(2) {
			sent = append(sent, d)
		}
	}
	return sent
}

// seed starts the random numbers; a failure names it, and what it cannot repeat is the order of the goroutines.
func seed(t *testing.T) uint64 {
	s := rand.Uint64()
	t.Logf("seed %d", s)
	return s
}

// Many deliveries at once, copies and strangers under one id, to reservations that their application pays, releases, extends and
// holds again meanwhile. Each reservation expires at most once, each of its claims was true at its instant, and nothing was
// promised that is not there.
func TestRandomExpiriesAgainstAModel(t *testing.T) {
	t.Parallel()
	s := seed(t)
	rng := rand.New(rand.NewPCG(s, 2))
	a := newArena(t, s)
	const reservations, deliveries, writers = 24, 240, 3
	for i := range reservations {
		status := []string{"held", "held", "held", "paid"}[rng.IntN(4)]
		a.write(t, "SET #s = :to, expires_at = :at, titleId = :title", "", reservationName(i), status, deadline())
	}
	expiries := map[string]inbox.Expiry{} // by the body's hash
	sent := anyDeliveries(rng, deliveries, func() string {
		e := inbox.Expiry{ReservationID: reservationName(rng.IntN(reservations)), ExpiresAt: deadline().Add(time.Duration(rng.IntN(3)) * time.Millisecond)}
		body := expiryOf(e.ReservationID, e.ExpiresAt)
		expiries[sumOf(body)] = e
		return body
	})
	var others []func()
	for range writers {
		own := rand.New(rand.NewPCG(rng.Uint64(), 3))
		others = append(others, func() {
			for range 60 {
				a.manage(t, own, reservationName(own.IntN(reservations)))
			}
		})
	}
	sent = a.deliverAtOnce(t, sent, 10, others...)
	a.met(t, sent)
	sent = append(sent, a.settle(t, sent)...)

	l := a.replayExpiries(t, expiries)
	for _, d := range sent {
		l.check(t, d)
	}
}

func reservationName(i int) string { return fmt.Sprint("r-", i) }

// manage does what an application does to its reservation: pay, release or extend what is held, or hold again what was not expired.
func (a *arena) manage(t *testing.T, rng *rand.Rand, reservation string) {
	at := deadline().Add(time.Duration(rng.IntN(4)) * time.Millisecond)
	switch rng.IntN(5) {
	case 0:
		a.write(t, "SET #s = :to", "#s = :held", reservation, "paid", at)
	case 1:
		a.write(t, "SET #s = :to", "#s = :held", reservation, "released", at)
	case 2:
		a.write(t, "SET #s = :to, expires_at = :at", "#s = :held", reservation, "held", at)
	default:
		a.write(t, "SET #s = :to, expires_at = :at", "attribute_exists(#s) AND #s <> :expired", reservation, "held", at)
	}
}

// write changes a reservation. A refusal and a conflict are the application's everyday life.
func (a *arena) write(t *testing.T, update, condition, reservation, status string, at time.Time) {
	values := map[string]types.AttributeValue{":to": &types.AttributeValueMemberS{Value: status}}
	for name, v := range map[string]types.AttributeValue{
		":at":      &types.AttributeValueMemberN{Value: strconv.FormatInt(at.UnixMilli(), 10)},
		":title":   &types.AttributeValueMemberS{Value: "t-1"},
		":held":    &types.AttributeValueMemberS{Value: "held"},
		":expired": &types.AttributeValueMemberS{Value: "expired"},
	} {
		if uses(update+" "+condition, name) {
			values[name] = v
		}
	}
	in := &dynamodb.UpdateItemInput{
		TableName: aws.String(reservationsTable), Key: map[string]types.AttributeValue{"reservation_id": &types.AttributeValueMemberS{Value: reservation}},
		UpdateExpression: &update, ExpressionAttributeNames: map[string]string{"#s": "status"}, ExpressionAttributeValues: values,
	}
	if condition != "" {
		in.ConditionExpression = &condition
	}
	_, err := a.db.UpdateItem(context.WithoutCancel(t.Context()), in)
	_, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
	_, conflict := errors.AsType[*types.TransactionConflictException](err)
	if err != nil && !refused && !conflict {
		t.Errorf("write reservation %s: %v", reservation, err)
	}
}

// replayExpiries walks through what happened and holds each deed against the state it met.
func (a *arena) replayExpiries(t *testing.T, expiries map[string]inbox.Expiry) *ledger {
	t.Helper()
	l := &ledger{deliveries: map[string]inbox.Delivery{}, firsts: map[string]int{}, conflicts: func(told) bool { return false }}
	state, transitions := map[string]inbox.Reservation{}, map[string]int{}
	outcomes := map[inbox.Outcome]int{}
	var claimed inbox.Delivery // by the deed before, where it was an expiry's claim
	for _, d := range a.history(t) {
		before := claimed
		claimed = inbox.Delivery{}
		if d.table == tableName {
			item := deliveryOf(d.new)
			e, known := expiries[item.BodySHA256]
			if d.old != nil || d.new == nil || !known || e.ReservationID != item.ReservationID || before.ID != "" {
				t.Errorf("the inbox was written: %+v became %+v, behind %+v", d.old, d.new, before)
			}
			l.deliveries[item.ID] = item
			outcomes[item.Outcome]++
			switch lapsed := e.Lapsed(state[e.ReservationID]); item.Outcome {
			case inbox.OutcomeExpired:
				claimed = item
			case inbox.OutcomeNoLongerHeld:
				if lapsed {
					t.Errorf("%s was declined, and its reservation was %+v", item.ID, state[e.ReservationID])
				}
			default:
				t.Errorf("%s has the outcome %s", item.ID, item.Outcome)
			}
			continue
		}
		id, was, is := text(d.new, "reservation_id"), reservationOf(t, d.old), reservationOf(t, d.new)
		if diff := cmp.Diff(state[id], was); diff != "" {
			t.Errorf("%s was not as it was left:\n%s", id, diff)
		}
		state[id] = is
		if (is.Status == "expired") != (before.ID != "") {
			t.Errorf("%s became %s behind the claim of %+v", id, is.Status, before)
		}
		if is.Status != "expired" {
			continue
		}
		transitions[id]++
		e := expiries[before.BodySHA256]
		if before.ReservationID != id || !e.Lapsed(was) || transitions[id] > 1 || number(d.new, "expired_at") != strconv.FormatInt(receipt().Add(time.Second).UnixMilli(), 10) {
			t.Errorf("%s, which was %+v, was expired for time %d by %+v of %+v: %+v", id, was, transitions[id], before, e, d.new)
		}
		if diff := cmp.Diff(others(d.old), others(d.new)); diff != "" {
			t.Errorf("more of %s was changed:\n%s", id, diff)
		}
	}
	if len(transitions) < 5 || outcomes[inbox.OutcomeExpired] != len(transitions) || outcomes[inbox.OutcomeNoLongerHeld] < 20 {
		t.Errorf("%d reservations expired; outcomes %v", len(transitions), outcomes)
	}
	return l
}

// uses reports whether an expression has the placeholder.
func uses(expression, placeholder string) bool {
	for i := range len(expression) - len(placeholder) + 1 {
		if end := i + len(placeholder); expression[i:end] == placeholder && (end == len(expression) || !isLetter(expression[end])) {
			return true
		}
	}
	return false
}

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' }

func reservationOf(t *testing.T, image map[string]streamtypes.AttributeValue) inbox.Reservation {
	t.Helper()
	r := inbox.Reservation{Status: text(image, "status")}
	if at := number(image, "expires_at"); at != "" {
		ms, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			t.Error(err)
		}
		r.ExpiresAt = time.UnixMilli(ms).UTC()
	}
	return r
}

// others are the attributes that Custody never writes, by name: texts and numbers.
func others(image map[string]streamtypes.AttributeValue) map[string]string {
	all := map[string]string{}
	for name := range maps.Keys(image) {
		if name != "status" && name != "expired_at" {
			all[name] = text(image, name) + number(image, name)
		}
	}
	return all
}

// Many deliveries at once that start runs, under few ids and for few runs: each run is started once, by the delivery that it
// names; every copy and every alias is acknowledged; other commands under a known id or run key are refused, and leave no trace.
func TestRandomDeliveriesOfRunsAgainstAModel(t *testing.T) {
	t.Parallel()
	s := seed(t)
	rng := rand.New(rand.NewPCG(s, 4))
	a := newArena(t, s)
	const deliveries = 240
	sent := anyDeliveries(rng, deliveries, func() string {
		run, other, space := rng.IntN(24), 1+rng.IntN(8)/7, []string{"", " "}[rng.IntN(2)]
		body := payload(fmt.Sprint("run-", run), fmt.Sprint("wh-", other)) + space
		if rng.IntN(2) == 0 {
			at := deadline().Add(-time.Duration(other) * time.Hour)
			body = fmt.Sprintf(`{"type":"listing.expire","listing_id":"l-%d","generation":%d,"expired_at":%q}%s`, run/2, 1+run%2, at.Format(time.RFC3339), space)
		}
		return body
	})
	sent = a.deliverAtOnce(t, sent, 10)
	a.met(t, sent)
	sent = append(sent, a.settle(t, sent)...)

	l := a.replayRuns(t)
	for _, d := range sent {
		l.check(t, d)
	}
}

func (a *arena) replayRuns(t *testing.T) *ledger {
	t.Helper()
	commands := everyCommand(t)
	runs, hashes := map[string]string{}, map[string]string{} // by type and key: the delivery that started it; its command
	l := &ledger{deliveries: map[string]inbox.Delivery{}, firsts: map[string]int{}, conflicts: func(d told) bool {
		cmd, err := commands.Decode([]byte(d.body))
		there, known := hashes[cmd.Run.Type+"#"+cmd.Run.Key]
		return err == nil && known && there != cmd.Hash
	}}
	outcomes := map[inbox.Outcome]int{}
	var claimed inbox.Delivery // by the deed before, where it was accepted
	for _, d := range a.history(t) {
		before := claimed
		claimed = inbox.Delivery{}
		if d.old != nil || d.new == nil || d.table != tableName {
			t.Errorf("something was changed: %s, %+v became %+v", d.table, d.old, d.new)
			continue
		}
		if text(d.new, "run_key") == "" {
			t.Errorf("an item of nothing: %+v", d.new)
		}
		item := deliveryOf(d.new)
		if by := text(d.new, "wake"); by != "" { // a run
			key := text(d.new, "command_type") + "#" + text(d.new, "run_key")
			if started, twice := runs[key]; twice || before.ID == "" || item.ID != before.ID || before.RunKey != item.RunKey {
				t.Errorf("run %s of %s behind the claim of %+v; started by %q already", key, item.ID, before, started)
			}
			runs[key], hashes[key] = item.ID, text(d.new, "command_hash")
			continue
		}
		if before.ID != "" {
			t.Errorf("%s was accepted without its run", before.ID)
		}
		l.deliveries[item.ID] = item
		outcomes[item.Outcome]++
		switch key := text(d.new, "command_type") + "#" + item.RunKey; item.Outcome {
		case inbox.OutcomeAccepted:
			claimed = item
		case inbox.OutcomeAlreadyProcessed:
			if runs[key] == "" || runs[key] == item.ID {
				t.Errorf("%s is an alias of %s, which was started by %q", item.ID, key, runs[key])
			}
		default:
			t.Errorf("%s has the outcome %s", item.ID, item.Outcome)
		}
	}
	if outcomes[inbox.OutcomeAccepted] != len(runs) || len(runs) < 20 || outcomes[inbox.OutcomeAlreadyProcessed] < 10 {
		t.Errorf("%d runs; outcomes %v", len(runs), outcomes)
	}
	return l
}
