package dynamodb_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// cond is a random condition: its text, and what it should say of an item, worked out without the engine's evaluator.
type cond struct {
	text  string
	holds func(map[string]string) bool
}

// subjects are the attributes random items may have: short numbers, so that all orders and equalities occur.
func subjects() []string { return []string{"x", "y", "z"} }

// conditionOf draws a condition over number attributes, values being written :v0 to :v3 for 0 to 3.
func conditionOf(t *rapid.T, depth int) cond {
	kinds := 4
	if depth > 0 {
		kinds = 7
	}
	name := rapid.SampledFrom(subjects()).Draw(t, "name")
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return cond{"attribute_exists(" + name + ")", func(it map[string]string) bool { return it[name] != "" }}
	case 1:
		return cond{"attribute_not_exists(" + name + ")", func(it map[string]string) bool { return it[name] == "" }}
	case 2:
		op := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">="}).Draw(t, "operator")
		n := rapid.IntRange(0, 3).Draw(t, "value")
		return cond{fmt.Sprintf("%s %s :v%d", name, op, n), func(it map[string]string) bool { return compares(it[name], op, fmt.Sprint(n)) }}
	case 3:
		a, b := rapid.IntRange(0, 3).Draw(t, "low"), rapid.IntRange(0, 3).Draw(t, "high")
		a, b = min(a, b), max(a, b)
		return cond{fmt.Sprintf("%s BETWEEN :v%d AND :v%d", name, a, b), func(it map[string]string) bool {
			return compares(it[name], ">=", fmt.Sprint(a)) && compares(it[name], "<=", fmt.Sprint(b))
		}}
	case 4:
		inner := conditionOf(t, depth-1)
		return cond{"NOT (" + strip(inner.text) + ")", func(it map[string]string) bool { return !inner.holds(it) }}
	case 5:
		l, r := conditionOf(t, depth-1), conditionOf(t, depth-1)
		return cond{"(" + l.text + " AND " + r.text + ")", func(it map[string]string) bool { return l.holds(it) && r.holds(it) }}
	}
	l, r := conditionOf(t, depth-1), conditionOf(t, depth-1)
	return cond{"(" + l.text + " OR " + r.text + ")", func(it map[string]string) bool { return l.holds(it) || r.holds(it) }}
}

// strip takes the outermost parentheses away, since redundant ones are refused.
func strip(s string) string {
	if strings.HasPrefix(s, "(") {
		return s[1 : len(s)-1]
	}
	return s
}

// compares works on rationals; an absent attribute is "".
func compares(stored, op, value string) bool {
	if stored == "" {
		return op == "<>"
	}
	a, _ := new(big.Rat).SetString(stored)
	b, _ := new(big.Rat).SetString(value)
	n := a.Cmp(b)
	return map[string]bool{"=": n == 0, "<>": n != 0, "<": n < 0, "<=": n <= 0, ">": n > 0, ">=": n >= 0}[op]
}

func TestRandomConditionsMeanWhatTheySay(t *testing.T) {
	t.Parallel()
	e := bareEngine(t)
	rapid.Check(t, func(r *rapid.T) {
		stored := map[string]string{}
		it := wire{"pk": wire{"S": "k"}}
		for _, name := range subjects() {
			if n := rapid.SampledFrom([]string{"", "0", "1", "1.50", "2.0", "3E0", "-1"}).Draw(r, name); n != "" {
				stored[name], it[name] = n, wire{"N": n}
			}
		}
		c := conditionOf(r, 4)
		values := wire{}
		for n := range 4 {
			if v := fmt.Sprintf(":v%d", n); strings.Contains(c.text, v) {
				values[v] = wire{"N": fmt.Sprint(n)}
			}
		}
		call(t, e, "PutItem", wire{"TableName": "tab", "Item": it})
		request := wire{"TableName": "tab", "FilterExpression": strip(c.text), "Select": "COUNT"}
		if len(values) > 0 {
			request["ExpressionAttributeValues"] = values
		}
		status, answer := call(t, e, "Scan", request)
		if status != 200 {
			r.Fatalf("%s: %v", c.text, answer)
		}
		if got := answer["Count"] == 1.0; got != c.holds(stored) {
			r.Fatalf("%s of %v: %v, want %v", c.text, stored, got, !got)
		}
	})
}

