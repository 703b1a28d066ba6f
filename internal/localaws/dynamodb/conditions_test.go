package dynamodb_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// specimen is the item that conditions are asked about: one attribute of each kind.
func specimen() item {
	return item{
		"pk":     str("specimen"),
		"word":   str("abc"),
		"five":   num("5"),
		"ten":    num("10"),
		"debt":   num("-5"),
		"bytes":  bin("\x00\xff"),
		"truth":  yes(true),
		"nil_":   null(),
		"colour": strs("red", "green"),
		"primes": nums("2", "3"),
		"items_": list(str("x"), num("7"), object(item{"deep": str("down")})),
		"lease":  object(item{"token_": str("t1"), "until_": num("100")}),
		"a.b":    str("dotted"),
	}
}

// conditionChecks asks each condition twice: as the condition of a put and as the filter of a query.
func conditionChecks() []check {
	v := func(x types.AttributeValue) item { return item{":v": x} }
	lo := func(a, b types.AttributeValue) item { return item{":v": a, ":w": b} }
	rows := []struct {
		promise   string
		condition string
		values    item
		names     map[string]string
		holds     bool
	}{
		{"equal texts are equal", "word = :v", v(str("abc")), nil, true},
		{"different texts are not equal", "word = :v", v(str("abd")), nil, false},
		{"numbers are equal by value, not by spelling", "five = :v", v(num("5.00")), nil, true},
		{"a number never equals a text", "five = :v", v(str("5")), nil, false},
		{"values of different kinds are unequal", "five <> :v", v(str("5")), nil, true},
		{"an absent attribute equals nothing", "absent = :v", v(str("x")), nil, false},
		{"an absent attribute is unequal to everything", "absent <> :v", v(str("x")), nil, true},
		{"an absent attribute is not less", "absent < :v", v(num("1")), nil, false},
		{"an absent attribute is not greater", "absent > :v", v(num("1")), nil, false},
		{"NOT of a comparison with an absent attribute holds", "NOT absent < :v", v(num("1")), nil, true},
		{"NOT of an order of kinds that differ holds", "NOT five <= :v", v(str("9")), nil, true},
		{"NOT of a conjunction holds where one part has no attribute", "NOT (word = :v AND absent <= :w)", lo(str("abc"), num("1")), nil, true},
		{"NOT of a conjunction that holds does not", "NOT (word = :v AND five <= :w)", lo(str("abc"), num("5")), nil, false},
		{"kinds that differ have no order", "five < :v", v(str("9")), nil, false},
		{"kinds that differ have no order the other way either", "five > :v", v(str("1")), nil, false},
		{"of negative numbers the larger magnitude is less", "debt > :v", v(num("-10")), nil, true},
		{"negative numbers are less than positive ones", "debt < five", nil, nil, true},
		{"numbers are ordered as numbers", "five < ten", nil, nil, true},
		{"texts are ordered as bytes", "word > :v", v(str("Zzz")), nil, true},
		{"<= holds at the edge", "five <= :v", v(num("5")), nil, true},
		{">= holds at the edge", "five >= :v", v(num("5")), nil, true},
		{"< does not hold at the edge", "five < :v", v(num("5")), nil, false},
		{"> does not hold at the edge", "five > :v", v(num("5")), nil, false},
		{"BETWEEN includes its lower edge", "five BETWEEN :v AND :w", lo(num("5"), num("9")), nil, true},
		{"BETWEEN includes its upper edge", "five BETWEEN :v AND :w", lo(num("1"), num("5")), nil, true},
		{"BETWEEN excludes what is above", "ten BETWEEN :v AND :w", lo(num("1"), num("9")), nil, false},
		{"IN finds a member", "word IN (:v, :w)", lo(str("x"), str("abc")), nil, true},
		{"IN misses what is not a member", "word IN (:v, :w)", lo(str("x"), str("y")), nil, false},
		{"AND binds tighter than OR", "word = :v OR five = :w AND absent = :w", lo(str("abc"), num("5")), nil, true},
		{"NOT binds tighter than AND", "NOT word = :v AND five = :w", lo(str("x"), num("5")), nil, true},
		{"parentheses bind tightest", "(word = :v OR five = :w) AND absent = :w", lo(str("abc"), num("5")), nil, false},
		{"keywords come in any case", "word = :v and not five = :v Or ten beTWeen :w aNd :w", lo(str("abc"), num("1")), nil, true},
		{"attribute_exists finds an attribute", "attribute_exists(word)", nil, nil, true},
		{"attribute_exists finds a NULL", "attribute_exists(nil_)", nil, nil, true},
		{"attribute_exists misses an absent one", "attribute_exists(absent)", nil, nil, false},
		{"attribute_not_exists finds absence", "attribute_not_exists(absent)", nil, nil, true},
		{"attribute_not_exists misses what is there", "attribute_not_exists(word)", nil, nil, false},
		{"attribute_exists goes into maps", "attribute_exists(lease.token_)", nil, nil, true},
		{"attribute_exists goes into lists", "attribute_exists(items_[2].deep)", nil, nil, true},
		{"a list ends at its end", "attribute_exists(items_[3])", nil, nil, false},
		{"a text has no parts", "attribute_exists(word.a)", nil, nil, false},
		{"attribute_type tells the kind", "attribute_type(lease, :v)", v(str("M")), nil, true},
		{"attribute_type tells another kind", "attribute_type(lease, :v)", v(str("S")), nil, false},
		{"begins_with finds a beginning", "begins_with(word, :v)", v(str("ab")), nil, true},
		{"begins_with wants the beginning", "begins_with(word, :v)", v(str("bc")), nil, false},
		{"begins_with of an absent attribute is false", "begins_with(absent, :v)", v(str("a")), nil, false},
		{"contains finds a part of a text", "contains(word, :v)", v(str("bc")), nil, true},
		{"contains finds a member of a set", "contains(colour, :v)", v(str("red")), nil, true},
		{"contains misses part of a member", "contains(colour, :v)", v(str("re")), nil, false},
		{"contains finds an element of a list", "contains(items_, :v)", v(num("7")), nil, true},
		{"size of a text", "size(word) = :v", v(num("3")), nil, true},
		{"size of a list", "size(items_) = :v", v(num("3")), nil, true},
		{"size of a set", "size(colour) = :v", v(num("2")), nil, true},
		{"size of a map", "size(lease) = :v", v(num("2")), nil, true},
		{"size of a binary", "size(bytes) = :v", v(num("2")), nil, true},
		{"size of an absent attribute compares with nothing", "size(absent) < :v", v(num("3")), nil, false},
		{"nested numbers compare", "lease.until_ < :v", v(num("101")), nil, true},
		{"names stand for attributes", "#a.#b = :v", v(str("t1")), map[string]string{"#a": "lease", "#b": "token_"}, true},
		{"a name with a dot is one attribute", "#a = :v", v(str("dotted")), map[string]string{"#a": "a.b"}, true},
		{"booleans compare", "truth = :v", v(yes(true)), nil, true},
		{"binaries compare", "bytes = :v", v(bin("\x00\xff")), nil, true},
		{"sets are equal in any order", "colour = :v", v(strs("green", "red")), nil, true},
		{"maps are equal by content", "lease = :v", v(object(item{"until_": num("100.0"), "token_": str("t1")})), nil, true},
		{"lists are equal in order only", "items_ = :v", v(list(num("7"), str("x"), object(item{"deep": str("down")}))), nil, false},
	}
	var out []check
	for _, r := range rows {
		out = append(out, check{r.promise, func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, specimen())
			_, err := at.items.PutItem(t.Context(), &sdk.PutItemInput{TableName: &table, Item: specimen(),
				ConditionExpression: &r.condition, ExpressionAttributeValues: r.values, ExpressionAttributeNames: r.names})
			if got := code(err); (got == "") != r.holds || got != "" && got != "ConditionalCheckFailedException" {
				t.Errorf("condition %s: %q, want it to hold: %v", r.condition, got, r.holds)
			}
			found, err := at.items.Query(t.Context(), &sdk.QueryInput{TableName: &table, ConsistentRead: aws.Bool(true),
				KeyConditionExpression: aws.String("pk = :pk"), FilterExpression: &r.condition,
				ExpressionAttributeValues: with(item{":pk": str("specimen")}, r.values), ExpressionAttributeNames: r.names})
			noError(t, err)
			if (found.Count == 1) != r.holds {
				t.Errorf("filter %s: count %d, want it to hold: %v", r.condition, found.Count, r.holds)
			}
		}})
	}
	return out
}

