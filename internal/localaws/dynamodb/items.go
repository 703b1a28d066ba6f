package dynamodb

type (
	getItemRequest struct {
		TableName                string            `json:"TableName"`
		Key                      attributes        `json:"Key"`
		ConsistentRead           bool              `json:"ConsistentRead"` // every read is consistent here
		ProjectionExpression     *string           `json:"ProjectionExpression"`
		ExpressionAttributeNames map[string]string `json:"ExpressionAttributeNames"`
		ReturnConsumedCapacity   string            `json:"ReturnConsumedCapacity"`
	}
	getItemAnswer struct {
		Item attributes `json:"Item,omitzero"`
	}
	putItemRequest struct {
		conditional
		reporting
		Item         attributes `json:"Item"`
		ReturnValues string     `json:"ReturnValues"`
	}
	updateItemRequest struct {
		conditional
		reporting
		Key              attributes `json:"Key"`
		UpdateExpression *string    `json:"UpdateExpression"`
		ReturnValues     string     `json:"ReturnValues"`
	}
	deleteItemRequest struct {
		conditional
		reporting
		Key          attributes `json:"Key"`
		ReturnValues string     `json:"ReturnValues"`
	}
	writeItemAnswer struct {
		Attributes attributes `json:"Attributes,omitempty"`
	}
)

func (e *Engine) getItem(in getItemRequest) (getItemAnswer, error) {
	if err := (reporting{ReturnConsumedCapacity: in.ReturnConsumedCapacity}).check(); err != nil {
		return getItemAnswer{}, err
	}
	item, err := e.read(in.TableName, in.Key, in.ProjectionExpression, in.ExpressionAttributeNames)
	return getItemAnswer{item}, err
}

// read is one read by key, alone, in a batch or in a transaction.
func (e *Engine) read(tableName string, key attributes, projection *string, names map[string]string) (attributes, error) {
	b, err := e.bind(expressionParameters{ExpressionAttributeNames: names})
	if err != nil {
		return nil, err
	}
	paths, err := b.projectionPaths(projection)
	if err != nil {
		return nil, err
	}
	if err := b.finish(); err != nil {
		return nil, err
	}
	t, err := e.table(tableName)
	if err != nil {
		return nil, err
	}
	code, err := t.keyCode(key)
	if err != nil || paths == nil {
		return t.get(code), err
	}
	return project(t.get(code), paths), nil
}

func (e *Engine) putItem(in putItemRequest) (writeItemAnswer, error) {
	w, err := in.parse(e, verbPut, nil)
	w.item = in.Item
	return e.writeItem(w, err, in.reporting, in.ReturnValues)
}

func (e *Engine) updateItem(in updateItemRequest) (writeItemAnswer, error) {
	w, err := in.parse(e, verbUpdate, in.UpdateExpression)
	w.key = in.Key
	return e.writeItem(w, err, in.reporting, in.ReturnValues)
}

func (e *Engine) deleteItem(in deleteItemRequest) (writeItemAnswer, error) {
	w, err := in.parse(e, verbDelete, nil)
	w.key = in.Key
	return e.writeItem(w, err, in.reporting, in.ReturnValues)
}

func (e *Engine) writeItem(w write, parsed error, r reporting, returnValues string) (writeItemAnswer, error) {
	if err := r.check(); err != nil {
		return writeItemAnswer{}, err
	}
	if err := checkReturnValues(returnValues, w.verb == verbUpdate); err != nil {
		return writeItemAnswer{}, err
	}
	if parsed != nil {
		return writeItemAnswer{}, parsed
	}
	c, err := e.commit(w)
	if err != nil {
		return writeItemAnswer{}, err
	}
	return writeItemAnswer{c.returned(returnValues, w.update)}, nil
}
