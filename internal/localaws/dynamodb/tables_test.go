package dynamodb_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func tableChecks() []check {
	return []check{
		{"a table describes itself", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			d, err := at.items.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: &table})
			noError(t, err)
			if d := diffInOrder(hashKey("pk"), d.Table.KeySchema); d != "" {
				t.Error(d)
			}
			if len(d.Table.GlobalSecondaryIndexes) != 1 || len(d.Table.AttributeDefinitions) != 3 || d.Table.LatestStreamLabel == nil ||
				d.Table.BillingModeSummary.BillingMode != types.BillingModePayPerRequest || d.Table.TableArn == nil {
				t.Errorf("description %+v", d.Table)
			}
			x := d.Table.GlobalSecondaryIndexes[0]
			if aws.ToString(x.IndexName) != "open" || len(x.KeySchema) != 2 || x.Projection.ProjectionType != types.ProjectionTypeInclude || len(x.Projection.NonKeyAttributes) != 3 {
				t.Errorf("index %+v", x)
			}
		}},
		{"a table is made once", func(t testing.TB, at *endpoint) {
			in := inboxShape()
			at.create(t, in)
			_, err := at.items.CreateTable(t.Context(), in)
			at.wantCode(t, err, "ResourceInUseException", "already exists")
		}},
		{"an unknown table is not found", func(t testing.TB, at *endpoint) {
			name := uniqueName()
			_, err := at.items.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: &name})
			at.wantCode(t, err, "ResourceNotFoundException", "not found")
			_, err = at.items.GetItem(t.Context(), &sdk.GetItemInput{TableName: &name, Key: key("k")})
			at.wantCode(t, err, "ResourceNotFoundException", "not found")
			_, err = at.items.DeleteTable(t.Context(), &sdk.DeleteTableInput{TableName: &name})
			at.wantCode(t, err, "ResourceNotFoundException", "not found")
		}},
		{"a protected table is not deleted", func(t testing.TB, at *endpoint) {
			if at.engine == nil {
				t.Skip("would leave a table behind: UpdateTable is not part of the subset")
			}
			in := inboxShape()
			in.TableName, in.DeletionProtectionEnabled = aws.String(uniqueName()), aws.Bool(true)
			in.SSESpecification, in.Tags = &types.SSESpecification{Enabled: aws.Bool(true)}, []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}
			_, err := at.items.CreateTable(t.Context(), in)
			noError(t, err)
			_, err = at.items.DeleteTable(t.Context(), &sdk.DeleteTableInput{TableName: in.TableName})
			at.wantCode(t, err, "ValidationException", "protected against deletion")
		}},
		{"tables are listed page by page", func(t testing.TB, at *endpoint) {
			var want, got []string
			for range 3 {
				want = append(want, at.holdsTable(t))
			}
			pages := sdk.NewListTablesPaginator(at.items, &sdk.ListTablesInput{Limit: aws.Int32(2)})
			for pages.HasMorePages() {
				page, err := pages.NextPage(t.Context())
				noError(t, err)
				got = append(got, page.TableNames...)
			}
			for _, name := range want {
				if !slices.Contains(got, name) {
					t.Errorf("%s is not listed", name)
				}
			}
		}},
		{"a key schema must be defined", func(t testing.TB, at *endpoint) {
			in := inboxShape()
			in.TableName, in.AttributeDefinitions = aws.String(uniqueName()), in.AttributeDefinitions[1:]
			_, err := at.items.CreateTable(t.Context(), in)
			at.wantCode(t, err, "ValidationException", "not defined in AttributeDefinitions. Keys: [pk]")
		}},
		{"a table name has at least three characters", func(t testing.TB, at *endpoint) {
			in := inboxShape()
			in.TableName = aws.String("ab")
			_, err := at.items.CreateTable(t.Context(), in)
			at.wantCode(t, err, "ValidationException", "tableName")
		}},
		{"an index name is given once", func(t testing.TB, at *endpoint) {
			in := inboxShape()
			in.TableName, in.GlobalSecondaryIndexes = aws.String(uniqueName()), append(in.GlobalSecondaryIndexes, in.GlobalSecondaryIndexes[0])
			_, err := at.items.CreateTable(t.Context(), in)
			at.wantCode(t, err, "ValidationException", "Duplicate index name: open")
		}},
		{"exactly an INCLUDE projection names attributes", func(t testing.TB, at *endpoint) {
			in := inboxShape()
			in.TableName, in.GlobalSecondaryIndexes[0].Projection.ProjectionType = aws.String(uniqueName()), types.ProjectionTypeKeysOnly
			_, err := at.items.CreateTable(t.Context(), in)
			at.wantCode(t, err, "ValidationException", "exactly INCLUDE has NonKeyAttributes")
		}},
		{"a definition must be used", func(t testing.TB, at *endpoint) {
			in := inboxShape()
			in.TableName = aws.String(uniqueName())
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String("extra"), AttributeType: "S"})
			_, err := at.items.CreateTable(t.Context(), in)
			at.wantCode(t, err, "ValidationException", "AttributeDefinitions: [extra]")
		}},
		{"a provisioned table needs its capacity", func(t testing.TB, at *endpoint) {
			in := inboxShape()
			in.TableName, in.BillingMode = aws.String(uniqueName()), types.BillingModeProvisioned
			_, err := at.items.CreateTable(t.Context(), in)
			at.wantCode(t, err, "ValidationException", "must both be specified")
		}},
		{"a stream that is off has no view type", func(t testing.TB, at *endpoint) {
			in := inboxShape()
			in.TableName, in.StreamSpecification.StreamEnabled = aws.String(uniqueName()), aws.Bool(false)
			_, err := at.items.CreateTable(t.Context(), in)
			at.wantCode(t, err, "ValidationException", "created with a stream disabled")
		}},
	}
}

