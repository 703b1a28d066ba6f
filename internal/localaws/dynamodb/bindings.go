package dynamodb

import (
	"maps"
	"slices"
	"strings"
)

// expressionParameters are what every request with expressions may carry.
type expressionParameters struct {
	ExpressionAttributeNames  map[string]string `json:"ExpressionAttributeNames"`
	ExpressionAttributeValues attributes        `json:"ExpressionAttributeValues"`
}

// bindings are the names and values all expressions of one request share; each must be used by one of them.
type bindings struct {
	names      map[string]string
	values     attributes
	reserved   map[string]bool
	usedNames  map[string]bool
	usedValues map[string]bool
	any        bool // some expression was given
}

func (e *Engine) bind(in expressionParameters) (*bindings, error) {
	b := &bindings{
		names:      in.ExpressionAttributeNames,
		values:     in.ExpressionAttributeValues,
		reserved:   e.reserved,
		usedNames:  map[string]bool{},
		usedValues: map[string]bool{},
	}
	if err := checkAliases("ExpressionAttributeNames", "#", b.names); err != nil {
		return nil, err
	}
	if err := checkAliases("ExpressionAttributeValues", ":", b.values); err != nil {
		return nil, err
	}
	return b, nil
}

func checkAliases[V any](field, sign string, m map[string]V) error {
	if m != nil && len(m) == 0 {
		return invalid("%s must not be empty", field)
	}
	for alias := range m {
		name, ok := strings.CutPrefix(alias, sign)
		if !ok || name == "" || leading(name, letters+digits+"_") < len(name) {
			return invalid(`%s contains invalid key: Syntax error; key: "%s"`, field, alias)
		}
	}
	return nil
}

// finish is called when every expression has been parsed, and refuses names and values that none of them used: they
// are mostly the remains of a condition somebody meant to keep.
func (b *bindings) finish() error {
	if !b.any && b.names != nil {
		return invalid("ExpressionAttributeNames can only be specified when using expressions")
	}
	if !b.any && b.values != nil {
		return invalid("ExpressionAttributeValues can only be specified when using expressions")
	}
	if err := unused("ExpressionAttributeNames", b.names, b.usedNames); err != nil {
		return err
	}
	return unused("ExpressionAttributeValues", b.values, b.usedValues)
}

func unused[V any](field string, given map[string]V, used map[string]bool) error {
	var left []string
	for _, alias := range slices.Sorted(maps.Keys(given)) {
		if !used[alias] {
			left = append(left, alias)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return invalid("Value provided in %s unused in expressions: keys: {%s}", field, strings.Join(left, ", "))
}
