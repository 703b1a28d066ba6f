package dynamostore

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/inbox"
)

// The reservations table belongs to the user's application. Of its attributes these are read, and only the last of them and
// the status are ever written.
const (
	attrReservationID = "reservation_id"
	attrStatus        = "status"
	attrDeadline      = "expires_at" // a number, Unix milliseconds
	attrExpiredAt     = "expired_at" // the same
)

// IndexStatusExpiresAt orders the reservations of one status by their deadline.
const IndexStatusExpiresAt = "status-expires_at"

// Reservations is the application's reservations table, beside the inbox that the claims go to. It is safe for concurrent use.
type Reservations struct {
	inbox *Store
	table string
}

// NewReservations makes a store over the table with the given name.
func NewReservations(inbox *Store, table string) *Reservations {
	return &Reservations{inbox: inbox, table: table}
}

// lapsed is Expiry.Lapsed as a condition. A comparison with an attribute that is missing, or of another type, does not hold, so
// neither does the condition for a reservation that is missing, and its negation does: the two divide all that there can be.
const (
	lapsed    = "#status = :held AND #expires_at <= :deadline"
	notLapsed = "NOT (" + lapsed + ")"
)

func lapsedNames() map[string]string {
	return map[string]string{"#status": attrStatus, "#expires_at": attrDeadline}
}

func lapsedValues(e inbox.Expiry) (item, error) {
	deadline, err := encode(e.ExpiresAt)
	if err != nil {
		return nil, err
	}
	return item{":held": &types.AttributeValueMemberS{Value: inbox.ReservationHeld}, ":deadline": deadline}, nil
}

// Expire claims the delivery and moves the reservation to expired at once, where it is held and its own deadline is not later
// than the expiry's. Nil and nil: both are durable. An error says that nothing is known, except inbox.ErrTooLarge.
func (r *Reservations) Expire(ctx context.Context, d inbox.Delivery, e inbox.Expiry) (*inbox.ExpiryRefused, error) {
	names, update := lapsedNames(), "SET #status = :expired, #expired_at = :at"
	names["#expired_at"] = attrExpiredAt
	values, err := lapsedValues(e)
	if err != nil {
		return nil, err
	}
	values[":expired"] = &types.AttributeValueMemberS{Value: inbox.ReservationExpired}
	if values[":at"], err = encode(e.At); err != nil {
		return nil, err
	}
	condition := lapsed
	return r.claim(ctx, d, types.TransactWriteItem{Update: &types.Update{
		TableName: &r.table, Key: reservationKey(e), UpdateExpression: &update, ConditionExpression: &condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}})
}

// Decline claims the delivery where the reservation is not as Expire wants it, which a missing one is not either. It writes
// nothing to the reservation. The result is that of Expire.
func (r *Reservations) Decline(ctx context.Context, d inbox.Delivery, e inbox.Expiry) (*inbox.ExpiryRefused, error) {
	values, err := lapsedValues(e)
	if err != nil {
		return nil, err
	}
	condition := notLapsed
	return r.claim(ctx, d, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &r.table, Key: reservationKey(e), ConditionExpression: &condition,
		ExpressionAttributeNames: lapsedNames(), ExpressionAttributeValues: values,
	}})
}

func reservationKey(e inbox.Expiry) item {
	return item{attrReservationID: &types.AttributeValueMemberS{Value: e.ReservationID}}
}

// claim writes the delivery together with its part about the reservation.
func (r *Reservations) claim(ctx context.Context, d inbox.Delivery, part types.TransactWriteItem) (*inbox.ExpiryRefused, error) {
	put, err := r.inbox.insert(d.ItemKey(), d)
	if err != nil {
		return nil, err
	}
	reasons, err := r.inbox.transact(ctx, types.TransactWriteItem{Put: put}, part)
	if err != nil {
		return nil, fmt.Errorf("claim delivery %s with reservation %s: %w", d.ID, d.ReservationID, err)
	}
	if reasons == nil {
		return nil, nil
	}
	there, err := decodeDelivery(reasons[0].Item)
	if err != nil {
		return nil, err
	}
	if unseen(reasons[0]) {
		return nil, fmt.Errorf("claim delivery %s: %w", d.ID, errUnseen)
	}
	return &inbox.ExpiryRefused{Delivery: there, Reservation: code(reasons[1]) == conditionFailed}, nil
}

// OldestHeld is the deadline of the held reservation that is past it for the longest, at the given time; zero when none is. It
// reads one entry of the index, however many reservations are held. The index is eventually consistent: one that moved a
// moment ago may still be seen.
func (r *Reservations) OldestHeld(ctx context.Context, now time.Time) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	values, err := lapsedValues(inbox.Expiry{ExpiresAt: now})
	if err != nil {
		return time.Time{}, err
	}
	index, condition, one := IndexStatusExpiresAt, lapsed, int32(1)
	page, err := r.inbox.db.Query(ctx, &dynamodb.QueryInput{
		TableName: &r.table, IndexName: &index, KeyConditionExpression: &condition, Limit: &one,
		ExpressionAttributeNames: lapsedNames(), ExpressionAttributeValues: values,
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("read the oldest held reservation: %w", translate(err))
	}
	if len(page.Items) == 0 {
		return time.Time{}, nil
	}
	oldest, err := deadlineOf(page.Items[0])
	if err != nil {
		return time.Time{}, fmt.Errorf("read the oldest held reservation: %w", err)
	}
	return oldest, nil
}

// deadlineOf reads the deadline of a row whose deadline has passed. It is a number, since the index has no others, but the
// application may have written any: one with a fraction is rounded down, and one before 1970 counts as of then, so that a row
// that makes no sense is seen as very old. As an error, it would hide the age of all others behind it.
func deadlineOf(row item) (time.Time, error) {
	n, ok := row[attrDeadline].(*types.AttributeValueMemberN)
	if !ok {
		return time.Time{}, fmt.Errorf("%s is no number, which the index makes impossible", attrDeadline)
	}
	// What has passed is far below 2^53 milliseconds, so a float64 holds every whole one exactly.
	ms, err := strconv.ParseFloat(n.Value, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is no number: %w", attrDeadline, err)
	}
	return time.UnixMilli(int64(max(0, math.Floor(ms)))).UTC(), nil
}
