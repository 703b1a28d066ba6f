package dynamodb

type (
	transactGetRequest struct {
		TransactItems          []transactGetItem `json:"TransactItems"`
		ReturnConsumedCapacity string            `json:"ReturnConsumedCapacity"`
	}
	transactGetItem struct {
		Get *transactGet `json:"Get"`
	}
	transactGet struct {
		TableName                string            `json:"TableName"`
		Key                      attributes        `json:"Key"`
		ProjectionExpression     *string           `json:"ProjectionExpression"`
		ExpressionAttributeNames map[string]string `json:"ExpressionAttributeNames"`
	}
	transactGetAnswer struct {
		Responses []getItemAnswer `json:"Responses"`
	}
)

// transactGetItems reads all items at one moment, which the engine's mutex makes of any read.
func (e *Engine) transactGetItems(in transactGetRequest) (transactGetAnswer, error) {
	if err := (reporting{ReturnConsumedCapacity: in.ReturnConsumedCapacity}).check(); err != nil {
		return transactGetAnswer{}, err
	}
	if err := checkTransactionLength(len(in.TransactItems)); err != nil {
		return transactGetAnswer{}, err
	}
	var out transactGetAnswer
	for _, m := range in.TransactItems {
		if m.Get == nil {
			return transactGetAnswer{}, missing("transactItems.get")
		}
		item, err := e.read(m.Get.TableName, m.Get.Key, m.Get.ProjectionExpression, m.Get.ExpressionAttributeNames)
		if err != nil {
			return transactGetAnswer{}, err
		}
		out.Responses = append(out.Responses, getItemAnswer{item})
	}
	return out, nil
}
