package dynamostore

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/inbox"
)

// Move makes the move as one conditional write and returns the run as it stands behind it. A condition that did not hold is
// *inbox.Refused with the run that refused it; any other error wraps inbox.ErrUnavailable, and the move may have been made.
func (s *Store) Move(ctx context.Context, key inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error) {
	expr, err := render(m, c)
	if err != nil {
		return inbox.Run{}, fmt.Errorf("%s run %s: %w", m.Name, key, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	var out *dynamodb.UpdateItemOutput
	err = untilSettled(ctx, func() (err error) {
		out, err = s.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &s.table, Key: keyItem(key.ItemKey()),
			ConditionExpression: expr.Condition(), UpdateExpression: expr.Update(),
			ExpressionAttributeNames: expr.Names(), ExpressionAttributeValues: expr.Values(),
			ReturnValues:                        types.ReturnValueAllNew,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		return err
	})
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		there, err := decodeRun(refused.Item)
		if err != nil {
			return inbox.Run{}, fmt.Errorf("%s run %s: %w", m.Name, key, err)
		}
		return inbox.Run{}, &inbox.Refused{Move: m.Name, Run: there}
	}
	if err != nil {
		return inbox.Run{}, fmt.Errorf("%s run %s: %w", m.Name, key, translate(err))
	}
	run, err := decodeRun(out.Attributes)
	if err != nil {
		return inbox.Run{}, fmt.Errorf("%s run %s: %w", m.Name, key, err)
	}
	return *run, nil
}

// render turns the move's data into DynamoDB's expressions. A value that the move needs and the change does not carry is
// an error before anything is sent.
func render(m inbox.Move, c inbox.Change) (expression.Expression, error) {
	if len(m.From) == 0 {
		return expression.Expression{}, errors.New("the move inserts a run: it is written by a claim")
	}
	cond := fromStates(m.From)
	if m.If.Op != inbox.OpAll || len(m.If.Of) > 0 {
		extra, err := renderCondition(m.If, c)
		if err != nil {
			return expression.Expression{}, err
		}
		cond = cond.And(extra)
	}
	update, err := renderEffects(m, c)
	if err != nil {
		return expression.Expression{}, err
	}
	return expression.NewBuilder().WithCondition(cond).WithUpdate(update).Build()
}

func fromStates(from []inbox.State) expression.ConditionBuilder {
	state := expression.Name(string(inbox.AttrState))
	var more []expression.OperandBuilder
	for _, s := range from[1:] {
		more = append(more, expression.Value(string(s)))
	}
	return state.In(expression.Value(string(from[0])), more...)
}

func renderCondition(k inbox.Condition, c inbox.Change) (expression.ConditionBuilder, error) {
	switch k.Op {
	case inbox.OpAll, inbox.OpAny:
		return renderGroup(k, c)
	case inbox.OpAbsent:
		return expression.AttributeNotExists(expression.Name(string(k.Attr))), nil
	}
	v, err := valueOf(k.With, c)
	if err != nil {
		return expression.ConditionBuilder{}, fmt.Errorf("condition on %s: %w", k.Attr, err)
	}
	name := expression.Name(string(k.Attr))
	switch k.Op {
	case inbox.OpEqual:
		return name.Equal(v), nil
	case inbox.OpNotEqual:
		return name.NotEqual(v), nil
	case inbox.OpLess:
		return name.LessThan(v), nil
	case inbox.OpAtMost:
		return name.LessThanEqual(v), nil
	case inbox.OpAtLeast:
		return name.GreaterThanEqual(v), nil
	}
	return expression.ConditionBuilder{}, fmt.Errorf("condition on %s: unknown comparison %d", k.Attr, k.Op)
}

func renderGroup(k inbox.Condition, c inbox.Change) (expression.ConditionBuilder, error) {
	var parts []expression.ConditionBuilder
	for _, of := range k.Of {
		part, err := renderCondition(of, c)
		if err != nil {
			return expression.ConditionBuilder{}, err
		}
		parts = append(parts, part)
	}
	switch {
	case len(parts) == 0:
		return expression.ConditionBuilder{}, errors.New("a group of conditions is empty")
	case len(parts) == 1:
		return parts[0], nil
	case k.Op == inbox.OpAny:
		return expression.Or(parts[0], parts[1], parts[2:]...), nil
	}
	return expression.And(parts[0], parts[1], parts[2:]...), nil
}

func renderEffects(m inbox.Move, c inbox.Change) (expression.UpdateBuilder, error) {
	var u expression.UpdateBuilder
	if m.To != "" {
		u = u.Set(expression.Name(string(inbox.AttrState)), expression.Value(string(m.To)))
	}
	for _, e := range m.Then {
		name := expression.Name(string(e.Attr))
		switch e.Kind {
		case inbox.EffectClear:
			u = u.Remove(name)
			continue
		case inbox.EffectIncrement:
			u = u.Set(name, expression.Plus(expression.IfNotExists(name, expression.Value(0)), expression.Value(1)))
			continue
		case inbox.EffectPutGiven:
			if _, given := c.Value(e.Value); !given {
				continue
			}
		case inbox.EffectPut, inbox.EffectDefault, inbox.EffectCopy:
		}
		v, err := valueOf(e.Value, c)
		if err != nil {
			return u, fmt.Errorf("effect on %s: %w", e.Attr, err)
		}
		switch e.Kind {
		case inbox.EffectDefault:
			u = u.Set(name, expression.IfNotExists(name, v))
		case inbox.EffectCopy:
			u = u.Set(name, expression.IfNotExists(expression.Name(string(e.From)), v))
		default:
			u = u.Set(name, v)
		}
	}
	return u, nil
}

func valueOf(p inbox.Param, c inbox.Change) (expression.ValueBuilder, error) {
	v, given := c.Value(p)
	if !given {
		return expression.ValueBuilder{}, fmt.Errorf("the change carries no value for parameter %d", p)
	}
	av, err := encode(v)
	if err != nil {
		return expression.ValueBuilder{}, err
	}
	return expression.Value(av), nil
}
