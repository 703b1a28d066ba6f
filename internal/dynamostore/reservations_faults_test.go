package dynamostore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	localdb "custody/internal/localaws/dynamodb"
	"custody/internal/localaws/steady"
)

// bothClaims are the two, by name: whatever goes wrong goes wrong with each.
func bothClaims(s shop) map[string]func(context.Context, inbox.Delivery, inbox.Expiry) (*inbox.ExpiryRefused, error) {
	return map[string]func(context.Context, inbox.Delivery, inbox.Expiry) (*inbox.ExpiryRefused, error){
		"expire": s.Expire, "decline": s.Decline,
	}
}

// Only a list of reasons that are conditions says anything about the items: no other is a success, a copy, or a reservation that
// is no longer held.
func TestACancelledExpiryIsRefusedByItsConditionsAlone(t *testing.T) {
	t.Parallel()
	delivery := expiryDelivery("d-1", "", inbox.OutcomeExpired)
	item := `"Item":{"pk":{"S":"delivery#d-1"},"delivery_id":{"S":"d-1"},"command_type":{"S":"reservation.expire"},"body_sha256":{"S":"body"},` +
		`"outcome":{"S":"expired"},"received_at":{"N":"1796040000000"},"ttl":{"N":"1796043600"}}`
	reason := func(code string, more ...string) string {
		return `{"Code":"` + code + `","Message":"m"` + strings.Join(append([]string{""}, more...), ",") + `}`
	}
	const failed, none, conflict = "ConditionalCheckFailed", "None", "TransactionConflict"
	for sentence, c := range map[string]struct {
		reasons []string
		want    *inbox.ExpiryRefused // nil: unavailable
		calls   int
	}{
		"the delivery exists":                          {[]string{reason(failed, item), reason(none)}, &inbox.ExpiryRefused{Delivery: &delivery}, 1},
		"the reservation is not so":                    {[]string{reason(none), reason(failed)}, &inbox.ExpiryRefused{Reservation: true}, 1},
		"both":                                         {[]string{reason(failed, item), reason(failed)}, &inbox.ExpiryRefused{Delivery: &delivery, Reservation: true}, 1},
		"the delivery exists, and is not shown":        {[]string{reason(failed), reason(none)}, nil, 1},
		"both, and the delivery is not shown":          {[]string{reason(failed), reason(failed)}, nil, 1},
		"a conflict about the reservation":             {[]string{reason(none), reason(conflict)}, nil, 5},
		"a conflict about the delivery":                {[]string{reason(conflict), reason(none)}, nil, 5},
		"a conflict beside a reservation not so":       {[]string{reason(conflict), reason(failed)}, nil, 5},
		"a conflict beside a delivery":                 {[]string{reason(failed, item), reason(conflict)}, nil, 5},
		"a throttle of the reservation":                {[]string{reason(none), reason("ThrottlingError")}, nil, 1},
		"a throttle beside a reservation not so":       {[]string{reason("ThrottlingError"), reason(failed)}, nil, 1},
		"throughput beside a delivery":                 {[]string{reason(failed, item), reason("ProvisionedThroughputExceeded")}, nil, 1},
		"throughput beside a reservation not so":       {[]string{reason("ProvisionedThroughputExceeded"), reason(failed)}, nil, 1},
		"a validation error of the reservation":        {[]string{reason(none), reason("ValidationError")}, nil, 1},
		"a validation error beside a delivery":         {[]string{reason(failed, item), reason("ValidationError")}, nil, 1},
		"a validation error beside one that is not so": {[]string{reason("ValidationError"), reason(failed)}, nil, 1},
		"a collection that is too large":               {[]string{reason(none), reason("ItemCollectionSizeLimitExceeded")}, nil, 1},
		"a reason that nobody knows":                   {[]string{reason("SomethingNew"), reason(failed)}, nil, 1},
		"no reason in the list":                        {[]string{reason(none), reason(none)}, nil, 1},
		"no reasons":                                   {nil, nil, 1},
		"one reason of two":                            {[]string{reason(failed, item)}, nil, 1},
		"three reasons of two":                         {[]string{reason(none), reason(failed), reason(none)}, nil, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			s := shopOver(t, func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					calls.Add(1)
					fault(w, "TransactionCanceledException", `,"CancellationReasons":[`+strings.Join(c.reasons, ",")+`]`)
				})
			})
			for name, claim := range bothClaims(s) {
				calls.Store(0)
				refused, err := claim(t.Context(), expiryDelivery("d-1", "r-1", inbox.OutcomeExpired), expiry("r-1"))
				if diff := cmp.Diff(c.want, refused); diff != "" || errors.Is(err, inbox.ErrUnavailable) != (c.want == nil) {
					t.Errorf("%s: error %v, refusal (-want +got):\n%s", name, err, diff)
				}
				if got := int(calls.Load()); got != c.calls {
					t.Errorf("%s: %d calls, want %d", name, got, c.calls)
				}
			}
		})
	}
}

