package dynamodb

import (
	"maps"
	"slices"
	"strings"
)

// kind is the type of an attribute value, named as on the wire.
type kind string

const (
	kindString    kind = "S"
	kindNumber    kind = "N"
	kindBinary    kind = "B"
	kindBool      kind = "BOOL"
	kindNull      kind = "NULL"
	kindStringSet kind = "SS"
	kindNumberSet kind = "NS"
	kindBinarySet kind = "BS"
	kindList      kind = "L"
	kindMap       kind = "M"
)

// kindNames are the words DynamoDB uses for types in some of its messages.
func (k kind) longName() string {
	return map[kind]string{
		kindString: "STRING", kindNumber: "NUMBER", kindBinary: "BINARY", kindBool: "BOOLEAN", kindNull: "NULL",
		kindStringSet: "STRING_SET", kindNumberSet: "NUMBER_SET", kindBinarySet: "BINARY_SET", kindList: "LIST", kindMap: "MAP",
	}[k]
}

// isSet tells the three set kinds.
func (k kind) isSet() bool { return k == kindStringSet || k == kindNumberSet || k == kindBinarySet }

// ordered tells the kinds that have an order, which are also those a key may have.
func (k kind) ordered() bool { return k == kindString || k == kindNumber || k == kindBinary }

// value is one attribute value. It is never changed once made, so items, images and answers share parts freely.
type value struct {
	kind   kind
	text   string     // S, and B as raw bytes
	number decimal    // N
	truth  bool       // BOOL
	list   []value    // L, and the members of a set, sorted and each once (see makeSet)
	fields attributes // M
}

// attributes is an item, a key, or the content of a map. Like a value it is never changed once it is shared.
type attributes map[string]value

func (a attributes) clone() attributes {
	if a == nil {
		return attributes{}
	}
	return maps.Clone(a)
}

func (a attributes) equal(o attributes) bool {
	return maps.EqualFunc(a, o, value.equal)
}

// makeSet sorts the members and drops what is there twice, so that equal sets are equal lists.
func makeSet(k kind, members []value) value {
	sorted := slices.SortedFunc(slices.Values(members), order)
	return value{kind: k, list: slices.CompactFunc(sorted, value.equal)}
}

func order(a, b value) int {
	n, _ := a.compare(b)
	return n
}

// equal is equality of kind and content; numbers compare by value.
func (v value) equal(o value) bool {
	if v.kind != o.kind {
		return false
	}
	switch v.kind {
	case kindList, kindStringSet, kindNumberSet, kindBinarySet:
		return slices.EqualFunc(v.list, o.list, value.equal)
	case kindMap:
		return v.fields.equal(o.fields)
	}
	return v.text == o.text && v.number == o.number && v.truth == o.truth
}

// has tells whether a set or list has a member.
func (v value) has(member value) bool {
	return slices.ContainsFunc(v.list, member.equal)
}

// compare orders two values of one ordered kind; ok is false for any other pair, which no comparison holds for.
func (v value) compare(o value) (order int, ok bool) {
	if v.kind != o.kind || !v.kind.ordered() {
		return 0, false
	}
	if v.kind == kindNumber {
		return v.number.compare(o.number), true
	}
	return strings.Compare(v.text, o.text), true // strings compare as UTF-8 bytes, binary as unsigned bytes
}

// size counts bytes as the developer guide does ("Item sizes and formats"): names and text as UTF-8, a number one byte
// for two digits and one more, a list or map three bytes and one for each member.
func (v value) size() int {
	switch v.kind {
	case kindString, kindBinary:
		return len(v.text)
	case kindNumber:
		return (len(v.number.digits)+1)/2 + 1
	case kindMap:
		return 3 + len(v.fields) + v.fields.size()
	}
	n := 0
	for _, m := range v.list {
		n += m.size()
	}
	switch v.kind {
	case kindBool, kindNull:
		return 1
	case kindList:
		return 3 + len(v.list) + n
	}
	return n
}

func (a attributes) size() int {
	n := 0
	for name, v := range a {
		n += len(name) + v.size()
	}
	return n
}

// depth is the number of levels down to the innermost value, which is one itself.
func (v value) depth() int {
	deepest := 0
	for _, m := range v.list {
		deepest = max(deepest, m.depth())
	}
	for _, m := range v.fields {
		deepest = max(deepest, m.depth())
	}
	return deepest + 1
}
