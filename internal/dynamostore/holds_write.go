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

// Remove deletes a row of that reason, and returns what the row said and whether it is gone. Without a row it is nil and false; a
// row of another reason comes back with false and stays. A row that was there when the call began and is gone when it ends counts
// as removed, whoever did it: most likely this very call, whose first try lost its answer.
func (h *Holds) Remove(ctx context.Context, scope, id string, only retention.Reason) (*retention.Row, bool, error) {
	return h.removeWhere(ctx, scope, id, func(item) (expression.ConditionBuilder, bool) {
		return expression.Name(attrReason).Equal(expression.Value(string(only))), true
	})
}

// RemoveShown is Remove for a row that says what it said when somebody was shown it, in everything that a row can say. One that
// says something else by now comes back with false and stays.
func (h *Holds) RemoveShown(ctx context.Context, shown retention.Row) (*retention.Row, bool, error) {
	return h.removeWhere(ctx, shown.Scope, shown.ID, func(was item) (expression.ConditionBuilder, bool) {
		return unchanged(was), sameRow(readRow(was), shown)
	})
}

// sameRow compares all that two rows say. Times may have another location.
func sameRow(a, b retention.Row) bool {
	sameTimes := a.ExpiresAt.Equal(b.ExpiresAt) && a.CreatedAt.Equal(b.CreatedAt)
	a.ExpiresAt, a.CreatedAt = b.ExpiresAt, b.CreatedAt
	return sameTimes && a == b
}

// unchanged is the condition that the row has these attributes still, of whatever types: a row that cannot be understood is one, too.
func unchanged(was item) expression.ConditionBuilder {
	condition := expression.Name(attrHoldID).Equal(expression.Value(was[attrHoldID]))
	for _, name := range []string{"key", "prefix", attrReason, "note", "by", attrExpiresAt, attrCreatedAt} {
		if value, has := was[name]; has {
			condition = condition.And(expression.Name(name).Equal(expression.Value(value)))
		} else {
			condition = condition.And(expression.AttributeNotExists(expression.Name(name)))
		}
	}
	return condition
}

// removeWhere deletes the row where the condition that is made of it holds; false beside it says that it does not hold already.
func (h *Holds) removeWhere(ctx context.Context, scope, id string, allowed func(item) (expression.ConditionBuilder, bool)) (*retention.Row, bool, error) {
	consistent := true
	was, err := h.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &h.table, Key: holdKey(scope, id), ConsistentRead: &consistent})
	if err != nil {
		return nil, false, fmt.Errorf("remove hold %s of %s: %w", id, scope, translate(err))
	}
	if len(was.Item) == 0 {
		return nil, false, nil
	}
	row := readRow(was.Item)
	condition, holds := allowed(was.Item)
	if !holds {
		return &row, false, nil
	}
	said, gone, err := h.remove(ctx, holdKey(scope, id), condition)
	if err != nil {
		return nil, false, fmt.Errorf("remove hold %s of %s: %w", id, scope, err)
	}
	if len(said) > 0 {
		row = readRow(said)
	}
	return &row, gone, nil
}

// remove deletes what is there, if the condition allows it. It returns what the row said, where there was one, and whether
// there is none any more.
func (h *Holds) remove(ctx context.Context, key item, allowed expression.ConditionBuilder) (said item, gone bool, err error) {
	expr, err := expression.NewBuilder().WithCondition(expression.AttributeNotExists(expression.Name(attrHoldID)).Or(allowed)).Build()
	if err != nil {
		return nil, false, err
	}
	out, err := h.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &h.table, Key: key, ReturnValues: types.ReturnValueAllOld,
		ConditionExpression: expr.Condition(), ExpressionAttributeNames: expr.Names(), ExpressionAttributeValues: expr.Values(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
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
