package dynamodb

import (
	"crypto/sha256"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxTransaction and maxTransactionBytes bound a transaction (API reference, TransactWriteItems).
	maxTransaction      = 100
	maxTransactionBytes = 4 << 20
)

type (
	transactWriteRequest struct {
		ClientRequestToken string              `json:"ClientRequestToken"`
		TransactItems      []transactWriteItem `json:"TransactItems"`
		reporting
	}
	transactWriteItem struct {
		Put            *transactPut    `json:"Put"`
		Update         *transactUpdate `json:"Update"`
		Delete         *transactKey    `json:"Delete"`
		ConditionCheck *transactKey    `json:"ConditionCheck"`
	}
	transactPut struct {
		conditional
		Item attributes `json:"Item"`
	}
	transactUpdate struct {
		conditional
		Key              attributes `json:"Key"`
		UpdateExpression *string    `json:"UpdateExpression"`
	}
	transactKey struct {
		conditional
		Key attributes `json:"Key"`
	}
)

// reason is what became of one member of a cancelled transaction.
type reason struct {
	Code    string     `json:"Code"`
	Message string     `json:"Message,omitempty"`
	Item    attributes `json:"Item,omitempty"`
}

// transactWriteItems is not made with handle, because the token stands for the request as it was sent.
func (e *Engine) transactWriteItems(body []byte) (any, error) {
	var in transactWriteRequest
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if len(in.ClientRequestToken) > maxToken {
		return nil, invalid("1 validation error detected: Value '%s' at 'clientRequestToken' failed to satisfy constraint: Member must have length less than or equal to %d",
			in.ClientRequestToken, maxToken)
	}
	canonical := jsontext.Value(body)
	if err := canonical.Canonicalize(); err != nil {
		return nil, faultf(serialization, "%v", err)
	}
	now := committed{sha256.Sum256(canonical), e.now()}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tokens.forget(now.at)
	done, err := e.tokens.done(in.ClientRequestToken, now.request)
	if err != nil || done {
		return struct{}{}, err
	}
	if err := e.transact(in); err != nil {
		return nil, err
	}
	e.tokens.add(in.ClientRequestToken, now)
	return struct{}{}, nil
}

// transact decides every member and then makes all changes or none.
func (e *Engine) transact(in transactWriteRequest) error {
	writes, tables, err := e.parseTransaction(in)
	if err != nil {
		return err
	}
	changes, err := decideAll(writes, tables)
	if err != nil {
		return err
	}
	for _, c := range changes {
		e.apply(c)
	}
	return nil
}

func (e *Engine) parseTransaction(in transactWriteRequest) ([]write, []*table, error) {
	if err := in.check(); err != nil {
		return nil, nil, err
	}
	if err := checkTransactionLength(len(in.TransactItems)); err != nil {
		return nil, nil, err
	}
	var writes []write
	var tables []*table
	for _, item := range in.TransactItems {
		w, err := item.parse(e)
		if err != nil {
			return nil, nil, err
		}
		t, err := e.table(w.table)
		if err != nil {
			return nil, nil, err
		}
		writes, tables = append(writes, w), append(tables, t)
	}
	return writes, tables, checkDistinct(writes, tables)
}

func checkTransactionLength(n int) error {
	if n < 1 || n > maxTransaction {
		return invalid("1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length between 1 and %d", maxTransaction)
	}
	return nil
}

// parse reads one member, which must be exactly one of the four.
func (m transactWriteItem) parse(e *Engine) (write, error) {
	given := 0
	for _, set := range []bool{m.Put != nil, m.Update != nil, m.Delete != nil, m.ConditionCheck != nil} {
		if set {
			given++
		}
	}
	if given != 1 {
		return write{}, invalid("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	var w write
	var err error
	switch {
	case m.Put != nil:
		w, err = m.Put.parse(e, verbPut, nil)
		w.item = m.Put.Item
	case m.Update != nil:
		w, err = m.Update.parse(e)
	case m.Delete != nil:
		w, err = m.Delete.parse(e, verbDelete, nil)
		w.key = m.Delete.Key
	default:
		w, err = m.ConditionCheck.parse(e, verbCheck, nil)
		w.key = m.ConditionCheck.Key
		if err == nil && w.condition == nil {
			err = missing("transactItems.conditionCheck.conditionExpression")
		}
	}
	return w, err
}

func (m transactUpdate) parse(e *Engine) (write, error) {
	if m.UpdateExpression == nil {
		return write{}, missing("transactItems.update.updateExpression")
	}
	w, err := m.conditional.parse(e, verbUpdate, m.UpdateExpression)
	w.key = m.Key
	return w, err
}

// missing complains about a required parameter.
func missing(field string) error {
	return invalid("1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", field)
}

// checkDistinct refuses two members about one item. A member without a readable key gets its own reason later.
func checkDistinct(writes []write, tables []*table) error {
	seen := map[string]bool{}
	for i, w := range writes {
		code, err := w.code(tables[i])
		if err != nil {
			continue
		}
		id := tables[i].name + "/" + code
		if seen[id] {
			return invalid("Transaction request cannot include multiple operations on one item")
		}
		seen[id] = true
	}
	return nil
}

// decideAll decides each member by what stands in the tables before the transaction, and collects one reason for each.
func decideAll(writes []write, tables []*table) ([]change, error) {
	var changes []change
	reasons := make([]reason, len(writes))
	cancelled, bytes := false, 0
	for i, w := range writes {
		c, err := w.decide(tables[i])
		bytes += c.after.size()
		if err != nil {
			cancelled = true
			reasons[i] = reasonOf(err)
			continue
		}
		reasons[i] = reason{Code: "None"}
		if w.verb != verbCheck {
			changes = append(changes, c)
		}
	}
	switch {
	case cancelled:
		return nil, cancellation(reasons)
	case bytes > maxTransactionBytes:
		return nil, invalid("Collective item size has exceeded the maximum allowed size of %d bytes", maxTransactionBytes)
	}
	return changes, nil
}

// reasonOf translates what a single write would have answered. Validation that depends on tables or items cancels the
// transaction (API reference, TransactWriteItems, "Cancellation reason codes").
func reasonOf(err error) reason {
	f, ok := errors.AsType[*fault](err)
	switch {
	case ok && f.code == conditionFailed:
		return reason{Code: "ConditionalCheckFailed", Message: f.message, Item: f.item}
	case ok:
		return reason{Code: "ValidationError", Message: f.message}
	}
	return reason{Code: "ValidationError", Message: err.Error()}
}

func cancellation(reasons []reason) error {
	var codes []string
	for _, r := range reasons {
		codes = append(codes, r.Code)
	}
	f := faultf(transactionCancelled, "Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", "))
	f.reasons = reasons
	return f
}
