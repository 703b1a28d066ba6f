package dynamodb

import (
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// wireValue is an attribute value as it travels: an object of which exactly one member may be there.
type wireValue struct {
	S    *string    `json:"S"`
	N    *string    `json:"N"`
	B    *string    `json:"B"`
	BOOL *bool      `json:"BOOL"`
	NULL *bool      `json:"NULL"`
	SS   []string   `json:"SS"`
	NS   []string   `json:"NS"`
	BS   []string   `json:"BS"`
	L    []value    `json:"L"`
	M    attributes `json:"M"`
}

// UnmarshalJSONFrom reads a value and everything that makes it invalid by itself, whatever it is used for.
func (v *value) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var w wireValue
	if err := json.UnmarshalDecode(dec, &w); err != nil {
		return err
	}
	found, err := w.only()
	if err != nil {
		return err
	}
	*v = found
	return nil
}

// only returns the one member that is set.
func (w wireValue) only() (value, error) {
	var found []value
	var problem error
	add := func(present bool, read func() (value, error)) {
		if !present || problem != nil {
			return
		}
		v, err := read()
		found, problem = append(found, v), err
	}
	add(w.S != nil, func() (value, error) { return value{kind: kindString, text: *w.S}, nil })
	add(w.N != nil, func() (value, error) { return readNumber(*w.N) })
	add(w.B != nil, func() (value, error) { return readBinary(*w.B) })
	add(w.BOOL != nil, func() (value, error) { return value{kind: kindBool, truth: *w.BOOL}, nil })
	add(w.NULL != nil, func() (value, error) { return readNull(*w.NULL) })
	add(w.SS != nil, func() (value, error) { return readSet(kindStringSet, w.SS, readString) })
	add(w.NS != nil, func() (value, error) { return readSet(kindNumberSet, w.NS, readNumber) })
	add(w.BS != nil, func() (value, error) { return readSet(kindBinarySet, w.BS, readBinary) })
	add(w.L != nil, func() (value, error) { return value{kind: kindList, list: w.L}, nil })
	add(w.M != nil, func() (value, error) { return value{kind: kindMap, fields: w.M}, nil })
	switch {
	case problem != nil:
		return value{}, problem
	case len(found) == 0:
		return value{}, invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	case len(found) > 1:
		return value{}, invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	}
	return found[0], nil
}

func readString(s string) (value, error) { return value{kind: kindString, text: s}, nil }

func readNumber(s string) (value, error) {
	d, err := parseDecimal(s)
	return value{kind: kindNumber, number: d}, err
}

func readBinary(s string) (value, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return value{}, faultf(serialization, "a binary value is not base64: %v", err)
	}
	return value{kind: kindBinary, text: string(b)}, nil
}

func readNull(truth bool) (value, error) {
	if !truth {
		return value{}, badParameter("Null attribute value types must have the value of true")
	}
	return value{kind: kindNull}, nil
}

func readSet(k kind, members []string, read func(string) (value, error)) (value, error) {
	if len(members) == 0 {
		return value{}, badParameter("An %s may not be empty", strings.ToLower(strings.ReplaceAll(k.longName(), "_", " ")))
	}
	list := make([]value, 0, len(members))
	for _, m := range members {
		v, err := read(m)
		if err != nil {
			return value{}, err
		}
		list = append(list, v)
	}
	set := makeSet(k, list)
	if len(set.list) < len(members) {
		return value{}, badParameter("Input collection [%s] contains duplicates.", strings.Join(members, ", "))
	}
	return set, nil
}

// MarshalJSONTo writes the value in its one wire form.
func (v value) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	if err := enc.WriteToken(jsontext.String(string(v.kind))); err != nil {
		return err
	}
	if err := json.MarshalEncode(enc, v.content()); err != nil {
		return err
	}
	return enc.WriteToken(jsontext.EndObject)
}

// content is what stands behind the kind's name. Nil lists and maps are encoded as empty ones.
func (v value) content() any {
	switch v.kind {
	case kindBool:
		return v.truth
	case kindNull:
		return true
	case kindList:
		return v.list
	case kindMap:
		return v.fields
	case kindStringSet, kindNumberSet, kindBinarySet:
		texts := make([]string, 0, len(v.list))
		for _, m := range v.list {
			texts = append(texts, m.wireText())
		}
		return texts
	}
	return v.wireText()
}

func (v value) wireText() string {
	switch v.kind {
	case kindNumber:
		return v.number.String()
	case kindBinary:
		return base64.StdEncoding.EncodeToString([]byte(v.text))
	}
	return v.text
}