func timeToLiveChecks() []check {
	enable := func(t testing.TB, at *endpoint, table, name string, on bool) error {
		_, err := at.items.UpdateTimeToLive(t.Context(), &sdk.UpdateTimeToLiveInput{TableName: &table,
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &name, Enabled: &on}})
		return err
	}
	describe := func(t testing.TB, at *endpoint, table string) string {
		d, err := at.items.DescribeTimeToLive(t.Context(), &sdk.DescribeTimeToLiveInput{TableName: &table})
		noError(t, err)
		return fmt.Sprint(d.TimeToLiveDescription.TimeToLiveStatus, " ", aws.ToString(d.TimeToLiveDescription.AttributeName))
	}
	return []check{
		{"the time to live is off at first", func(t testing.TB, at *endpoint) {
			if got := describe(t, at, at.inboxTable(t)); got != "DISABLED " {
				t.Error(got)
			}
		}},
		{"the time to live names its attribute", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			noError(t, enable(t, at, table, "ttl", true))
			if got := describe(t, at, table); got != "ENABLED ttl" && got != "ENABLING ttl" {
				t.Error(got)
			}
		}},
		{"the time to live cannot be enabled twice", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			noError(t, enable(t, at, table, "ttl", true))
			at.wantCode(t, enable(t, at, table, "ttl", true), "ValidationException", "already enabled")
			at.wantCode(t, enable(t, at, table, "other", true), "ValidationException", "different AttributeName: current AttributeName is ttl")
		}},
		{"the time to live cannot be disabled twice", func(t testing.TB, at *endpoint) {
			at.wantCode(t, enable(t, at, at.inboxTable(t), "ttl", false), "ValidationException", "already disabled")
		}},
		{"an expired item is readable until it is removed", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			noError(t, enable(t, at, table, "ttl", true))
			past := with(key("k"), item{"ttl": count(int(time.Now().Add(-time.Hour).Unix()))})
			at.put(t, table, past)
			if d := diff(past, at.get(t, table, key("k"))); d != "" {
				t.Error(d)
			}
		}},
	}
}

