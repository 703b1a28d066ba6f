package dynamodb_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// openRun is a run as it stands in the sparse index.
func openRun(pk, state string, since int) item {
	return with(key(pk), item{"open": str("open"), "open_since": count(since), "state": str(state), "private": str("p")})
}

// openRuns queries the index for everything open, page by page, and returns the keys in order.
func (at *endpoint) openRuns(t testing.TB, in *sdk.QueryInput) (pks []string, pages int) {
	t.Helper()
	in.IndexName = aws.String("open")
	if in.KeyConditionExpression == nil {
		in.KeyConditionExpression = aws.String("#open = :open")
	}
	in.ExpressionAttributeNames = map[string]string{"#open": "open"}
	for name := range in.ExpressionAttributeValues {
		if name == ":state" {
			in.ExpressionAttributeNames["#state"] = "state"
		}
	}
	in.ExpressionAttributeValues = with(in.ExpressionAttributeValues, item{":open": str("open")})
	for {
		out, err := at.items.Query(t.Context(), in)
		noError(t, err)
		pages++
		for _, it := range out.Items {
			pks = append(pks, it["pk"].(*types.AttributeValueMemberS).Value)
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return pks, pages
		}
		if pages > 1000 {
			t.Fatalf("no end after %d pages", pages)
		}
	}
}

// settledRuns waits for the index of a remote engine to show as many rows as expected.
func (at *endpoint) settledRuns(t testing.TB, table string, want []string) {
	t.Helper()
	var got []string
	if !at.settles(t.Context(), func() bool {
		got, _ = at.openRuns(t, &sdk.QueryInput{TableName: &table})
		return slices.Equal(got, want)
	}) {
		t.Fatalf("index shows %v, want %v", got, want)
	}
}

func indexChecks() []check {
	return []check{
		{"the index holds only what has its keys", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, openRun("a", "pending", 1))
			at.put(t, table, key("without both"))
			at.put(t, table, with(key("without sort"), item{"open": str("open")}))
			at.settledRuns(t, table, []string{"a"})
		}},
		{"REMOVE of the key takes the item out of the index", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, openRun("a", "pending", 1))
			at.put(t, table, openRun("b", "pending", 2))
			_, err := at.items.UpdateItem(t.Context(), &sdk.UpdateItemInput{TableName: &table, Key: key("a"),
				UpdateExpression: aws.String("REMOVE #o"), ExpressionAttributeNames: map[string]string{"#o": "open"}})
			noError(t, err)
			at.settledRuns(t, table, []string{"b"})
		}},
		{"a changed sort key moves the item in the index", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, openRun("a", "pending", 1))
			at.put(t, table, openRun("b", "pending", 2))
			at.put(t, table, openRun("a", "pending", 10))
			at.settledRuns(t, table, []string{"b", "a"})
		}},
		{"a deleted item leaves the index", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, openRun("a", "pending", 1))
			_, err := at.items.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: &table, Key: key("a")})
			noError(t, err)
			at.settledRuns(t, table, nil)
		}},
		{"the index shows what it projects, as it is now", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, openRun("a", "pending", 1))
			at.put(t, table, with(openRun("a", "running", 1), item{"attempts": num("3")}))
			at.settledRuns(t, table, []string{"a"})
			want := with(key("a"), item{"open": str("open"), "open_since": num("1"), "state": str("running"), "attempts": num("3")})
			var got []item
			if !at.settles(t.Context(), func() bool {
				out, err := at.items.Query(t.Context(), openQuery(table))
				noError(t, err)
				got = out.Items
				return diff([]item{want}, got) == ""
			}) {
				t.Error(diff([]item{want}, got))
			}
		}},
		{"a consistent read of a global index is refused", func(t testing.TB, at *endpoint) {
			in := openQuery(at.inboxTable(t))
			in.ConsistentRead = aws.Bool(true)
			_, err := at.items.Query(t.Context(), in)
			at.wantCode(t, err, "ValidationException", "Consistent reads are not supported on global secondary indexes")
		}},
		{"an attribute the index does not project is refused", func(t testing.TB, at *endpoint) {
			in := openQuery(at.inboxTable(t))
			in.ProjectionExpression = aws.String("pk, private_")
			_, err := at.items.Query(t.Context(), in)
			at.wantCode(t, err, "ValidationException", "does not project [private_]")
		}},
		{"ALL_ATTRIBUTES of an index that has not all is refused", func(t testing.TB, at *endpoint) {
			in := openQuery(at.inboxTable(t))
			in.Select = types.SelectAllAttributes
			_, err := at.items.Query(t.Context(), in)
			at.wantCode(t, err, "ValidationException", "Select type ALL_ATTRIBUTES is not supported for global secondary index open")
		}},
		{"an unknown index is refused", func(t testing.TB, at *endpoint) {
			in := openQuery(at.inboxTable(t))
			in.IndexName = aws.String("closed")
			_, err := at.items.Query(t.Context(), in)
			at.wantCode(t, err, "ValidationException", "does not have the specified index: closed")
		}},
		{"an index key of the wrong kind is refused on a put", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			_, err := at.items.PutItem(t.Context(), &sdk.PutItemInput{TableName: &table,
				Item: with(key("k"), item{"open": str("open"), "open_since": str("1")})})
			at.wantCode(t, err, "ValidationException", "Type mismatch for Index Key open_since Expected: N Actual: S IndexName: open")
		}},
		{"an index key of the wrong kind is refused on an update", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			_, err := at.items.UpdateItem(t.Context(), &sdk.UpdateItemInput{TableName: &table, Key: key("k"),
				UpdateExpression: aws.String("SET open_since = :v"), ExpressionAttributeValues: item{":v": str("1")}})
			at.wantCode(t, err, "ValidationException", "index key to unsupported type")
		}},
		{"an empty index key is refused", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			_, err := at.items.PutItem(t.Context(), &sdk.PutItemInput{TableName: &table, Item: with(key("k"), item{"open": str(""), "open_since": num("1")})})
			at.wantCode(t, err, "ValidationException", "IndexName: open, IndexKey: open")
		}},
	}
}

