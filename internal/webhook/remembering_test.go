package webhook_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/command"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	engine "custody/internal/localaws/dynamodb"
	"custody/internal/localaws/steady"
	"custody/internal/webhook"
)

// years is a front door over tables whose items expire, on a calendar that a test turns.
type years struct {
	front
	engine *engine.Engine
	client *dynamodb.Client
	store  *dynamostore.Store
	day    *atomic.Int64 // since the receipt of the sample delivery
}

const (
	day        = 24 * time.Hour
	seatsTable = "seats"
)

func (y years) now() time.Time { return receipt().Add(time.Duration(y.day.Load()) * day) }

func openForYears(t *testing.T) years {
	t.Helper()
	y := years{day: new(atomic.Int64)}
	y.engine = engine.New(engine.Options{Now: y.now})
	server := httptest.NewServer(y.engine)
	t.Cleanup(server.Close)
	y.client = dynamodb.New(dynamodb.Options{
		HTTPClient: steady.Client{}, Region: "us-east-1", BaseEndpoint: &server.URL,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
	if err := (localaws.Tables{Inbox: tableName, Reservations: seatsTable}).Make(t.Context(), y.client); err != nil {
		t.Fatal(err)
	}
	y.store = dynamostore.New(y.client, tableName)
	decoder, err := command.NewDecoder(command.Settings{
		Accepted: command.Types(), Bucket: "pods", MinObjectAge: day,
		WarehousePrefixes: []string{"pod/{warehouse_id}/"}, ListingPrefixes: []string{"search/{listing_id}/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	y.front = open(t, func(h *webhook.Handler) {
		h.Store, h.Reservations, h.Commands, h.Now = y.store, dynamostore.NewReservations(y.store, seatsTable), decoder, y.now
	})
	return y
}

// on turns the calendar to the day, lets DynamoDB remove what is over, and delivers.
func (y years) on(t *testing.T, n int64, id, body string) answer {
	t.Helper()
	y.day.Store(n)
	y.engine.ExpireItems()
	req := resign(sample(t, "delivery.json"), id, body, y.now())
	req.RequestContext.TimeEpoch = y.now().UnixMilli()
	got, _, sum := y.send(t, req)
	if sum.Problem != "" {
		t.Logf("day %d, %s: %s", n, id, sum.Problem)
	}
	return got
}

// done takes the run to its end, as the cleanup function does, on the present day.
func (y years) done(t *testing.T, key inbox.RunKey) {
	t.Helper()
	run, err := y.store.Run(t.Context(), key)
	if err != nil || run == nil {
		t.Fatalf("run %s: %+v, %v", key, run, err)
	}
	change := inbox.Change{
		Now: y.now(), Token: "T", LeaseExpiresAt: y.now().Add(time.Minute), Record: "1", Wake: run.Wake, Ceiling: 12, Mode: inbox.ModeDelete,
		Place: inbox.StartPlace(), TTL: y.now().Add(settings().Retention).Unix(),
	}
	for _, move := range []inbox.Move{inbox.Acquire(), inbox.Complete()} {
		if _, err := y.store.Move(t.Context(), key, move, change); err != nil {
			t.Fatalf("%s: %v", move.Name, err)
		}
	}
}

const listing3 = `{"type":"listing.expire","listing_id":"4821","generation":3,"expired_at":"2026-08-30T00:00:00Z"}`

// A delivery is remembered for 90 days after its receipt, a run for 90 days after its end. The run alone is enough.
func TestARedeliveryWhoseItemIsGoneMeetsItsRun(t *testing.T) {
	t.Parallel()
	y := openForYears(t)
	run := inbox.RunKey{Type: "listing.expire", Key: "listing-4821:expiry-3"}
	y.expect(t, 0, "d-1", listing3, accepted)
	y.day.Store(40)
	y.done(t, run)
	y.expect(t, 89, "d-1", listing3, already)
	if d, err := y.store.Delivery(t.Context(), "d-1"); err != nil || d == nil || d.Outcome != inbox.OutcomeAccepted {
		t.Errorf("before its time is over the delivery is %+v, error %v", d, err)
	}
	// Day 91: the delivery's own item is gone, the run stands until day 130. What comes is an alias now.
	other := `{"type":"listing.expire","listing_id":"4821","generation":3,"expired_at":"2026-08-31T00:00:00Z"}`
	y.expect(t, 91, "d-1", other, conflict)
	y.expect(t, 91, "d-1", listing3, already)
	if d, err := y.store.Delivery(t.Context(), "d-1"); err != nil || d == nil || d.Outcome != inbox.OutcomeAlreadyProcessed || d.RunKey != run.Key {
		t.Errorf("the redelivery is remembered as %+v, error %v", d, err)
	}
	if r, err := y.store.Run(t.Context(), run); err != nil || r == nil || r.State != inbox.StateDone {
		t.Errorf("the run is %+v, error %v", r, err)
	}
	// Day 131: the run is gone, the alias of day 91 stands until day 181 and answers for it.
	y.expect(t, 131, "d-1", listing3, already)
	y.expect(t, 131, "d-1", other, conflict)
	if r, err := y.store.Run(t.Context(), run); err != nil || r != nil {
		t.Errorf("the run is %+v, error %v, want none", r, err)
	}
	// Day 182: nothing is remembered any more, and the same command is a new one: the window of RetentionDays.
	y.expect(t, 182, "d-1", listing3, accepted)
	if r, err := y.store.Run(t.Context(), run); err != nil || r == nil || r.State != inbox.StatePending {
		t.Errorf("the new run is %+v, error %v", r, err)
	}
}

func (y years) expect(t *testing.T, n int64, id, body string, want answer) {
	t.Helper()
	if got := y.on(t, n, id, body); got != want {
		t.Errorf("day %d, %s with %s: answer %v, want %v", n, id, body, got, want)
	}
}

// With the run gone too, another command may have its delivery id, and its business key another command.
func TestWhatIsForgottenIsFree(t *testing.T) {
	t.Parallel()
	y := openForYears(t)
	y.expect(t, 0, "d-1", listing3, accepted)
	y.done(t, inbox.RunKey{Type: "listing.expire", Key: "listing-4821:expiry-3"})
	y.expect(t, 89, "d-1", payload("r-1", "wh-1"), conflict)
	y.expect(t, 91, "d-1", payload("r-1", "wh-1"), accepted)
	y.expect(t, 91, "d-2", `{"type":"listing.expire","listing_id":"4821","generation":3,"expired_at":"2026-08-31T00:00:00Z"}`, accepted)
}

// A run that has not ended has no time to live: its business key is taken for as long as it is open.
func TestAnOpenRunIsRememberedForEver(t *testing.T) {
	t.Parallel()
	y := openForYears(t)
	y.expect(t, 0, "d-1", listing3, accepted)
	for _, n := range []int64{91, 400, 1000} {
		y.expect(t, n, "d-1", listing3, already)
		y.expect(t, n, fmt.Sprintf("d-%d", n), listing3, already)
	}
	if r, err := y.store.Run(t.Context(), inbox.RunKey{Type: "listing.expire", Key: "listing-4821:expiry-3"}); err != nil || r == nil || r.DeliveryID != "d-1" {
		t.Errorf("the run is %+v, error %v", r, err)
	}
}

// An expiry has no run, so its delivery is all that is remembered; the reservation itself keeps a late copy harmless.
func TestARedeliveredExpiryThatIsForgottenMovesNothing(t *testing.T) {
	t.Parallel()
	y := openForYears(t)
	deadline := time.Date(2026, 8, 30, 0, 0, 0, 0, time.UTC)
	y.hold(t, "res-7", deadline)
	const body = `{"type":"reservation.expire","reservationId":"res-7","titleId":"t-1","expiresAt":"2026-08-30T00:00:00Z"}`
	y.expect(t, 0, "d-1", body, answer{204, inbox.OutcomeExpired})
	y.expect(t, 89, "d-1", body, already)
	y.expect(t, 91, "d-1", body, answer{204, inbox.OutcomeNoLongerHeld})
	// Held again by somebody else, with a later deadline: the old expiry is not this holder's.
	y.hold(t, "res-7", deadline.Add(365*day))
	y.expect(t, 182, "d-1", body, answer{204, inbox.OutcomeNoLongerHeld})
	if got := y.status(t, "res-7"); got != inbox.ReservationHeld {
		t.Errorf("the reservation is %s", got)
	}
}

// hold writes the reservation as the application does.
func (y years) hold(t *testing.T, id string, until time.Time) {
	t.Helper()
	_, err := y.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(seatsTable), Item: map[string]types.AttributeValue{
		"reservation_id": &types.AttributeValueMemberS{Value: id}, "status": &types.AttributeValueMemberS{Value: inbox.ReservationHeld},
		"expires_at": &types.AttributeValueMemberN{Value: strconv.FormatInt(until.UnixMilli(), 10)},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func (y years) status(t *testing.T, id string) string {
	t.Helper()
	out, err := y.client.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(seatsTable), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"reservation_id": &types.AttributeValueMemberS{Value: id}},
	})
	if err != nil {
		t.Fatal(err)
	}
	status, ok := out.Item["status"].(*types.AttributeValueMemberS)
	if !ok {
		t.Fatalf("reservation %s is %v", id, out.Item)
	}
	return status.Value
}
