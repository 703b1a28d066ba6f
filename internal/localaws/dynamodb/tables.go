package dynamodb

import (
	"maps"
	"slices"
)

type (
	tableRequest struct {
		TableName string `json:"TableName"`
	}
	tableAnswer struct {
		Table tableDescription `json:"Table"`
	}
	deletedTableAnswer struct {
		TableDescription tableDescription `json:"TableDescription"`
	}
	listTablesRequest struct {
		ExclusiveStartTableName string `json:"ExclusiveStartTableName"`
		Limit                   *int   `json:"Limit"`
	}
	listTablesAnswer struct {
		TableNames             []string `json:"TableNames"`
		LastEvaluatedTableName string   `json:"LastEvaluatedTableName,omitempty"`
	}
)

// tableDescription is a table as DescribeTable shows it. Times are seconds, as everywhere in this protocol.
type tableDescription struct {
	TableName                 string                `json:"TableName"`
	TableArn                  string                `json:"TableArn"`
	TableId                   string                `json:"TableId"`
	TableStatus               string                `json:"TableStatus"`
	CreationDateTime          float64               `json:"CreationDateTime"`
	AttributeDefinitions      []attributeDefinition `json:"AttributeDefinitions"`
	KeySchema                 []keySchemaElement    `json:"KeySchema"`
	ItemCount                 int                   `json:"ItemCount"`
	TableSizeBytes            int                   `json:"TableSizeBytes"`
	BillingModeSummary        *billingSummary       `json:"BillingModeSummary,omitempty"`
	ProvisionedThroughput     throughputDescription `json:"ProvisionedThroughput"`
	GlobalSecondaryIndexes    []indexDescription    `json:"GlobalSecondaryIndexes,omitempty"`
	StreamSpecification       *streamSpecification  `json:"StreamSpecification,omitempty"`
	LatestStreamArn           string                `json:"LatestStreamArn,omitempty"`
	LatestStreamLabel         string                `json:"LatestStreamLabel,omitempty"`
	DeletionProtectionEnabled bool                  `json:"DeletionProtectionEnabled"`
}

type billingSummary struct {
	BillingMode string `json:"BillingMode"`
}

type throughputDescription struct {
	throughput
	NumberOfDecreasesToday int `json:"NumberOfDecreasesToday"`
}

type indexDescription struct {
	IndexName             string                `json:"IndexName"`
	IndexArn              string                `json:"IndexArn"`
	IndexStatus           string                `json:"IndexStatus"`
	KeySchema             []keySchemaElement    `json:"KeySchema"`
	Projection            projection            `json:"Projection"`
	ProvisionedThroughput throughputDescription `json:"ProvisionedThroughput"`
	ItemCount             int                   `json:"ItemCount"`
	IndexSizeBytes        int                   `json:"IndexSizeBytes"`
}

func (t *table) describe(status string) tableDescription {
	d := tableDescription{
		TableName:                 t.name,
		TableArn:                  t.arn(),
		TableId:                   t.id,
		TableStatus:               status,
		CreationDateTime:          seconds(t.created),
		AttributeDefinitions:      t.definitions,
		KeySchema:                 t.keys.wire(),
		ItemCount:                 t.rows.length,
		TableSizeBytes:            t.bytes,
		ProvisionedThroughput:     describeThroughput(t.capacity),
		DeletionProtectionEnabled: t.protected,
	}
	if t.billing == payPerRequest {
		d.BillingModeSummary = &billingSummary{t.billing}
	}
	for _, x := range t.indexes {
		d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, x.describe(t, status))
	}
	if t.stream != nil {
		d.StreamSpecification = &streamSpecification{StreamEnabled: true, StreamViewType: t.stream.view}
		d.LatestStreamArn, d.LatestStreamLabel = t.stream.arn, t.stream.label
	}
	return d
}

func (x *index) describe(t *table, status string) indexDescription {
	return indexDescription{
		IndexName:             x.name,
		IndexArn:              x.arn(t),
		IndexStatus:           status,
		KeySchema:             x.keys.wire(),
		Projection:            x.projection,
		ProvisionedThroughput: describeThroughput(x.capacity),
		ItemCount:             x.rows.length,
		IndexSizeBytes:        x.bytes,
	}
}

// describeThroughput shows zeros for on-demand tables, as DynamoDB does.
func describeThroughput(c *throughput) throughputDescription {
	if c == nil {
		return throughputDescription{}
	}
	return throughputDescription{throughput: *c}
}

func (e *Engine) describeTable(in tableRequest) (tableAnswer, error) {
	t, err := e.table(in.TableName)
	if err != nil {
		return tableAnswer{}, err
	}
	return tableAnswer{t.describe("ACTIVE")}, nil
}

func (e *Engine) deleteTable(in tableRequest) (deletedTableAnswer, error) {
	t, err := e.table(in.TableName)
	if err != nil {
		return deletedTableAnswer{}, err
	}
	if t.protected {
		return deletedTableAnswer{}, invalid("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	if t.stream != nil {
		t.stream.closed = true
	}
	delete(e.tables, t.name)
	return deletedTableAnswer{t.describe("DELETING")}, nil
}

// maxTablesListed is the page size of ListTables (API reference: 1 to 100, default 100).
const maxTablesListed = 100

func (e *Engine) listTables(in listTablesRequest) (listTablesAnswer, error) {
	limit, err := limitWithin(in.Limit, maxTablesListed)
	if err != nil {
		return listTablesAnswer{}, err
	}
	out := listTablesAnswer{TableNames: []string{}}
	for _, name := range slices.Sorted(maps.Keys(e.tables)) {
		if name <= in.ExclusiveStartTableName {
			continue
		}
		if len(out.TableNames) == limit {
			out.LastEvaluatedTableName = out.TableNames[limit-1]
			break
		}
		out.TableNames = append(out.TableNames, name)
	}
	return out, nil
}

// limitWithin reads an optional page size.
func limitWithin(limit *int, most int) (int, error) {
	if limit == nil {
		return most, nil
	}
	if *limit < 1 || *limit > most {
		return 0, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must be between 1 and %d", *limit, most)
	}
	return *limit, nil
}
