package dynamodb_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// updateChecks say what each part of an update expression does; items are given without their key.
func updateChecks() []check {
	rows := []struct {
		promise string
		before  item // nil: absent
		update  string
		values  item
		after   item
	}{
		{"SET writes a new attribute", item{}, "SET a = :v", item{":v": str("x")}, item{"a": str("x")}},
		{"SET replaces an attribute of another kind", item{"a": num("1")}, "SET a = :v", item{":v": str("x")}, item{"a": str("x")}},
		{"SET writes several attributes", item{}, "SET a = :v, b = :w", item{":v": str("x"), ":w": null()}, item{"a": str("x"), "b": null()}},
		{"SET adds", item{"a": num("41")}, "SET a = a + :v", item{":v": num("1")}, item{"a": num("42")}},
		{"SET subtracts", item{"a": num("41")}, "SET a = a - :v", item{":v": num("42")}, item{"a": num("-1")}},
		{"if_not_exists takes the other where nothing is", item{}, "SET a = if_not_exists(a, :v)", item{":v": num("1")}, item{"a": num("1")}},
		{"if_not_exists keeps what is there", item{"a": num("5")}, "SET a = if_not_exists(a, :v)", item{":v": num("1")}, item{"a": num("5")}},
		{"if_not_exists starts a counter", item{}, "SET a = if_not_exists(a, :z) + :v", item{":v": num("1"), ":z": num("0")}, item{"a": num("1")}},
		{"if_not_exists reads another attribute", item{"b": str("y")}, "SET a = if_not_exists(b, :v)", item{":v": str("x")}, item{"a": str("y"), "b": str("y")}},
		{"list_append appends", item{"a": list(num("1"))}, "SET a = list_append(a, :v)", item{":v": list(num("2"))}, item{"a": list(num("1"), num("2"))}},
		{"list_append prepends", item{"a": list(num("1"))}, "SET a = list_append(:v, a)", item{":v": list(num("2"))}, item{"a": list(num("2"), num("1"))}},
		{"SET goes into maps", item{"a": object(item{"b": num("1")})}, "SET a.b = :v, a.c = :v", item{":v": num("2")}, item{"a": object(item{"b": num("2"), "c": num("2")})}},
		{"SET replaces a list element", item{"a": list(num("1"), num("2"))}, "SET a[0] = :v", item{":v": str("x")}, item{"a": list(str("x"), num("2"))}},
		{"SET beyond the end appends in order", item{"a": list(num("1"))}, "SET a[9] = :w, a[5] = :v", item{":v": num("2"), ":w": num("3")}, item{"a": list(num("1"), num("2"), num("3"))}},
		{"operands are read before anything is written", item{"a": num("1"), "b": num("2")}, "SET a = b, b = a", nil, item{"a": num("2"), "b": num("1")}},
		{"REMOVE removes", item{"a": num("1"), "b": num("2")}, "REMOVE a", nil, item{"b": num("2")}},
		{"REMOVE of nothing is nothing", item{"b": num("2")}, "REMOVE a", nil, item{"b": num("2")}},
		{"REMOVE goes into maps", item{"a": object(item{"b": num("1"), "c": num("2")})}, "REMOVE a.b", nil, item{"a": object(item{"c": num("2")})}},
		{"REMOVE counts list positions as they were", item{"a": list(num("0"), num("1"), num("2"), num("3"))}, "REMOVE a[0], a[2]", nil, item{"a": list(num("1"), num("3"))}},
		{"REMOVE beyond the end is nothing", item{"a": list(num("0"))}, "REMOVE a[3]", nil, item{"a": list(num("0"))}},
		{"ADD starts a number", item{}, "ADD a :v", item{":v": num("3")}, item{"a": num("3")}},
		{"ADD adds a number", item{"a": num("3")}, "ADD a :v", item{":v": num("-5")}, item{"a": num("-2")}},
		{"ADD starts a set", item{}, "ADD a :v", item{":v": strs("x")}, item{"a": strs("x")}},
		{"ADD unites sets", item{"a": strs("x", "y")}, "ADD a :v", item{":v": strs("y", "z")}, item{"a": strs("x", "y", "z")}},
		{"DELETE takes members out", item{"a": strs("x", "y")}, "DELETE a :v", item{":v": strs("y", "z")}, item{"a": strs("x")}},
		{"DELETE of the last member removes the set", item{"a": nums("1")}, "DELETE a :v", item{":v": nums("1.0")}, item{}},
		{"DELETE of nothing is nothing", item{}, "DELETE a :v", item{":v": strs("x")}, item{}},
		{"parts come in any order and case", item{"a": num("1"), "b": num("1"), "c": strs("x", "y")}, "remove a Delete c :w aDD b :v set d = :v",
			item{":v": num("1"), ":w": strs("x")}, item{"b": num("2"), "c": strs("y"), "d": num("1")}},
		{"an update of nothing makes the item", nil, "SET a = :v", item{":v": num("1")}, item{"a": num("1")}},
	}
	var out []check
	for _, r := range rows {
		out = append(out, check{r.promise, func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			if r.before != nil {
				at.put(t, table, with(key("k"), r.before))
			}
			_, err := at.items.UpdateItem(t.Context(), &sdk.UpdateItemInput{TableName: &table, Key: key("k"),
				UpdateExpression: &r.update, ExpressionAttributeValues: r.values})
			noError(t, err)
			if d := diff(with(key("k"), r.after), at.get(t, table, key("k"))); d != "" {
				t.Error(d)
			}
		}})
	}
	return out
}

