package dynamodb

import (
	"slices"
	"strings"
)

// Wire types of a table's description, shared by requests and answers.
type (
	attributeDefinition struct {
		AttributeName string `json:"AttributeName"`
		AttributeType kind   `json:"AttributeType"`
	}
	keySchemaElement struct {
		AttributeName string `json:"AttributeName"`
		KeyType       string `json:"KeyType"`
	}
	projection struct {
		ProjectionType   string   `json:"ProjectionType,omitempty"`
		NonKeyAttributes []string `json:"NonKeyAttributes,omitempty"`
	}
	throughput struct {
		ReadCapacityUnits  int64 `json:"ReadCapacityUnits"`
		WriteCapacityUnits int64 `json:"WriteCapacityUnits"`
	}
)

// attribute is a key attribute with the type its values must have.
type attribute struct {
	name string
	kind kind
}

// keySchema is a partition key and perhaps a sort key.
type keySchema struct {
	partition attribute
	sort      *attribute
}

// all lists the key attributes, partition first.
func (k keySchema) all() []attribute {
	if k.sort == nil {
		return []attribute{k.partition}
	}
	return []attribute{k.partition, *k.sort}
}

func (k keySchema) has(name string) bool {
	return slices.ContainsFunc(k.all(), func(a attribute) bool { return a.name == name })
}

// of is the part of an item that is its key.
func (k keySchema) of(item attributes) attributes {
	key := attributes{}
	for _, a := range k.all() {
		if v, ok := item[a.name]; ok {
			key[a.name] = v
		}
	}
	return key
}

// complete tells whether an item has every key attribute. In an index that decides whether it is there at all.
func (k keySchema) complete(item attributes) bool { return len(k.of(item)) == len(k.all()) }

// code is the key code of an item that has the key attributes.
func (k keySchema) code(item attributes) string {
	code := partitionCode(item[k.partition.name])
	if k.sort != nil {
		code += keyCode(item[k.sort.name])
	}
	return code
}

// wire is the schema as DescribeTable shows it.
func (k keySchema) wire() []keySchemaElement {
	out := []keySchemaElement{{k.partition.name, "HASH"}}
	if k.sort != nil {
		out = append(out, keySchemaElement{k.sort.name, "RANGE"})
	}
	return out
}

// readKeySchema checks a schema against the attribute definitions.
func readKeySchema(elements []keySchemaElement, definitions []attributeDefinition) (keySchema, error) {
	var k keySchema
	if len(elements) == 0 || len(elements) > 2 {
		return k, invalid("1 validation error detected: Value at 'keySchema' failed to satisfy constraint: Member must have length between 1 and 2")
	}
	for i, e := range elements {
		if want := []string{"HASH", "RANGE"}[i]; e.KeyType != want {
			return k, invalid("Invalid KeySchema: element %d must have the key type %s, not %q", i+1, want, e.KeyType)
		}
		a, err := define(e.AttributeName, definitions)
		if err != nil {
			return k, err
		}
		if i == 0 {
			k.partition = a
		} else {
			k.sort = &a
		}
	}
	if k.sort != nil && k.sort.name == k.partition.name {
		return k, invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	}
	return k, nil
}

// define finds the type of a key attribute.
func define(name string, definitions []attributeDefinition) (attribute, error) {
	for _, d := range definitions {
		if d.AttributeName != name {
			continue
		}
		if !d.AttributeType.ordered() {
			return attribute{}, notOneOf("attributeDefinitions.attributeType", string(d.AttributeType), []string{"B", "N", "S"})
		}
		return attribute{name, d.AttributeType}, nil
	}
	return attribute{}, badParameter("Some index key attributes are not defined in AttributeDefinitions. Keys: [%s]", name)
}

// checkName applies the rule for names of tables and indexes (developer guide, "Naming rules").
func checkName(field, name string) error {
	const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	if len(name) < 3 || len(name) > 255 || strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(alphabet, r) }) {
		return invalid("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: "+
			"Member must be 3 to 255 characters of [a-zA-Z0-9_.-]", name, field)
	}
	return nil
}
