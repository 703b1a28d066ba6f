package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/retention"
)

// Put writes the row where its scope has none of that id, or one that is over. Nil and nil: it is durable. Otherwise the row that
// stands there comes back, and nothing was written: a hold is never replaced by another.
func (h *Holds) Put(ctx context.Context, row retention.Row, now time.Time) (*retention.Row, error) {
	free := expression.AttributeNotExists(expression.Name(attrHoldID)).
		Or(expression.Name(attrExpiresAt).Between(expression.Value(1), expression.Value(now.Unix()))) // 0 is not over, see holdExpiry
	expr, err := expression.NewBuilder().WithCondition(free).Build()
	if err != nil {
		return nil, fmt.Errorf("put hold %s of %s: %w", row.ID, row.Scope, err)
	}
	_, err = h.db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &h.table, Item: rowItem(row), ConditionExpression: expr.Condition(),
		ExpressionAttributeNames: expr.Names(), ExpressionAttributeValues: expr.Values(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		there := readRow(refused.Item)
		return &there, nil
	}
	if err != nil {
		return nil, fmt.Errorf("put hold %s of %s: %w", row.ID, row.Scope, translate(err))
	}
	return nil, nil
}

// Remove deletes a row, where only is "" whatever it says, else only when that is its reason, and returns what the row said.
// Without a row it is nil and false; a row of another reason comes back with false and stays. A row that was there when the
// call began and is gone when it ends counts as removed, whoever did it: most likely this very call, whose first try lost its
// answer.
func (h *Holds) Remove(ctx context.Context, scope, id string, only retention.Reason) (*retention.Row, bool, error) {
	consistent := true
	was, err := h.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &h.table, Key: holdKey(scope, id), ConsistentRead: &consistent})
	if err != nil {
		return nil, false, fmt.Errorf("remove hold %s of %s: %w", id, scope, translate(err))
	}
	if len(was.Item) == 0 {
		return nil, false, nil
	}
	said, gone, err := h.remove(ctx, holdKey(scope, id), only)
	if err != nil {
		return nil, false, fmt.Errorf("remove hold %s of %s: %w", id, scope, err)
	}
	if len(said) == 0 {
		said = was.Item
	}
	row := readRow(said)
	return &row, gone, nil
}

// remove deletes what is there, if only its reason allows it. It returns what the row said, where there was one, and whether
// there is none any more.
func (h *Holds) remove(ctx context.Context, key item, only retention.Reason) (said item, gone bool, err error) {
	in := &dynamodb.DeleteItemInput{
		TableName: &h.table, Key: key, ReturnValues: types.ReturnValueAllOld,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if only != "" {
		allowed := expression.AttributeNotExists(expression.Name(attrHoldID)).
			Or(expression.Name(attrReason).Equal(expression.Value(string(only))))
		expr, err := expression.NewBuilder().WithCondition(allowed).Build()
		if err != nil {
			return nil, false, err
		}
		in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = expr.Condition(), expr.Names(), expr.Values()
	}
	out, err := h.db.DeleteItem(ctx, in)
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return refused.Item, false, nil
	}
	if err != nil {
		return nil, false, translate(err)
	}
	return out.Attributes, true, nil
}

func holdKey(scope, id string) item {
	return item{attrScope: &types.AttributeValueMemberS{Value: scope}, attrHoldID: &types.AttributeValueMemberS{Value: id}}
}

// rowItem writes what is given and leaves out what is empty: an empty key or prefix would not be understood.
func rowItem(row retention.Row) item {
	it := holdKey(row.Scope, row.ID)
	for name, text := range map[string]string{
		"key": row.Key, "prefix": row.Prefix, attrReason: string(row.Reason), "note": row.Note, "by": row.By,
	} {
		if text != "" {
			it[name] = &types.AttributeValueMemberS{Value: text}
		}
	}
	for name, at := range map[string]time.Time{attrExpiresAt: row.ExpiresAt, attrCreatedAt: row.CreatedAt} {
		if !at.IsZero() {
			it[name] = &types.AttributeValueMemberN{Value: strconv.FormatInt(at.Unix(), 10)}
		}
	}
	return it
}
