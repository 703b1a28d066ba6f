package dynamodb

import "slices"

// verb is what a write does.
type verb int

const (
	verbPut verb = iota
	verbUpdate
	verbDelete
	verbCheck
)

// write is one parsed write request: what it wants, independent of what the table holds.
type write struct {
	verb      verb
	table     string
	item      attributes // verbPut
	key       attributes // the others
	update    update
	condition condition // nil without one
	allOld    bool      // a refusal carries the item that refused
}

// change is one decided write: what stands under a key, and what will.
type change struct {
	table  *table
	code   string
	before attributes // nil when absent
	after  attributes // nil when removed
	author *identity  // nil for a client
}

// conditional are the parameters that all single writes and the members of a transaction share.
type conditional struct {
	TableName                           string  `json:"TableName"`
	ConditionExpression                 *string `json:"ConditionExpression"`
	ReturnValuesOnConditionCheckFailure string  `json:"ReturnValuesOnConditionCheckFailure"`
	expressionParameters
}

// parse reads the expressions of a write. Whatever is wrong here is wrong with the request alone, so in a transaction it
// refuses the whole request rather than cancelling the transaction.
func (in conditional) parse(e *Engine, v verb, updateExpression *string) (write, error) {
	w := write{verb: v, table: in.TableName}
	switch in.ReturnValuesOnConditionCheckFailure {
	case "", "NONE":
	case "ALL_OLD":
		w.allOld = true
	default:
		return w, notOneOf("returnValuesOnConditionCheckFailure", in.ReturnValuesOnConditionCheckFailure, []string{"ALL_OLD", "NONE"})
	}
	b, err := e.bind(in.expressionParameters)
	if err != nil {
		return w, err
	}
	if updateExpression != nil {
		if w.update, err = b.update(*updateExpression); err != nil {
			return w, err
		}
	}
	if w.condition, err = b.optionalCondition("ConditionExpression", in.ConditionExpression); err != nil {
		return w, err
	}
	return w, b.finish()
}

// code checks the key the write is about.
func (w write) code(t *table) (string, error) {
	if w.verb == verbPut {
		return t.itemCode(w.item)
	}
	return t.keyCode(w.key)
}

// decide works out the change without making it. All writes of a transaction are decided before the first is made.
func (w write) decide(t *table) (change, error) {
	code, err := w.code(t)
	if err != nil {
		return change{}, err
	}
	if w.verb == verbPut {
		if err := t.checkItem(w.item, false); err != nil {
			return change{}, err
		}
	}
	if err := w.keepsKey(t); err != nil {
		return change{}, err
	}
	c := change{table: t, code: code, before: t.get(code)}
	if w.condition != nil && !w.condition.holds(c.before) {
		return change{}, w.refusal(c.before)
	}
	c.after, err = w.result(c.before)
	if err == nil && w.verb == verbUpdate {
		err = t.checkItem(c.after, true)
	}
	return c, err
}

func (w write) refusal(item attributes) error {
	f := faultf(conditionFailed, "The conditional request failed")
	if w.allOld {
		f.item = item
	}
	return f
}

// keepsKey refuses an update of a key attribute, whatever its new value would be.
func (w write) keepsKey(t *table) error {
	for _, p := range w.update.paths() {
		if t.keys.has(p[0].name) {
			return badParameter("Cannot update attribute %s. This attribute is part of the key", p[0].name)
		}
	}
	return nil
}

// result is the item after the write.
func (w write) result(before attributes) (attributes, error) {
	switch w.verb {
	case verbPut:
		return w.item, nil
	case verbDelete:
		return nil, nil
	case verbCheck:
		return before, nil
	}
	start := before
	if start == nil { // an update of nothing begins with the key
		start = w.key
	}
	return w.update.apply(start)
}

// apply makes a change and leaves its stream record. A change that changes nothing leaves none, which is why a wake needs
// a new value each time (developer guide, "Change data capture for DynamoDB Streams").
func (e *Engine) apply(c change) {
	if (c.before == nil) == (c.after == nil) && c.before.equal(c.after) {
		return
	}
	c.table.store(c.code, c.after)
	if c.table.stream != nil {
		e.record(c)
	}
}

// commit decides and applies a single write.
func (e *Engine) commit(w write) (change, error) {
	t, err := e.table(w.table)
	if err != nil {
		return change{}, err
	}
	c, err := w.decide(t)
	if err != nil {
		return change{}, err
	}
	e.apply(c)
	return c, nil
}

// returned picks the attributes a write answers with.
func (c change) returned(mode string, u update) attributes {
	switch mode {
	case "ALL_OLD":
		return c.before
	case "ALL_NEW":
		return c.after
	case "UPDATED_OLD":
		return projectUpdated(c.before, u)
	case "UPDATED_NEW":
		return projectUpdated(c.after, u)
	}
	return nil
}

func projectUpdated(item attributes, u update) attributes {
	paths := u.paths()
	if len(paths) == 0 {
		return nil
	}
	return project(item, paths)
}

// checkReturnValues allows what the operation can return; only an update knows the new item.
func checkReturnValues(mode string, updates bool) error {
	all := []string{"NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"}
	switch {
	case mode == "":
		return nil
	case !slices.Contains(all, mode):
		return notOneOf("returnValues", mode, all)
	case !updates && mode != "NONE" && mode != "ALL_OLD":
		return invalid("Return values set to invalid value: %s; allowed: ALL_OLD, NONE", mode)
	}
	return nil
}

// reporting are parameters about what a request cost; only the values that ask for nothing are implemented.
type reporting struct {
	ReturnConsumedCapacity      string `json:"ReturnConsumedCapacity"`
	ReturnItemCollectionMetrics string `json:"ReturnItemCollectionMetrics"`
}

func (r reporting) check() error {
	if r.ReturnConsumedCapacity != "" && r.ReturnConsumedCapacity != "NONE" {
		return invalid("parameter ReturnConsumedCapacity=%s is not implemented by the local DynamoDB; allowed: NONE", r.ReturnConsumedCapacity)
	}
	if r.ReturnItemCollectionMetrics != "" && r.ReturnItemCollectionMetrics != "NONE" {
		return invalid("parameter ReturnItemCollectionMetrics=%s is not implemented by the local DynamoDB; allowed: NONE", r.ReturnItemCollectionMetrics)
	}
	return nil
}