// Several thousand rows in several partitions, in and out in random order, cross every border within the ordered store.
func TestManyRowsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	e := bareEngine(t)
	if status, answer := call(t, e, "CreateTable", wire{"TableName": "many", "BillingMode": "PAY_PER_REQUEST",
		"AttributeDefinitions": []wire{{"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"}},
		"KeySchema":            []wire{{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}}}); status != 200 {
		t.Fatal(answer)
	}
	random := rand.New(rand.NewPCG(1, 2)) // a fixed seed: the same history every time
	model := map[string]map[int]bool{"a": {}, "b": {}, "c": {}}
	for range 400 {
		batch := map[string]wire{}
		for range 25 {
			p, n := string(rune('a'+random.IntN(3))), random.IntN(4000)-2000
			key := wire{"p": wire{"S": p}, "n": wire{"N": fmt.Sprint(n)}}
			if id := fmt.Sprint(p, n); batch[id] == nil {
				model[p][n] = random.IntN(3) > 0
				batch[id] = wire{"DeleteRequest": wire{"Key": key}}
				if model[p][n] {
					batch[id] = wire{"PutRequest": wire{"Item": key}}
				}
			}
		}
		var writes []wire
		for _, w := range batch {
			writes = append(writes, w)
		}
		if status, answer := call(t, e, "BatchWriteItem", wire{"RequestItems": wire{"many": writes}}); status != 200 {
			t.Fatal(answer)
		}
	}
	for p, rows := range model {
		var want []int
		for n, there := range rows {
			if there && n >= -1500 && n < 1500 {
				want = append(want, n)
			}
		}
		slices.Sort(want)
		if len(want) < 600 {
			t.Fatalf("only %d rows in partition %s", len(want), p)
		}
		for _, forward := range []bool{true, false} {
			if !forward {
				slices.Reverse(want)
			}
			for _, limit := range []int{97, 5000} {
				if got := pagedNumbers(t, func(start any) map[string]any {
					request := wire{"TableName": "many", "KeyConditionExpression": "p = :p AND n BETWEEN :l AND :h", "ScanIndexForward": forward, "Limit": limit,
						"ExpressionAttributeValues": wire{":p": wire{"S": p}, ":l": wire{"N": "-1500"}, ":h": wire{"N": "1499.5"}}}
					if start != nil {
						request["ExclusiveStartKey"] = start
					}
					_, answer := call(t, e, "Query", request)
					return answer
				}); !slices.Equal(got, want) {
					t.Errorf("partition %s, forward %v, limit %d: %d rows, want %d", p, forward, limit, len(got), len(want))
				}
			}
		}
	}
}

func pagedNumbers(t *testing.T, page func(start any) map[string]any) []int {
	t.Helper()
	var out []int
	var start any
	for {
		answer := page(start)
		items, ok := answer["Items"].([]any)
		if !ok {
			t.Fatal(answer)
		}
		for _, it := range items {
			var n int
			if _, err := fmt.Sscan(it.(wire)["n"].(wire)["N"].(string), &n); err != nil {
				t.Fatal(err)
			}
			out = append(out, n)
		}
		if start = answer["LastEvaluatedKey"]; start == nil {
			return out
		}
	}
}

// BenchmarkOpenPage reads a page out of the middle of ten thousand rows of one partition.
func BenchmarkOpenPage(b *testing.B) {
	e := bareEngine(b)
	call(b, e, "CreateTable", wire{"TableName": "many", "BillingMode": "PAY_PER_REQUEST",
		"AttributeDefinitions": []wire{{"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"}},
		"KeySchema":            []wire{{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}}})
	for n := range 10000 {
		call(b, e, "PutItem", wire{"TableName": "many", "Item": wire{"p": wire{"S": "a"}, "n": wire{"N": fmt.Sprint(n * 7919 % 10000)}}})
	}
	request := wire{"TableName": "many", "KeyConditionExpression": "p = :p", "Limit": 100,
		"ExpressionAttributeValues": wire{":p": wire{"S": "a"}}, "ExclusiveStartKey": wire{"p": wire{"S": "a"}, "n": wire{"N": "5000"}}}
	for b.Loop() {
		if _, answer := call(b, e, "Query", request); answer["Count"] != 100.0 {
			b.Fatal(answer)
		}
	}
}

// BenchmarkCheckpoint is a conditional update, as a slice makes one a second.
func BenchmarkCheckpoint(b *testing.B) {
	e := bareEngine(b)
	restore(b, e)
	request := wire{"TableName": "tab", "Key": wire{"pk": wire{"S": "k"}}, "UpdateExpression": "SET a = a + :one, m.a = :one",
		"ConditionExpression": "b = :t", "ExpressionAttributeValues": wire{":one": wire{"N": "1"}, ":t": wire{"S": "text"}}}
	for b.Loop() {
		if status, answer := call(b, e, "UpdateItem", request); status != 200 {
			b.Fatal(answer)
		}
	}
}