func openQuery(table string) *sdk.QueryInput {
	return &sdk.QueryInput{TableName: &table, IndexName: aws.String("open"), KeyConditionExpression: aws.String("#o = :o"),
		ExpressionAttributeNames: map[string]string{"#o": "open"}, ExpressionAttributeValues: item{":o": str("open")}}
}

// thirtyRuns fills the index with runs in the order of their names, states in turn; others share no partition with them.
func (at *endpoint) thirtyRuns(t testing.TB) (table string, pks []string) {
	table = at.inboxTable(t)
	states := []string{"pending", "running", "parked"}
	for i := range 30 {
		pk := fmt.Sprintf("run#%02d", i)
		pks = append(pks, pk)
		at.put(t, table, openRun(pk, states[i%3], 1000+i))
	}
	at.put(t, table, with(openRun("failed one", "failed", 1005), item{"open": str("failed")}))
	at.settledRuns(t, table, pks)
	return table, pks
}

func pageChecks() []check {
	return []check{
		{"pages of any size show every row once in order", func(t testing.TB, at *endpoint) {
			table, pks := at.thirtyRuns(t)
			for _, limit := range []int32{1, 7, 30, 31} {
				got, pages := at.openRuns(t, &sdk.QueryInput{TableName: &table, Limit: &limit})
				if d := diff(pks, got); d != "" {
					t.Errorf("limit %d: %s", limit, d)
				}
				if want := 30/int(limit) + 1; pages != want { // a full last page does not know that it is the last
					t.Errorf("limit %d: %d pages, want %d", limit, pages, want)
				}
			}
		}},
		{"pages go backwards too", func(t testing.TB, at *endpoint) {
			table, pks := at.thirtyRuns(t)
			got, _ := at.openRuns(t, &sdk.QueryInput{TableName: &table, Limit: aws.Int32(4), ScanIndexForward: aws.Bool(false)})
			slices.Reverse(pks)
			if d := diff(pks, got); d != "" {
				t.Error(d)
			}
		}},
		{"a limit counts rows before the filter", func(t testing.TB, at *endpoint) {
			table, pks := at.thirtyRuns(t)
			in := openQuery(table)
			in.Limit = aws.Int32(6)
			in.FilterExpression = aws.String("#s = :s")
			in.ExpressionAttributeNames["#s"], in.ExpressionAttributeValues[":s"] = "state", str("running")
			out, err := at.items.Query(t.Context(), in)
			noError(t, err)
			if out.ScannedCount != 6 || out.Count != 2 || len(out.Items) != 2 {
				t.Errorf("scanned %d, count %d, items %d; want 6, 2, 2", out.ScannedCount, out.Count, len(out.Items))
			}
			if d := diff(with(key(pks[5]), item{"open": str("open"), "open_since": num("1005")}), out.LastEvaluatedKey); d != "" {
				t.Error(d)
			}
		}},
		{"a filter over all pages finds what it should", func(t testing.TB, at *endpoint) {
			table, pks := at.thirtyRuns(t)
			got, _ := at.openRuns(t, &sdk.QueryInput{TableName: &table, Limit: aws.Int32(4),
				FilterExpression: aws.String("#state <> :state"), ExpressionAttributeValues: item{":state": str("parked")}})
			want := slices.DeleteFunc(slices.Clone(pks), func(pk string) bool { return slices.Index(pks, pk)%3 == 2 })
			if d := diff(want, got); d != "" {
				t.Error(d)
			}
		}},
		{"a page continues behind a row that has gone", func(t testing.TB, at *endpoint) {
			table, pks := at.thirtyRuns(t)
			in := openQuery(table)
			in.Limit = aws.Int32(10)
			out, err := at.items.Query(t.Context(), in)
			noError(t, err)
			_, err = at.items.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: &table, Key: key(pks[9])})
			noError(t, err)
			got, _ := at.openRuns(t, &sdk.QueryInput{TableName: &table, ExclusiveStartKey: out.LastEvaluatedKey})
			if d := diff(pks[10:], got); d != "" {
				t.Error(d)
			}
		}},
		{"rows of one sort key all appear", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			var want []string
			for i := range 10 {
				pk := fmt.Sprintf("same#%d", i)
				want = append(want, pk)
				at.put(t, table, openRun(pk, "pending", 7))
			}
			var got []string
			if !at.settles(t.Context(), func() bool {
				got, _ = at.openRuns(t, &sdk.QueryInput{TableName: &table, Limit: aws.Int32(3)})
				slices.Sort(got) // their order among each other is nobody's promise
				return slices.Equal(got, want)
			}) {
				t.Error(diff(want, got))
			}
		}},
		{"COUNT counts without items", func(t testing.TB, at *endpoint) {
			table, _ := at.thirtyRuns(t)
			in := openQuery(table)
			in.Select = types.SelectCount
			out, err := at.items.Query(t.Context(), in)
			noError(t, err)
			if out.Count != 30 || out.ScannedCount != 30 || out.Items != nil {
				t.Errorf("count %d, scanned %d, items %v", out.Count, out.ScannedCount, out.Items)
			}
		}},
		{"a page ends at one megabyte", megabytePages},
		{"a scan shows every item once", func(t testing.TB, at *endpoint) {
			table, pks := at.thirtyRuns(t)
			var got []string
			in := &sdk.ScanInput{TableName: &table, Limit: aws.Int32(7), ConsistentRead: aws.Bool(true)}
			for more := true; more; more = len(in.ExclusiveStartKey) > 0 {
				out, err := at.items.Scan(t.Context(), in)
				noError(t, err)
				for _, it := range out.Items {
					got = append(got, it["pk"].(*types.AttributeValueMemberS).Value)
				}
				in.ExclusiveStartKey = out.LastEvaluatedKey
			}
			slices.Sort(got)
			if d := diff(slices.Sorted(slices.Values(append(pks, "failed one"))), got); d != "" {
				t.Error(d)
			}
		}},
		{"a projection keeps the structure", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, specimen())
			out, err := at.items.GetItem(t.Context(), &sdk.GetItemInput{TableName: &table, Key: key("specimen"),
				ProjectionExpression: aws.String("word, lease.token_, items_[2].deep, items_[0], absent")})
			noError(t, err)
			want := item{"word": str("abc"), "lease": object(item{"token_": str("t1")}), "items_": list(str("x"), object(item{"deep": str("down")}))}
			if d := diff(want, out.Item); d != "" {
				t.Error(d)
			}
		}},
	}
}

// megabytePages stores more than fits: an engine may or may not count the item that passes the bound, so three is allowed.
func megabytePages(t testing.TB, at *endpoint) {
	table := at.holdsTable(t)
	big := make([]byte, 390<<10)
	for i := range 4 {
		at.put(t, table, item{"scope": str("s"), "hold_id": str(fmt.Sprint(i)), "big": &types.AttributeValueMemberB{Value: big}})
	}
	out, err := at.items.Query(t.Context(), &sdk.QueryInput{TableName: &table, KeyConditionExpression: aws.String("#s = :s"),
		ExpressionAttributeNames: map[string]string{"#s": "scope"}, ExpressionAttributeValues: item{":s": str("s")}})
	noError(t, err)
	if out.Count > 3 || len(out.LastEvaluatedKey) == 0 {
		t.Errorf("%d items of 390 KB in one page, last key %v", out.Count, out.LastEvaluatedKey)
	}
}
