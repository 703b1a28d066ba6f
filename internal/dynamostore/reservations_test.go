package dynamostore_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	localdb "custody/internal/localaws/dynamodb"
)

// endpointVariable is that of the DynamoDB suite: with it, the tests of reservations run against what answers there.
const endpointVariable = "CUSTODY_TEST_DYNAMODB_ENDPOINT"

type attributes = map[string]types.AttributeValue

// shop is the inbox, and the reservations of an application beside it.
type shop struct {
	*dynamostore.Reservations
	inbox *dynamostore.Store
	db    *dynamodb.Client
	table string // of the reservations
}

// shopOver is over the tables as the template makes them. Behind a wrapper it is always the local engine.
func shopOver(t *testing.T, wrap func(http.Handler) http.Handler) shop {
	t.Helper()
	suffix := rand.Text()
	tables := localaws.Tables{Inbox: "inbox-" + suffix, Reservations: "reservations-" + suffix}
	url := os.Getenv(endpointVariable)
	if url == "" || wrap != nil {
		engine := http.Handler(localdb.New(localdb.Options{}))
		db := clientOf(t, engine, 1)
		if err := tables.Make(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		if wrap != nil {
			db = clientOf(t, wrap(engine), 1)
		}
		return newShop(db, tables)
	}
	db := clientAt(url, 1)
	if err := tables.Make(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return newShop(db, tables)
}

func newShop(db *dynamodb.Client, tables localaws.Tables) shop {
	store := dynamostore.New(db, tables.Inbox)
	return shop{dynamostore.NewReservations(store, tables.Reservations), store, db, tables.Reservations}
}

// anyKinds is the same inbox beside a table without an index, as an application may have it: with the index, no expires_at but a
// number and no status but a text can be written.
func (s shop) anyKinds(t *testing.T) shop {
	t.Helper()
	name, id := s.table+"-any", "reservation_id"
	_, err := s.db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &id, AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: &id, KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
	waiter := dynamodb.NewTableExistsWaiter(s.db)
	if err := waiter.Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}, time.Minute); err != nil {
		t.Fatal(err)
	}
	return shop{dynamostore.NewReservations(s.inbox, name), s.inbox, s.db, name}
}

// put writes a reservation as the application does; without attributes there is none.
func (s shop) put(t *testing.T, id string, it attributes) {
	t.Helper()
	if it == nil {
		return
	}
	it = maps.Clone(it)
	it["reservation_id"] = str(id)
	if _, err := s.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.table, Item: it}); err != nil {
		t.Fatal(err)
	}
}

// reservation reads what stands there, but for the key; nil where there is none.
func (s shop) reservation(t *testing.T, id string) attributes {
	t.Helper()
	out, err := s.db.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: &s.table, Key: attributes{"reservation_id": str(id)}, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(out.Item, "reservation_id")
	return out.Item
}

