package dynamodb

type (
	// searchRequest is what Query and Scan have in common.
	searchRequest struct {
		TableName              string     `json:"TableName"`
		IndexName              *string    `json:"IndexName"`
		FilterExpression       *string    `json:"FilterExpression"`
		ProjectionExpression   *string    `json:"ProjectionExpression"`
		Select                 string     `json:"Select"`
		Limit                  *int       `json:"Limit"`
		ExclusiveStartKey      attributes `json:"ExclusiveStartKey"`
		ConsistentRead         bool       `json:"ConsistentRead"`
		ReturnConsumedCapacity string     `json:"ReturnConsumedCapacity"`
		expressionParameters
	}
	queryRequest struct {
		searchRequest
		KeyConditionExpression *string `json:"KeyConditionExpression"`
		ScanIndexForward       *bool   `json:"ScanIndexForward"`
	}
	scanRequest struct {
		searchRequest
	}
	searchAnswer struct {
		Items            []attributes `json:"Items,omitzero"`
		Count            int          `json:"Count"`
		ScannedCount     int          `json:"ScannedCount"`
		LastEvaluatedKey attributes   `json:"LastEvaluatedKey,omitempty"`
	}
)

// query walks the rows of one partition in the order of the sort key.
func (e *Engine) query(in queryRequest) (searchAnswer, error) {
	s, b, err := e.search(in.searchRequest)
	if err != nil {
		return searchAnswer{}, err
	}
	if in.KeyConditionExpression == nil {
		return searchAnswer{}, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	c, err := b.condition("KeyConditionExpression", *in.KeyConditionExpression)
	if err != nil {
		return searchAnswer{}, err
	}
	if err := b.finish(); err != nil {
		return searchAnswer{}, err
	}
	keys, err := s.keys().condition(c)
	if err != nil {
		return searchAnswer{}, err
	}
	if err := s.filterLeavesKeys(); err != nil {
		return searchAnswer{}, err
	}
	s.within = keys.within
	s.descending = in.ScanIndexForward != nil && !*in.ScanIndexForward
	return s.page(in.ExclusiveStartKey)
}

// scan walks all rows of a table or index.
func (e *Engine) scan(in scanRequest) (searchAnswer, error) {
	s, b, err := e.search(in.searchRequest)
	if err != nil {
		return searchAnswer{}, err
	}
	if err := b.finish(); err != nil {
		return searchAnswer{}, err
	}
	return s.page(in.ExclusiveStartKey)
}

// search checks the common parameters and prepares the walk.
func (e *Engine) search(in searchRequest) (*search, *bindings, error) {
	if err := (reporting{ReturnConsumedCapacity: in.ReturnConsumedCapacity}).check(); err != nil {
		return nil, nil, err
	}
	b, err := e.bind(in.expressionParameters)
	if err != nil {
		return nil, nil, err
	}
	s := &search{}
	if s.filter, err = b.optionalCondition("FilterExpression", in.FilterExpression); err != nil {
		return nil, nil, err
	}
	if s.paths, err = b.projectionPaths(in.ProjectionExpression); err != nil {
		return nil, nil, err
	}
	if s.table, err = e.table(in.TableName); err != nil {
		return nil, nil, err
	}
	if err := s.choose(in); err != nil {
		return nil, nil, err
	}
	return s, b, s.checkSelect(in)
}

// choose finds the index and the page size.
func (s *search) choose(in searchRequest) error {
	if in.Limit != nil {
		if s.limit = *in.Limit; s.limit < 1 {
			return invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1", s.limit)
		}
	}
	if in.IndexName == nil {
		return nil
	}
	var err error
	if s.index, err = s.table.index(*in.IndexName); err != nil {
		return err
	}
	if in.ConsistentRead {
		return invalid("Consistent reads are not supported on global secondary indexes")
	}
	return nil
}

// checkSelect refuses combinations that ask for nothing definite, and attributes an index does not have: DynamoDB does not
// fetch them from the table for a global index (developer guide, "Using global secondary indexes").
func (s *search) checkSelect(in searchRequest) error {
	switch in.Select {
	case "", "SPECIFIC_ATTRIBUTES":
		if in.Select != "" && s.paths == nil {
			return invalid("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
		}
	case "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES":
		if s.paths != nil {
			return invalid("Cannot specify the ProjectionExpression when choosing to get %s", in.Select)
		}
	default:
		return notOneOf("select", in.Select, []string{"SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"})
	}
	s.countOnly = in.Select == "COUNT"
	if s.index == nil {
		if in.Select == "ALL_PROJECTED_ATTRIBUTES" {
			return invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
		}
		return nil
	}
	if in.Select == "ALL_ATTRIBUTES" && s.index.projected != nil {
		return badParameter("Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", s.index.name)
	}
	return s.checkProjected()
}

func (s *search) checkProjected() error {
	if s.index.projected == nil {
		return nil
	}
	for _, p := range s.paths {
		if !s.index.projected[p[0].name] {
			return badParameter("Global secondary index %s does not project [%s]", s.index.name, p[0].name)
		}
	}
	return nil
}

// filterLeavesKeys refuses a query's filter on the key: the key condition is the place for it.
func (s *search) filterLeavesKeys() error {
	for _, p := range pathsIn(s.filter) {
		if s.keys().has(p[0].name) {
			return invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", p[0].name)
		}
	}
	return nil
}