// refused is the item a refused condition brought along.
func refused(t testing.TB, err error) item {
	t.Helper()
	f, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !ok {
		t.Fatalf("want a ConditionalCheckFailedException, got %v", err)
	}
	return f.Item
}

// refusalChecks are about what a refused single write says and leaves.
func refusalChecks() []check {
	const allOld = types.ReturnValuesOnConditionCheckFailureAllOld
	condition, values := aws.String("five = :v"), item{":v": num("6")}
	return []check{
		{"a refused put shows the item that refused it", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, specimen())
			_, err := at.items.PutItem(t.Context(), &sdk.PutItemInput{TableName: &table, Item: key("specimen"),
				ConditionExpression: aws.String("attribute_not_exists(pk)"), ReturnValuesOnConditionCheckFailure: allOld})
			if d := diff(specimen(), refused(t, err)); d != "" {
				t.Error(d)
			}
		}},
		{"a refused update shows the item and changes nothing", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, specimen())
			_, err := at.items.UpdateItem(t.Context(), &sdk.UpdateItemInput{TableName: &table, Key: key("specimen"),
				UpdateExpression: aws.String("SET five = :v"), ConditionExpression: condition, ExpressionAttributeValues: values,
				ReturnValuesOnConditionCheckFailure: allOld})
			if d := diff(specimen(), refused(t, err)); d != "" {
				t.Error(d)
			}
			if d := diff(specimen(), at.get(t, table, key("specimen"))); d != "" {
				t.Error(d)
			}
		}},
		{"a refused delete shows the item and leaves it", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, specimen())
			_, err := at.items.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: &table, Key: key("specimen"),
				ConditionExpression: condition, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: allOld})
			if d := diff(specimen(), refused(t, err)); d != "" {
				t.Error(d)
			}
			if d := diff(specimen(), at.get(t, table, key("specimen"))); d != "" {
				t.Error(d)
			}
		}},
		{"a refused write shows no item unless asked", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, specimen())
			_, err := at.items.PutItem(t.Context(), &sdk.PutItemInput{TableName: &table, Item: key("specimen"),
				ConditionExpression: condition, ExpressionAttributeValues: values})
			if got := refused(t, err); got != nil {
				t.Errorf("item %v", got)
			}
		}},
		{"a write refused by absence shows no item and makes none", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			_, err := at.items.UpdateItem(t.Context(), &sdk.UpdateItemInput{TableName: &table, Key: key("absent"),
				UpdateExpression: aws.String("SET five = :v"), ConditionExpression: condition, ExpressionAttributeValues: values,
				ReturnValuesOnConditionCheckFailure: allOld})
			if got := refused(t, err); len(got) > 0 {
				t.Errorf("item %v", got)
			}
			if got := at.get(t, table, key("absent")); got != nil {
				t.Errorf("item %v was made", got)
			}
		}},
	}
}
