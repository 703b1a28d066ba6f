package dynamostore

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/retention"
)

// Holds is the holds table. Other systems write it too, so each row is read with care: what cannot be understood holds
// its whole scope. It is safe for concurrent use.
type Holds struct {
	db    *dynamodb.Client
	table string
	log   *slog.Logger
}

// NewHolds makes a reader of the holds table with the given name. Rows that cannot be understood are logged.
func NewHolds(db *dynamodb.Client, table string, log *slog.Logger) *Holds {
	return &Holds{db: db, table: table, log: log}
}

// Covering reads the holds of the scope and those for all, with strong consistency: what was written before the call began
// is in the answer. An error means that nothing may be deleted.
func (h *Holds) Covering(ctx context.Context, scope string) ([]retention.Hold, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	// At once, since the time until the request counts from here.
	var all []retention.Hold
	var unread error
	var reading sync.WaitGroup
	reading.Go(func() { all, unread = h.of(ctx, retention.ScopeAll) })
	own, err := h.of(ctx, scope)
	reading.Wait()
	if err = cmp.Or(err, unread); err != nil { // of two errors always the same one
		return nil, err
	}
	return append(own, all...), nil
}

func (h *Holds) of(ctx context.Context, scope string) ([]retention.Hold, error) {
	holds, err := h.partition(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("read the holds of %s: %w", scope, translate(err))
	}
	return holds, nil
}

func (h *Holds) partition(ctx context.Context, scope string) ([]retention.Hold, error) {
	consistent, condition := true, "#scope = :scope"
	in := &dynamodb.QueryInput{
		TableName: &h.table, ConsistentRead: &consistent, KeyConditionExpression: &condition,
		ExpressionAttributeNames:  map[string]string{"#scope": "scope"},
		ExpressionAttributeValues: item{":scope": &types.AttributeValueMemberS{Value: scope}},
	}
	var holds []retention.Hold
	for {
		page, err := h.db.Query(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, row := range page.Items {
			hold, err := readHold(scope, row)
			if err != nil {
				h.log.WarnContext(ctx, "hold_unreadable", "scope", scope, "hold_id", hold.ID, "problem", err.Error())
			}
			holds = append(holds, hold)
		}
		if len(page.LastEvaluatedKey) == 0 {
			return holds, nil
		}
		in.ExclusiveStartKey = page.LastEvaluatedKey
	}
}

// readHold reads one row. With an error it is a hold on the whole scope: a row that cannot be understood is never ignored,
// unless it says in plain numbers that it is over.
func readHold(scope string, row item) (retention.Hold, error) {
	hold := retention.Hold{Scope: scope, ID: stringOr(row["hold_id"], "")}
	unreadable := func(problem string, args ...any) (retention.Hold, error) {
		hold.Key, hold.Prefix, hold.Reason = "", "", retention.ReasonUnreadableHold
		return hold, fmt.Errorf(problem, args...)
	}
	expires, err := holdExpiry(row["expires_at"])
	if err != nil {
		return unreadable("%w", err)
	}
	hold.ExpiresAt = expires
	reason, known := retention.HoldReason(stringOr(row["reason"], ""))
	if !known {
		return unreadable("reason is not one of legal_hold, dispute_evidence, active_manifest, other, stop")
	}
	hold.Reason = reason
	if reason == retention.ReasonStop {
		return hold, nil // the brake covers the whole scope, whatever else the row says
	}
	key, keyOK := text(row["key"])
	prefix, prefixOK := text(row["prefix"])
	switch {
	case !keyOK || !prefixOK:
		return unreadable("key and prefix must be strings")
	case (key == "") == (prefix == ""):
		return unreadable("exactly one of key and prefix must be given")
	}
	hold.Key, hold.Prefix = key, prefix
	return hold, nil
}

// text reads an optional string attribute; false for one of another type.
func text(v types.AttributeValue) (string, bool) {
	if v == nil {
		return "", true
	}
	s, ok := v.(*types.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	return s.Value, true
}

func stringOr(v types.AttributeValue, fallback string) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return fallback
}

// holdExpiry is when a row is over. No hold was over by 1970: a writer that leaves a number at 0 means none, and time to live never
// removes such a row.
func holdExpiry(v types.AttributeValue) (time.Time, error) {
	at, err := expiry(v)
	if err == nil && v != nil && at.Unix() <= 0 {
		return time.Time{}, fmt.Errorf("expires_at must be after 1970, it is %d: a hold without an end has none", at.Unix())
	}
	return at, err
}

// expiry reads Unix seconds; the zero time for an attribute that is absent.
func expiry(v types.AttributeValue) (time.Time, error) {
	if v == nil {
		return time.Time{}, nil
	}
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return time.Time{}, fmt.Errorf("expires_at must be a number of Unix seconds")
	}
	seconds, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("expires_at must be a whole number of Unix seconds, it is %s", n.Value)
	}
	return time.Unix(seconds, 0), nil
}
