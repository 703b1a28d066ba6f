package dynamodb

// Bounds of the batch operations (API reference).
const (
	maxBatchWrite = 25
	maxBatchGet   = 100
)

type (
	batchWriteRequest struct {
		RequestItems map[string][]batchWriteItem `json:"RequestItems"`
		reporting
	}
	batchWriteItem struct {
		PutRequest *struct {
			Item attributes `json:"Item"`
		} `json:"PutRequest"`
		DeleteRequest *struct {
			Key attributes `json:"Key"`
		} `json:"DeleteRequest"`
	}
	batchWriteAnswer struct {
		UnprocessedItems map[string][]batchWriteItem `json:"UnprocessedItems"`
	}
	batchGetRequest struct {
		RequestItems           map[string]batchGetTable `json:"RequestItems"`
		ReturnConsumedCapacity string                   `json:"ReturnConsumedCapacity"`
	}
	batchGetTable struct {
		Keys                     []attributes      `json:"Keys"`
		ConsistentRead           bool              `json:"ConsistentRead"`
		ProjectionExpression     *string           `json:"ProjectionExpression"`
		ExpressionAttributeNames map[string]string `json:"ExpressionAttributeNames"`
	}
	batchGetAnswer struct {
		Responses       map[string][]attributes  `json:"Responses"`
		UnprocessedKeys map[string]batchGetTable `json:"UnprocessedKeys"`
	}
)

// batchWriteItem puts and deletes without conditions. Everything is checked before anything is written, and nothing is
// ever left unprocessed.
func (e *Engine) batchWriteItem(in batchWriteRequest) (batchWriteAnswer, error) {
	if err := in.check(); err != nil {
		return batchWriteAnswer{}, err
	}
	changes, err := e.batchChanges(in.RequestItems)
	if err != nil {
		return batchWriteAnswer{}, err
	}
	for _, c := range changes {
		e.apply(c)
	}
	return batchWriteAnswer{UnprocessedItems: map[string][]batchWriteItem{}}, nil
}

func (e *Engine) batchChanges(requests map[string][]batchWriteItem) ([]change, error) {
	var changes []change
	seen := map[string]bool{}
	for name, items := range requests {
		t, err := e.table(name)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			w, err := item.write()
			if err != nil {
				return nil, err
			}
			c, err := w.decide(t)
			if err != nil {
				return nil, err
			}
			if id := name + "/" + c.code; seen[id] {
				return nil, invalid("Provided list of item keys contains duplicates")
			} else {
				seen[id] = true
			}
			changes = append(changes, c)
		}
	}
	if len(changes) < 1 || len(changes) > maxBatchWrite {
		return nil, invalid("1 validation error detected: Value at 'requestItems' failed to satisfy constraint: Member must have length between 1 and %d", maxBatchWrite)
	}
	return changes, nil
}

func (b batchWriteItem) write() (write, error) {
	switch {
	case (b.PutRequest == nil) == (b.DeleteRequest == nil):
		return write{}, invalid("Supplied AttributeValue has more than one datatypes set, or none: exactly one of PutRequest and DeleteRequest is allowed")
	case b.PutRequest != nil:
		return write{verb: verbPut, item: b.PutRequest.Item}, nil
	}
	return write{verb: verbDelete, key: b.DeleteRequest.Key}, nil
}

func (e *Engine) batchGetItem(in batchGetRequest) (batchGetAnswer, error) {
	if err := (reporting{ReturnConsumedCapacity: in.ReturnConsumedCapacity}).check(); err != nil {
		return batchGetAnswer{}, err
	}
	out := batchGetAnswer{Responses: map[string][]attributes{}, UnprocessedKeys: map[string]batchGetTable{}}
	count := 0
	for name, r := range in.RequestItems {
		out.Responses[name] = []attributes{}
		for _, key := range r.Keys {
			count++
			item, err := e.read(name, key, r.ProjectionExpression, r.ExpressionAttributeNames)
			if err != nil {
				return batchGetAnswer{}, err
			}
			if item != nil {
				out.Responses[name] = append(out.Responses[name], item)
			}
		}
	}
	if count < 1 || count > maxBatchGet {
		return batchGetAnswer{}, invalid("1 validation error detected: Value at 'requestItems' failed to satisfy constraint: Member must have between 1 and %d keys", maxBatchGet)
	}
	return out, nil
}
