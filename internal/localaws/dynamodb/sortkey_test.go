package dynamodb_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// sortKeyChecks are about order within a partition: texts as bytes, numbers as numbers, and each condition on them.
func sortKeyChecks() []check {
	v, w := func(x string) item { return item{":v": str(x)} }, func(x, y string) item { return item{":v": str(x), ":w": str(y)} }
	texts := []struct {
		promise   string
		condition string
		values    item
		want      []string
	}{
		{"texts sort as bytes", "", nil, []string{"A", "a", "a\x00", "a\x01", "ab", "b", "é"}},
		{"a sort key is found by equality", "hold_id = :v", v("a"), []string{"a"}},
		{"a sort key below", "hold_id < :v", v("a\x00"), []string{"A", "a"}},
		{"a sort key not above", "hold_id <= :v", v("a\x00"), []string{"A", "a", "a\x00"}},
		{"a sort key above", "hold_id > :v", v("ab"), []string{"b", "é"}},
		{"a sort key not below", "hold_id >= :v", v("ab"), []string{"ab", "b", "é"}},
		{"a sort key between", "hold_id BETWEEN :v AND :w", w("a", "ab"), []string{"a", "a\x00", "a\x01", "ab"}},
		{"a sort key by its beginning", "begins_with(hold_id, :v)", v("a"), []string{"a", "a\x00", "a\x01", "ab"}},
	}
	var out []check
	for _, r := range texts {
		out = append(out, check{r.promise, func(t testing.TB, at *endpoint) {
			table := at.holdsTable(t)
			for _, id := range []string{"b", "a\x01", "é", "a", "A", "ab", "a\x00"} {
				at.put(t, table, item{"scope": str("s"), "hold_id": str(id)})
				at.put(t, table, item{"scope": str("another"), "hold_id": str(id)})
			}
			condition := "#s = :s"
			if r.condition != "" {
				condition += " AND " + r.condition
			}
			var got []string
			for _, it := range at.partition(t, table, &condition, with(r.values, item{":s": str("s")})) {
				got = append(got, it["hold_id"].(*types.AttributeValueMemberS).Value)
			}
			if d := diffInOrder(r.want, got); d != "" {
				t.Error(d)
			}
		}})
	}
	return append(out, check{"numbers sort as numbers, negative ones first", numbersSort})
}

func (at *endpoint) partition(t testing.TB, table string, condition *string, values item) []item {
	t.Helper()
	out, err := at.items.Query(t.Context(), &sdk.QueryInput{TableName: &table, KeyConditionExpression: condition,
		ExpressionAttributeNames: map[string]string{"#s": "scope"}, ExpressionAttributeValues: values, ConsistentRead: aws.Bool(true)})
	noError(t, err)
	return out.Items
}

func numbersSort(t testing.TB, at *endpoint) {
	table := at.create(t, &sdk.CreateTableInput{
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("scope"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("n"), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: append(hashKey("scope"), types.KeySchemaElement{AttributeName: aws.String("n"), KeyType: types.KeyTypeRange}),
	})
	want := []string{"-1000000000000", "-10", "-9.5", "-9", "-0.25", "0", "0.001", "0.01", "1", "9", "10", "11", "100", "1700000000001"}
	for i := range want {
		at.put(t, table, item{"scope": str("s"), "n": num(want[(i*5)%len(want)])})
	}
	var got []string
	for _, it := range at.partition(t, table, aws.String("#s = :s"), item{":s": str("s")}) {
		got = append(got, it["n"].(*types.AttributeValueMemberN).Value)
	}
	if d := diffInOrder(want, got); d != "" {
		t.Error(d)
	}
	got = nil
	for _, it := range at.partition(t, table, aws.String("#s = :s AND n BETWEEN :v AND :w"), item{":s": str("s"), ":v": num("-9.50"), ":w": num("1E1")}) {
		got = append(got, it["n"].(*types.AttributeValueMemberN).Value)
	}
	if d := diffInOrder(want[2:11], got); d != "" {
		t.Error(d)
	}
}
