package dynamostore

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/inbox"
)

// maxItemBytes is DynamoDB's bound on an item, names included (Service, account, and table quotas).
const maxItemBytes = 400 * 1024

// Claim writes the delivery and its run at once, where neither exists. Nil and nil: both are durable. Existing holds what stood
// in the way, read by the refusal itself. An error says that nothing is known, except inbox.ErrTooLarge: nothing was sent.
func (s *Store) Claim(ctx context.Context, c inbox.Claim) (*inbox.Existing, error) {
	delivery, err := s.insert(c.Delivery.ItemKey(), c.Delivery)
	if err != nil {
		return nil, err
	}
	run, err := s.insert(c.Run.RunKey().ItemKey(), c.Run)
	if err != nil {
		return nil, err
	}
	reasons, err := s.transact(ctx, types.TransactWriteItem{Put: delivery}, types.TransactWriteItem{Put: run})
	if err != nil {
		return nil, fmt.Errorf("claim delivery %s: %w", c.Delivery.ID, err)
	}
	if reasons == nil {
		return nil, nil
	}
	there, err := existing(reasons[0].Item, reasons[1].Item)
	if err != nil {
		return nil, err
	}
	if there.Delivery == nil && (unseen(reasons[0]) || unseen(reasons[1])) {
		return nil, fmt.Errorf("claim delivery %s: %w", c.Delivery.ID, errUnseen)
	}
	return there, nil
}

// errUnseen is a refusal by an item that it does not show. Nobody knows whether that item is a copy or stands for another
// command, and a guess would end in a 409, at which the sender stops.
var errUnseen = fmt.Errorf("%w: the refusal does not show the item that exists", inbox.ErrUnavailable)

// unseen tells the reason of a put that was refused by an item and does not show it.
func unseen(r types.CancellationReason) bool { return code(r) == conditionFailed && len(r.Item) == 0 }

// transact writes all or nothing. Nil and nil: it is durable. Otherwise the reasons, one for each write in their order, of a
// transaction that was refused by conditions and by nothing else; an error says that nothing is known.
func (s *Store) transact(ctx context.Context, writes ...types.TransactWriteItem) ([]types.CancellationReason, error) {
	err := untilSettled(ctx, func() error {
		_, err := s.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
		return err
	})
	if err == nil {
		return nil, nil
	}
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || !refusedByConditions(cancelled) || len(cancelled.CancellationReasons) != len(writes) {
		return nil, translate(err)
	}
	return cancelled.CancellationReasons, nil
}

// insert is a put that is refused where the key exists, and then says what is there.
func (s *Store) insert(pk string, v any) (*types.Put, error) {
	it, err := encodeItem(pk, v)
	if err != nil {
		return nil, err
	}
	if n := itemBytes(it); n > maxItemBytes {
		return nil, fmt.Errorf("item %s has %d bytes, at most %d are allowed: %w", pk, n, maxItemBytes, inbox.ErrTooLarge)
	}
	condition := "attribute_not_exists(" + attrPK + ")"
	return &types.Put{
		TableName: &s.table, Item: it, ConditionExpression: &condition,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, nil
}

func existing(delivery, run item) (*inbox.Existing, error) {
	d, err := decodeDelivery(delivery)
	if err != nil {
		return nil, err
	}
	r, err := decodeRun(run)
	if err != nil {
		return nil, err
	}
	return &inbox.Existing{Delivery: d, Run: r}, nil
}

func decodeDelivery(m item) (*inbox.Delivery, error) {
	if len(m) == 0 {
		return nil, nil
	}
	d := new(inbox.Delivery)
	if err := decodeItem(m, d); err != nil {
		return nil, fmt.Errorf("decode delivery %s: %w", keyOf(m), err)
	}
	return d, nil
}

// Alias writes the delivery alone: another id for a run that is known. Nil and nil: it is durable. Where the id exists already,
// the item that is there comes back, to be classified again.
func (s *Store) Alias(ctx context.Context, d inbox.Delivery) (*inbox.Delivery, error) {
	p, err := s.insert(d.ItemKey(), d)
	if err != nil {
		return nil, err
	}
	err = untilSettled(ctx, func() error {
		_, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: p.TableName, Item: p.Item, ConditionExpression: p.ConditionExpression,
			ReturnValuesOnConditionCheckFailure: p.ReturnValuesOnConditionCheckFailure,
		})
		return err
	})
	if err == nil {
		return nil, nil
	}
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok && len(refused.Item) > 0 {
		return decodeDelivery(refused.Item)
	}
	return nil, fmt.Errorf("record delivery %s: %w", d.ID, translate(err))
}
