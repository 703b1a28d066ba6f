package dynamodb

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	payPerRequest = "PAY_PER_REQUEST"
	provisioned   = "PROVISIONED"
)

// maxIndexes is the default quota of global secondary indexes for one table (developer guide, "Quotas").
const maxIndexes = 20

type createTableRequest struct {
	TableName                 string                `json:"TableName"`
	AttributeDefinitions      []attributeDefinition `json:"AttributeDefinitions"`
	KeySchema                 []keySchemaElement    `json:"KeySchema"`
	BillingMode               string                `json:"BillingMode"`
	ProvisionedThroughput     *throughput           `json:"ProvisionedThroughput"`
	GlobalSecondaryIndexes    []indexRequest        `json:"GlobalSecondaryIndexes"`
	StreamSpecification       *streamSpecification  `json:"StreamSpecification"`
	DeletionProtectionEnabled bool                  `json:"DeletionProtectionEnabled"`

	// Accepted and without effect: nothing a client reads through the implemented operations depends on them.
	SSESpecification jsontext.Value `json:"SSESpecification"`
	TableClass       string         `json:"TableClass"`
	Tags             jsontext.Value `json:"Tags"`
}

type indexRequest struct {
	IndexName             string             `json:"IndexName"`
	KeySchema             []keySchemaElement `json:"KeySchema"`
	Projection            *projection        `json:"Projection"`
	ProvisionedThroughput *throughput        `json:"ProvisionedThroughput"`
}

type createTableAnswer struct {
	TableDescription tableDescription `json:"TableDescription"`
}

// createTable makes a table that is ACTIVE at once.
func (e *Engine) createTable(in createTableRequest) (createTableAnswer, error) {
	if err := checkName("tableName", in.TableName); err != nil {
		return createTableAnswer{}, err
	}
	if _, exists := e.tables[in.TableName]; exists {
		return createTableAnswer{}, faultf(resourceInUse, "Table already exists: %s", in.TableName)
	}
	t, err := in.table()
	if err != nil {
		return createTableAnswer{}, err
	}
	if err := e.addStream(t, in.StreamSpecification); err != nil {
		return createTableAnswer{}, err
	}
	t.created = e.now()
	t.id = fmt.Sprintf("00000000-0000-4000-8000-%012x", e.next())
	e.tables[t.name] = t
	return createTableAnswer{t.describe("ACTIVE")}, nil
}

// table checks everything about the request that does not depend on other tables.
func (in createTableRequest) table() (*table, error) {
	if err := in.checkBilling(); err != nil {
		return nil, err
	}
	keys, err := readKeySchema(in.KeySchema, in.AttributeDefinitions)
	if err != nil {
		return nil, err
	}
	t := &table{
		name:        in.TableName,
		definitions: in.AttributeDefinitions,
		keys:        keys,
		protected:   in.DeletionProtectionEnabled,
		billing:     in.BillingMode,
		capacity:    in.ProvisionedThroughput,
	}
	if len(in.GlobalSecondaryIndexes) > maxIndexes {
		return nil, badParameter("GlobalSecondaryIndex count exceeds the per-table limit of %d", maxIndexes)
	}
	for _, r := range in.GlobalSecondaryIndexes {
		x, err := in.index(r, t)
		if err != nil {
			return nil, err
		}
		t.indexes = append(t.indexes, x)
	}
	return t, t.checkDefinitions()
}

func (in createTableRequest) checkBilling() error {
	switch in.BillingMode {
	case payPerRequest:
		if in.ProvisionedThroughput != nil {
			return badParameter("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
		}
	case "", provisioned:
		if in.ProvisionedThroughput == nil {
			return badParameter("ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
		}
	default:
		return notOneOf("billingMode", in.BillingMode, []string{provisioned, payPerRequest})
	}
	return nil
}

func (in createTableRequest) index(r indexRequest, t *table) (*index, error) {
	if err := checkName("globalSecondaryIndexes.indexName", r.IndexName); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(t.indexes, func(x *index) bool { return x.name == r.IndexName }) {
		return nil, badParameter("Duplicate index name: %s", r.IndexName)
	}
	keys, err := readKeySchema(r.KeySchema, in.AttributeDefinitions)
	if err != nil {
		return nil, err
	}
	x := &index{name: r.IndexName, keys: keys, capacity: r.ProvisionedThroughput}
	return x, x.setProjection(r.Projection, t.keys)
}

// setProjection works out which attributes the index keeps: always the keys of both.
func (x *index) setProjection(p *projection, primary keySchema) error {
	if p == nil || p.ProjectionType == "" {
		return badParameter("Unknown ProjectionType: null")
	}
	included := p.ProjectionType == "INCLUDE"
	if included != (len(p.NonKeyAttributes) > 0) {
		return badParameter("ProjectionType is %s, and NonKeyAttributes is given: %v; exactly INCLUDE has NonKeyAttributes",
			p.ProjectionType, len(p.NonKeyAttributes) > 0)
	}
	x.projection = *p
	switch p.ProjectionType {
	case "ALL":
		return nil
	case "KEYS_ONLY", "INCLUDE":
	default:
		return notOneOf("projection.projectionType", p.ProjectionType, []string{"ALL", "INCLUDE", "KEYS_ONLY"})
	}
	x.projected = map[string]bool{}
	for _, a := range slices.Concat(primary.all(), x.keys.all()) {
		x.projected[a.name] = true
	}
	for _, name := range p.NonKeyAttributes {
		x.projected[name] = true
	}
	return nil
}

// checkDefinitions refuses a definition that no key uses, which at AWS is the usual sign of a schema half written.
func (t *table) checkDefinitions() error {
	for i, d := range t.definitions {
		if slices.ContainsFunc(t.definitions[:i], func(o attributeDefinition) bool { return o.AttributeName == d.AttributeName }) {
			return badParameter("Duplicate AttributeName in AttributeDefinitions: %s", d.AttributeName)
		}
		used := t.keys.has(d.AttributeName)
		for _, x := range t.indexes {
			used = used || x.keys.has(d.AttributeName)
		}
		if !used {
			return badParameter("Some AttributeDefinitions are not used. AttributeDefinitions: [%s]", d.AttributeName)
		}
	}
	return nil
}

// seconds is a time as the protocol carries it.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