func TestAStoreThatFailsNeitherExpiresNorDeclines(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{
		"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "InternalServerError",
		"ResourceNotFoundException", "AccessDeniedException", "TransactionInProgressException", "TransactionConflictException",
		"ConditionalCheckFailedException", "IdempotentParameterMismatchException", "ValidationException", "UnrecognizedClientException",
	} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			s := shopOver(t, func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fault(w, typ, "") })
			})
			for name, claim := range bothClaims(s) {
				refused, err := claim(t.Context(), expiryDelivery("d-1", "r-1", inbox.OutcomeExpired), expiry("r-1"))
				if refused != nil || !errors.Is(err, inbox.ErrUnavailable) {
					t.Errorf("%s: %+v, %v", name, refused, err)
				}
			}
			if at, err := s.OldestHeld(t.Context(), now); !at.IsZero() || !errors.Is(err, inbox.ErrUnavailable) {
				t.Errorf("oldest: %v, %v", at, err)
			}
		})
	}
}

// A reservations table that is not there, or that is named by mistake, costs no delivery: it comes again.
func TestWithoutTheReservationsTableNothingIsClaimed(t *testing.T) {
	t.Parallel()
	s := shopOver(t, nil)
	for sentence, table := range map[string]string{"no such table": "nowhere", "the inbox itself": tableOf(s)} {
		s := s
		s.Reservations = dynamostore.NewReservations(s.inbox, table)
		for name, claim := range bothClaims(s) {
			id := strings.ReplaceAll(sentence, " ", "_") + "-" + name
			refused, err := claim(t.Context(), expiryDelivery(id, "r-1", inbox.OutcomeExpired), expiry("r-1"))
			if refused != nil || !errors.Is(err, inbox.ErrUnavailable) {
				t.Errorf("%s: %s: %+v, %v", sentence, name, refused, err)
			}
			if d := s.delivery(t, id); d != nil {
				t.Errorf("%s: %s claimed %+v", sentence, name, d)
			}
		}
		if _, err := s.OldestHeld(t.Context(), now); !errors.Is(err, inbox.ErrUnavailable) {
			t.Errorf("%s: oldest: %v", sentence, err)
		}
	}
}

// tableOf is the name of the shop's inbox table.
func tableOf(s shop) string { return strings.Replace(s.table, "reservations", "inbox", 1) }

// A conflict passes, and what is found then is the answer.
func TestAClaimThatMetAConflictIsDecidedBehindIt(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]*inbox.ExpiryRefused{"held": nil, "paid": {Reservation: true}} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			var conflicts atomic.Int64
			s := shopOver(t, func(engine http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") && conflicts.Add(1) <= 2 {
						fault(w, "TransactionCanceledException", `,"CancellationReasons":[{"Code":"None"},{"Code":"TransactionConflict"}]`)
						return
					}
					engine.ServeHTTP(w, r)
				})
			})
			s.put(t, "r-1", with(held(ms(now)), "status", str(status)))
			refused, err := s.Expire(t.Context(), expiryDelivery("d-1", "r-1", inbox.OutcomeExpired), expiry("r-1"))
			if diff := cmp.Diff(want, refused); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// The repetition that the SDK itself makes of a call whose answer was lost is the same transaction, by its token: the store must
// not read its own delivery as that of another.
func TestALostAnswerOfAnExpiryIsRepeatedAsTheSameTransaction(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"expire", "decline"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			engine := localdb.New(localdb.Options{})
			losing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") && calls.Add(1) == 1 {
					body, _ := io.ReadAll(r.Body)
					r.Body = io.NopCloser(bytes.NewReader(body))
					engine.ServeHTTP(httptest.NewRecorder(), r)
					panic(http.ErrAbortHandler)
				}
				engine.ServeHTTP(w, r)
			})
			s := newShop(repeatingClient(t, losing), localaws.Tables{Inbox: "inbox", Reservations: "reservations"})
			if err := (localaws.Tables{Inbox: "inbox", Reservations: "reservations"}).Make(t.Context(), s.db); err != nil {
				t.Fatal(err)
			}
			if name == "expire" {
				s.put(t, "r-1", held(ms(now)))
			}
			d := expiryDelivery("d-1", "r-1", inbox.OutcomeExpired)
			if refused, err := bothClaims(s)[name](t.Context(), d, expiry("r-1")); refused != nil || err != nil {
				t.Errorf("%+v, %v", refused, err)
			}
			if diff := cmp.Diff(&d, s.delivery(t, "d-1")); diff != "" || calls.Load() != 2 {
				t.Errorf("%d calls, want 2; delivery (-want +got):\n%s", calls.Load(), diff)
			}
		})
	}
}

// repeatingClient makes the SDK's own three tries, without its pauses of up to 20 s.
func repeatingClient(t *testing.T, h http.Handler) *dynamodb.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return dynamodb.New(dynamodb.Options{
		HTTPClient: steady.Client{}, Region: "us-east-1", BaseEndpoint: &server.URL,
		Retryer:     retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = 5 * time.Millisecond }),
		Credentials: aws.CredentialsProvider(credentials.NewStaticCredentialsProvider("test", "test", "")),
	})
}