// Removal happens within days at AWS, so it can only be asked of the local engine.
func TestExpiredItemsAreRemovedByTheService(t *testing.T) {
	t.Parallel()
	at := connect(t)
	if at.engine == nil {
		t.Skip("only the local engine removes expired items when asked")
	}
	table := at.inboxTable(t)
	on, name := true, "ttl"
	_, err := at.items.UpdateTimeToLive(t.Context(), &sdk.UpdateTimeToLiveInput{TableName: &table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &name, Enabled: &on}})
	noError(t, err)
	now := int(at.clock.now().Unix())
	kept := map[string]types.AttributeValue{
		"later":      count(now + 60),
		"now":        count(now),
		"a text":     str("1"),
		"long ago":   count(now - 6*365*24*3600), // more than five years past is taken for a mistake in the unit
		"in seconds": num("0"),
	}
	at.put(t, table, with(openRun("expired", "done", 1), item{"ttl": count(now - 1)}))
	for pk, v := range kept {
		at.put(t, table, with(key(pk), item{"ttl": v}))
	}
	at.put(t, table, key("without"))
	if got := at.engine.ExpireItems(); got != 1 {
		t.Errorf("%d items removed, want 1", got)
	}
	if got := at.get(t, table, key("expired")); got != nil {
		t.Errorf("still there: %v", got)
	}
	for pk := range kept {
		if at.get(t, table, key(pk)) == nil {
			t.Errorf("%s is gone", pk)
		}
	}
	at.settledRuns(t, table, nil)
	records := at.records(t, at.streamOf(t, table), 8)
	last := records[len(records)-1]
	if last.EventName != "REMOVE" || last.UserIdentity == nil || aws.ToString(last.UserIdentity.Type) != "Service" ||
		aws.ToString(last.UserIdentity.PrincipalId) != "dynamodb.amazonaws.com" {
		t.Errorf("record %s by %+v", last.EventName, last.UserIdentity)
	}
}

func batchChecks() []check {
	put := func(pk string) types.WriteRequest {
		return types.WriteRequest{PutRequest: &types.PutRequest{Item: key(pk)}}
	}
	return []check{
		{"a batch writes and reads", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, key("gone"))
			out, err := at.items.BatchWriteItem(t.Context(), &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
				table: {put("a"), put("b"), {DeleteRequest: &types.DeleteRequest{Key: key("gone")}}}}})
			noError(t, err)
			if len(out.UnprocessedItems) > 0 {
				t.Errorf("unprocessed: %v", out.UnprocessedItems)
			}
			got, err := at.items.BatchGetItem(t.Context(), &sdk.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
				table: {Keys: []map[string]types.AttributeValue{key("a"), key("gone"), key("b")}, ConsistentRead: aws.Bool(true)}}})
			noError(t, err)
			if len(got.Responses[table]) != 2 {
				t.Errorf("items %v", got.Responses[table])
			}
		}},
		{"a batch refuses one item twice", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			_, err := at.items.BatchWriteItem(t.Context(), &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: {put("a"), put("a")}}})
			at.wantCode(t, err, "ValidationException", "duplicates")
		}},
		{"a batch takes at most 100 reads", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			var keys []map[string]types.AttributeValue
			for i := range 101 {
				keys = append(keys, key(fmt.Sprint("k", i)))
			}
			_, err := at.items.BatchGetItem(t.Context(), &sdk.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{table: {Keys: keys}}})
			at.wantCode(t, err, "ValidationException", "between 1 and 100")
		}},
		{"a batch takes at most 25 writes", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			var puts []types.WriteRequest
			for i := range 26 {
				puts = append(puts, put(fmt.Sprint("k", i)))
			}
			_, err := at.items.BatchWriteItem(t.Context(), &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: puts}})
			at.wantCode(t, err, "ValidationException", "between 1 and 25")
		}},
	}
}