// returnChecks say what a write answers with.
func returnChecks() []check {
	before := with(key("k"), item{"a": num("1"), "b": object(item{"c": str("x"), "d": str("y")}), "e": str("e")})
	after := with(before, item{"a": num("2"), "b": object(item{"c": str("z"), "d": str("y")})})
	rows := []struct {
		promise string
		mode    types.ReturnValue
		want    item
	}{
		{"an update returns nothing by default", "", nil},
		{"an update returns nothing for NONE", types.ReturnValueNone, nil},
		{"an update returns ALL_OLD", types.ReturnValueAllOld, before},
		{"an update returns ALL_NEW", types.ReturnValueAllNew, after},
		{"an update returns UPDATED_OLD", types.ReturnValueUpdatedOld, item{"a": num("1"), "b": object(item{"c": str("x")})}},
		{"an update returns UPDATED_NEW", types.ReturnValueUpdatedNew, item{"a": num("2"), "b": object(item{"c": str("z")})}},
	}
	out := []check{
		{"a put returns ALL_OLD", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, before)
			got, err := at.items.PutItem(t.Context(), &sdk.PutItemInput{TableName: &table, Item: after, ReturnValues: types.ReturnValueAllOld})
			noError(t, err)
			if d := diff(before, got.Attributes); d != "" {
				t.Error(d)
			}
		}},
		{"a delete returns ALL_OLD", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, before)
			for _, want := range []item{before, nil} {
				got, err := at.items.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: &table, Key: key("k"), ReturnValues: types.ReturnValueAllOld})
				noError(t, err)
				if d := diff(want, got.Attributes); d != "" {
					t.Error(d)
				}
			}
		}},
	}
	for _, r := range rows {
		out = append(out, check{r.promise, func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, before)
			got, err := at.items.UpdateItem(t.Context(), &sdk.UpdateItemInput{TableName: &table, Key: key("k"), ReturnValues: r.mode,
				UpdateExpression: aws.String("SET a = a + :v, b.c = :w"), ExpressionAttributeValues: item{":v": num("1"), ":w": str("z")}})
			noError(t, err)
			if d := diff(r.want, got.Attributes); d != "" {
				t.Error(d)
			}
		}})
	}
	return out
}