func (s shop) delivery(t *testing.T, id string) *inbox.Delivery {
	t.Helper()
	d, err := s.inbox.Delivery(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func num(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

func ms(t time.Time) types.AttributeValue { return num(strconv.FormatInt(t.UnixMilli(), 10)) }

// everything lets cmp look into attribute values, whose types have an unexported mark.
func everything() cmp.Option { return cmp.Exporter(func(reflect.Type) bool { return true }) }

// expiry is that of a reservation whose deadline is now; it is made a little later.
func expiry(reservation string) inbox.Expiry {
	return inbox.Expiry{ReservationID: reservation, ExpiresAt: now, At: now.Add(1234 * time.Millisecond)}
}

// expiryDelivery is the delivery of an expiry.
func expiryDelivery(id, reservation string, o inbox.Outcome) inbox.Delivery {
	return inbox.Delivery{
		ID: id, CommandType: "reservation.expire", BodySHA256: "body", ReservationID: reservation, Outcome: o,
		ReceivedAt: now, TTL: now.Add(time.Hour).Unix(),
	}
}

func held(expiresAt types.AttributeValue) attributes {
	return attributes{"status": str("held"), "expires_at": expiresAt}
}

func with(it attributes, name string, v types.AttributeValue) attributes {
	it = maps.Clone(it)
	it[name] = v
	return it
}

// belongings are what an application keeps in a reservation: every kind of attribute, and names that look like ours.
func belongings() attributes {
	return attributes{
		"titleId": str("t-1"), "bytes": &types.AttributeValueMemberB{Value: []byte{0, 255, 10}}, "empty": str(""),
		"price":  num("12345678901234567890.123456789012345678"),
		"nested": &types.AttributeValueMemberM{Value: attributes{"status": str("held"), "list": &types.AttributeValueMemberL{Value: []types.AttributeValue{num("9007199254740993"), str("x")}}}},
		"seats":  &types.AttributeValueMemberNS{Value: []string{"1"}}, "tags": &types.AttributeValueMemberSS{Value: []string{"a"}},
		"nothing": &types.AttributeValueMemberNULL{Value: true}, "yes": &types.AttributeValueMemberBOOL{Value: true},
		"Status": str("held"), "expired": str("no"), "ttl": num("1"),
	}
}

// Of each reservation one of the two claims is durable and the other is refused, and nothing but the status and expired_at is written.
func TestAReservationIsEitherExpiredOrDeclined(t *testing.T) {
	t.Parallel()
	s := shopOver(t, nil)
	kinds := s.anyKinds(t)
	beyond := time.UnixMilli(9007199254740993) // 2^53 + 1, which a reader of floating-point numbers takes for 2^53
	for sentence, c := range map[string]struct {
		reservation attributes
		expiresAt   time.Time // of the expiry; zero: now
		anyKind     bool      // in a table without an index
		lapsed      bool
	}{
		"held, its deadline long past":         {reservation: held(ms(now.Add(-time.Hour))), lapsed: true},
		"held, its deadline the expiry's":      {reservation: held(ms(now)), lapsed: true},
		"held, extended by a millisecond":      {reservation: held(ms(now.Add(time.Millisecond)))},
		"held, extended by less than that":     {reservation: held(num(strconv.FormatInt(now.UnixMilli(), 10) + ".5"))},
		"held, its deadline with a fraction":   {reservation: held(num(strconv.FormatInt(now.UnixMilli()-1, 10) + ".5")), lapsed: true},
		"held, its deadline in another form":   {reservation: held(num("1e3")), lapsed: true},
		"held again behind an expiry":          {reservation: with(held(ms(now)), "expired_at", num("7")), lapsed: true},
		"held since before 1970":               {reservation: held(num("-5")), lapsed: true},
		"held, its deadline out of all time":   {reservation: held(num(strings.Repeat("9", 38)))},
		"held, its deadline 2^53 + 1":          {reservation: held(num("9007199254740993")), expiresAt: beyond, lapsed: true},
		"held, its deadline 2^53 + 2":          {reservation: held(num("9007199254740994")), expiresAt: beyond},
		"paid":                                 {reservation: with(held(ms(now)), "status", str("paid"))},
		"released":                             {reservation: with(held(ms(now)), "status", str("released"))},
		"expired already":                      {reservation: with(with(held(ms(now)), "status", str("expired")), "expired_at", num("7"))},
		"a status of the application's own":    {reservation: with(held(ms(now)), "status", str("on_hold"))},
		"held in capital letters":              {reservation: with(held(ms(now)), "status", str("HELD"))},
		"missing":                              {},
		"without a deadline":                   {reservation: attributes{"status": str("held")}},
		"without a status":                     {reservation: attributes{"expires_at": ms(now)}},
		"without anything":                     {reservation: attributes{}},
		"a deadline that is a text":            {reservation: held(str("0")), anyKind: true},
		"a deadline that is NULL":              {reservation: held(&types.AttributeValueMemberNULL{Value: true}), anyKind: true},
		"a deadline that is bytes":             {reservation: held(&types.AttributeValueMemberB{Value: []byte("0")}), anyKind: true},
		"a deadline that is a set of numbers":  {reservation: held(&types.AttributeValueMemberNS{Value: []string{"0"}}), anyKind: true},
		"a status that is a list":              {reservation: with(held(ms(now)), "status", &types.AttributeValueMemberL{Value: []types.AttributeValue{str("held")}}), anyKind: true},
		"a status that is bytes":               {reservation: with(held(ms(now)), "status", &types.AttributeValueMemberB{Value: []byte("held")}), anyKind: true},
		"a status that is a set":               {reservation: with(held(ms(now)), "status", &types.AttributeValueMemberSS{Value: []string{"held"}}), anyKind: true},
		"held and due, in a table of any kind": {reservation: held(ms(now)), anyKind: true, lapsed: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := s
			if c.anyKind {
				s = kinds
			}
			reservation := c.reservation
			if reservation != nil {
				reservation = maps.Clone(reservation)
				maps.Copy(reservation, belongings())
			}
			for name, claim := range map[string]struct {
				call    func(inbox.Delivery, inbox.Expiry) (*inbox.ExpiryRefused, error)
				outcome inbox.Outcome
				durable bool
			}{
				"expire": {func(d inbox.Delivery, e inbox.Expiry) (*inbox.ExpiryRefused, error) {
					return s.Expire(t.Context(), d, e)
				}, inbox.OutcomeExpired, c.lapsed},
				"decline": {func(d inbox.Delivery, e inbox.Expiry) (*inbox.ExpiryRefused, error) {
					return s.Decline(t.Context(), d, e)
				}, inbox.OutcomeNoLongerHeld, !c.lapsed},
			} {
				id := fmt.Sprintf("%s-%s", name, strings.ReplaceAll(sentence, " ", "_"))
				e := expiry(id)
				if !c.expiresAt.IsZero() {
					e.ExpiresAt = c.expiresAt
				}
				s.put(t, id, reservation)
				after := s.reservation(t, id)
				if claim.outcome == inbox.OutcomeExpired && claim.durable {
					after["status"], after["expired_at"] = str("expired"), ms(e.At)
				}
				d := expiryDelivery(id, id, claim.outcome)
				refused, err := claim.call(d, e)
				if err != nil {
					t.Fatal(err)
				}
				wantRefused, wantDelivery := &inbox.ExpiryRefused{Reservation: true}, (*inbox.Delivery)(nil)
				if claim.durable {
					wantRefused, wantDelivery = nil, &d
				}
				if diff := cmp.Diff(wantRefused, refused); diff != "" {
					t.Errorf("%s: refusal (-want +got):\n%s", name, diff)
				}
				if diff := cmp.Diff(wantDelivery, s.delivery(t, id)); diff != "" {
					t.Errorf("%s: delivery (-want +got):\n%s", name, diff)
				}
				if diff := cmp.Diff(after, s.reservation(t, id), everything()); diff != "" {
					t.Errorf("%s: reservation (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// A delivery id that is taken refuses both claims, whatever the reservation says, and shows the item that has it.
func TestADeliveryThatExistsRefusesBothClaims(t *testing.T) {
	t.Parallel()
	s := shopOver(t, nil)
	for sentence, reservation := range map[string]attributes{
		"held and due": held(ms(now)), "paid": with(held(ms(now)), "status", str("paid")), "missing": nil,
	} {
		for _, body := range []string{"body", "another body"} {
			t.Run(sentence+", "+body, func(t *testing.T) {
				t.Parallel()
				id := strings.ReplaceAll(sentence+"-"+body, " ", "_")
				s.put(t, id, reservation)
				first := expiryDelivery(id, "r-other", inbox.OutcomeNoLongerHeld)
				first.BodySHA256 = body
				if refused, err := s.Decline(t.Context(), first, expiry("r-other")); refused != nil || err != nil {
					t.Fatalf("%+v, %v", refused, err)
				}
				lapsed := sentence == "held and due"
				refused, err := s.Expire(t.Context(), expiryDelivery(id, id, inbox.OutcomeExpired), expiry(id))
				if diff := cmp.Diff(&inbox.ExpiryRefused{Delivery: &first, Reservation: !lapsed}, refused); diff != "" || err != nil {
					t.Errorf("expire: %v (-want +got):\n%s", err, diff)
				}
				refused, err = s.Decline(t.Context(), expiryDelivery(id, id, inbox.OutcomeNoLongerHeld), expiry(id))
				if diff := cmp.Diff(&inbox.ExpiryRefused{Delivery: &first, Reservation: lapsed}, refused); diff != "" || err != nil {
					t.Errorf("decline: %v (-want +got):\n%s", err, diff)
				}
				if diff := cmp.Diff(reservation, s.reservation(t, id), everything()); diff != "" {
					t.Errorf("reservation (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestAnExpiryWhoseDeliveryWouldNotFitIsNotSent(t *testing.T) {
	t.Parallel()
	s := shopOver(t, nil)
	s.put(t, "r-1", held(ms(now)))
	d := expiryDelivery("d-1", strings.Repeat("r", 400<<10), inbox.OutcomeExpired)
	if refused, err := s.Expire(t.Context(), d, expiry("r-1")); refused != nil || !errors.Is(err, inbox.ErrTooLarge) {
		t.Errorf("expire: %+v, %v", refused, err)
	}
	if refused, err := s.Decline(t.Context(), d, expiry("r-2")); refused != nil || !errors.Is(err, inbox.ErrTooLarge) {
		t.Errorf("decline: %+v, %v", refused, err)
	}
	if diff := cmp.Diff(held(ms(now)), s.reservation(t, "r-1"), everything()); diff != "" {
		t.Errorf("reservation (-want +got):\n%s", diff)
	}
}
