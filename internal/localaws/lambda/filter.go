package lambda

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Filter is one pattern of an event source mapping's FilterCriteria (Lambda developer guide, "Control which
// events Lambda sends to your function"). It knows nested objects, exact strings, numbers, booleans and null,
// and the operators exists, prefix and anything-but; any other operator is an error of [NewFilter].
type Filter struct{ root objectPattern }

// pattern decides about one value; present is false where the record has no such field.
type pattern interface {
	matches(value any, present bool) bool
}

// objectPattern matches when every named field does.
type objectPattern map[string]pattern

// choices are alternatives for one value: any of them is enough.
type choices []pattern

// NewFilter reads a pattern.
func NewFilter(text string) (*Filter, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var raw map[string]any
	if err := decoder.Decode(&raw); err != nil {
		return nil, fmt.Errorf("filter pattern: must be a JSON object: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("filter pattern: must be one JSON object, has more behind it")
	}
	root, err := parseObject("", raw)
	if err != nil {
		return nil, fmt.Errorf("filter pattern: %w", err)
	}
	return &Filter{root: root}, nil
}

// Matches says whether the record, as the JSON that the function would see, passes.
func (f *Filter) Matches(record []byte) (bool, error) {
	decoder := json.NewDecoder(bytes.NewReader(record))
	decoder.UseNumber()
	var value map[string]any
	if err := decoder.Decode(&value); err != nil {
		return false, fmt.Errorf("filter record: %w", err)
	}
	return f.root.matches(value, true), nil
}

func parseObject(path string, raw map[string]any) (objectPattern, error) {
	if len(raw) == 0 {
		return nil, fmt.Errorf("%s: an object needs at least one field", orRoot(path))
	}
	parsed := make(objectPattern, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		p, err := parseField(at, raw[name])
		if err != nil {
			return nil, err
		}
		parsed[name] = p
	}
	return parsed, nil
}

func orRoot(path string) string {
	if path == "" {
		return "the pattern"
	}
	return path
}

func parseField(path string, raw any) (pattern, error) {
	switch raw := raw.(type) {
	case map[string]any:
		return parseObject(path, raw)
	case []any:
		return parseChoices(path, raw)
	default:
		return nil, fmt.Errorf("%s: must be an object or a list of alternatives, is %v", path, raw)
	}
}

func parseChoices(path string, raw []any) (pattern, error) {
	if len(raw) == 0 {
		return nil, fmt.Errorf("%s: a list needs at least one alternative", path)
	}
	var parsed choices
	for _, alternative := range raw {
		operator, ok := alternative.(map[string]any)
		if !ok {
			if _, isList := alternative.([]any); isList {
				return nil, fmt.Errorf("%s: a list within a list is no alternative", path)
			}
			parsed = append(parsed, exactly{alternative})
			continue
		}
		p, err := parseOperator(path, operator)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, p)
	}
	return parsed, nil
}

func parseOperator(path string, raw map[string]any) (pattern, error) {
	if len(raw) != 1 {
		return nil, fmt.Errorf("%s: an operator is an object with one field, has %d", path, len(raw))
	}
	for name, operand := range raw {
		switch name {
		case "exists":
			if wanted, ok := operand.(bool); ok {
				return exists(wanted), nil
			}
			return nil, fmt.Errorf("%s: exists takes true or false, not %v", path, operand)
		case "prefix":
			if wanted, ok := operand.(string); ok {
				return prefix(wanted), nil
			}
			return nil, fmt.Errorf("%s: prefix takes a string, not %v", path, operand)
		case "anything-but":
			return parseAnythingBut(path, operand)
		default:
			return nil, fmt.Errorf("%s: operator %q is not supported here, only anything-but, exists and prefix", path, name)
		}
	}
	panic("unreachable: one field was counted")
}

func parseAnythingBut(path string, operand any) (pattern, error) {
	list, ok := operand.([]any)
	if !ok {
		list = []any{operand}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: anything-but needs at least one value", path)
	}
	for _, value := range list {
		switch value.(type) {
		case string, json.Number:
		default:
			return nil, fmt.Errorf("%s: anything-but takes strings and numbers, not %v", path, value)
		}
	}
	return anythingBut(list), nil
}

func (o objectPattern) matches(value any, _ bool) bool {
	object, _ := value.(map[string]any) // of another value, every field is absent
	for name, p := range o {
		field, present := object[name]
		if !p.matches(field, present) {
			return false
		}
	}
	return true
}

// matches tries a list of the record element by element, as EventBridge patterns do.
func (c choices) matches(value any, present bool) bool {
	if list, ok := value.([]any); ok && len(list) > 0 {
		return slices.ContainsFunc(list, func(element any) bool { return c.matchesOne(element, present) })
	}
	return c.matchesOne(value, present)
}

func (c choices) matchesOne(value any, present bool) bool {
	return slices.ContainsFunc(c, func(p pattern) bool { return p.matches(value, present) })
}

type exactly struct{ wanted any }

func (e exactly) matches(value any, present bool) bool { return present && same(e.wanted, value) }

// exists is about leaves: of an object it is as false as of nothing.
type exists bool

func (e exists) matches(value any, present bool) bool {
	_, isObject := value.(map[string]any)
	return bool(e) == (present && !isObject)
}

type prefix string

func (p prefix) matches(value any, _ bool) bool {
	text, ok := value.(string)
	return ok && strings.HasPrefix(text, string(p))
}

// anythingBut wants a value that is none of its own; an absent field has none.
type anythingBut []any

func (a anythingBut) matches(value any, present bool) bool {
	return present && !slices.ContainsFunc(a, func(unwanted any) bool { return same(unwanted, value) })
}

// same compares scalars; numbers by value, since 1, 1.0 and 1e0 are one number.
func same(a, b any) bool {
	na, aIsNumber := a.(json.Number)
	nb, bIsNumber := b.(json.Number)
	if aIsNumber && bIsNumber {
		fa, errA := na.Float64()
		fb, errB := nb.Float64()
		return errA == nil && errB == nil && fa == fb
	}
	switch b.(type) {
	case map[string]any, []any:
		return false // not comparable, and never a scalar
	}
	return a == b
}
