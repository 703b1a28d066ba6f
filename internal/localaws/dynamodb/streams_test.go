package dynamodb_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

func streamChecks() []check {
	return []check{
		{"each change leaves one record with its images", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			one, two := with(key("k"), item{"n": num("1")}), with(key("k"), item{"n": num("2"), "m": object(item{"a": yes(false)})})
			at.put(t, table, one)
			at.put(t, table, two)
			_, err := at.items.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: &table, Key: key("k")})
			noError(t, err)
			want := []event{{"INSERT", key("k"), nil, one}, {"MODIFY", key("k"), one, two}, {"REMOVE", key("k"), two, nil}}
			if d := diffInOrder(want, events(t, at.records(t, at.streamOf(t, table), 3), "")); d != "" {
				t.Error(d)
			}
		}},
		{"a change deep inside an item leaves both images whole", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			one := with(key("k"), item{"m": object(item{"a": num("1"), "b": num("2")}), "l": list(num("1"), num("2")),
				"n": object(item{"a": num("1")}), "o": list(num("1"), num("2"))})
			two := with(key("k"), item{"m": object(item{"b": num("2")}), "l": list(num("2")),
				"n": object(item{"a": num("3")}), "o": list(num("3"), num("2"))})
			at.put(t, table, one)
			_, err := at.items.UpdateItem(t.Context(), &sdk.UpdateItemInput{TableName: &table, Key: key("k"),
				UpdateExpression: aws.String("REMOVE m.a, l[0] SET n.a = :v, o[0] = :v"), ExpressionAttributeValues: item{":v": num("3")}})
			noError(t, err)
			want := []event{{"INSERT", key("k"), nil, one}, {"MODIFY", key("k"), one, two}}
			if d := diffInOrder(want, events(t, at.records(t, at.streamOf(t, table), 2), "")); d != "" {
				t.Error(d)
			}
		}},
		{"an answer holds at most a megabyte of records, the next one continues", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			for i := range 4 {
				at.put(t, table, with(key("k"), item{"n": count(i), "big": str(strings.Repeat("x", 300<<10))}))
			}
			arn := at.streamOf(t, table)
			if got := at.records(t, arn, 4); len(got) != 4 {
				t.Errorf("%d records, want 4", len(got))
			}
			for _, s := range at.shards(t, arn) {
				got, _ := at.read(t, at.iterator(t, arn, s, streamtypes.ShardIteratorTypeTrimHorizon, nil))
				if len(got) > 3 {
					t.Errorf("%d records of 300 KB and more in one answer", len(got))
				}
			}
		}},
		{"an answer holds at most as many records as asked for", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			for i := range 4 {
				at.put(t, table, with(key("k"), item{"n": count(i)}))
			}
			arn := at.streamOf(t, table)
			at.records(t, arn, 4)
			for _, s := range at.shards(t, arn) {
				out, err := at.streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{Limit: aws.Int32(3),
					ShardIterator: at.iterator(t, arn, s, streamtypes.ShardIteratorTypeTrimHorizon, nil)})
				noError(t, err)
				if len(out.Records) > 3 {
					t.Errorf("%d records, want at most 3", len(out.Records))
				}
			}
		}},
		{"a put of what is there leaves no record", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, with(key("k"), item{"n": num("1"), "s": strs("a", "b")}))
			at.put(t, table, with(key("k"), item{"n": num("1.0"), "s": strs("b", "a")}))
			at.put(t, table, key("end"))
			at.wantNames(t, table, "INSERT k, INSERT end")
		}},
		{"an update that changes nothing leaves no record", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, with(key("k"), item{"n": num("1")}))
			_, err := at.items.UpdateItem(t.Context(), &sdk.UpdateItemInput{TableName: &table, Key: key("k"),
				UpdateExpression: aws.String("SET n = :v REMOVE wake"), ExpressionAttributeValues: item{":v": num("1")}})
			noError(t, err)
			at.put(t, table, key("end"))
			at.wantNames(t, table, "INSERT k, INSERT end")
		}},
		{"a delete of nothing leaves no record", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			_, err := at.items.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: &table, Key: key("k")})
			noError(t, err)
			at.put(t, table, key("end"))
			at.wantNames(t, table, "INSERT end")
		}},
		{"a refused write leaves no record", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, key("k"))
			_, err := at.items.PutItem(t.Context(), &sdk.PutItemInput{TableName: &table, Item: with(key("k"), item{"n": num("1")}),
				ConditionExpression: aws.String("attribute_not_exists(pk)")})
			at.wantCode(t, err, "ConditionalCheckFailedException", "")
			at.put(t, table, key("end"))
			at.wantNames(t, table, "INSERT k, INSERT end")
		}},
		{"a cancelled transaction leaves no record", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, key("taken"))
			reasons(t, at.transact(t, claim(table, "ghost", "me"), claim(table, "taken", "me")))
			at.put(t, table, key("end"))
			at.wantNames(t, table, "INSERT taken, INSERT end")
		}},
		{"a committed transaction leaves a record for each item it changed", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, key("checked"))
			noError(t, at.transact(t, claim(table, "a", "me"), claim(table, "b", "me"),
				types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: &table, Key: key("checked"), ConditionExpression: aws.String("attribute_exists(pk)")}}))
			at.wantNames(t, table, "INSERT checked, INSERT a, INSERT b")
		}},
		{"changes of one key come in their order, whoever made them", keyOrder},
		{"sequence numbers are unique and grow", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			for i := range 12 {
				at.put(t, table, with(key("k"), item{"n": count(i)}))
			}
			var numbers, ids []string
			for _, r := range at.records(t, at.streamOf(t, table), 12) {
				numbers = append(numbers, fmt.Sprintf("%040s", aws.ToString(r.Dynamodb.SequenceNumber)))
				ids = append(ids, aws.ToString(r.EventID))
			}
			if len(numbers) != 12 || !slices.IsSorted(numbers) || len(slices.Compact(numbers)) != 12 {
				t.Errorf("sequence numbers %v", numbers)
			}
			slices.Sort(ids)
			if len(slices.Compact(ids)) != 12 {
				t.Errorf("event ids %v", ids)
			}
		}},
		{"a reader resumes at and after a sequence number", resume},
		{"a LATEST iterator shows only what comes later", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			arn := at.streamOf(t, table)
			at.put(t, table, key("before"))
			at.records(t, arn, 1)
			var cursors []*string
			for _, s := range at.shards(t, arn) {
				cursors = append(cursors, at.iterator(t, arn, s, streamtypes.ShardIteratorTypeLatest, nil))
			}
			at.put(t, table, key("after"))
			var got []streamtypes.Record
			at.settles(t.Context(), func() bool {
				for i := range cursors {
					var more []streamtypes.Record
					more, cursors[i] = at.read(t, cursors[i])
					got = append(got, more...)
				}
				return len(got) > 0
			})
			if d := diffInOrder([]event{{"INSERT", key("after"), nil, key("after")}}, events(t, got, "")); d != "" {
				t.Error(d)
			}
		}},
		{"a record says what kind of record it is", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, key("k"))
			r := at.records(t, at.streamOf(t, table), 1)[0]
			got := []string{aws.ToString(r.EventSource), aws.ToString(r.EventVersion), string(r.Dynamodb.StreamViewType)}
			if d := diffInOrder([]string{"aws:dynamodb", "1.1", "NEW_AND_OLD_IMAGES"}, got); d != "" {
				t.Error(d)
			}
			if r.Dynamodb.ApproximateCreationDateTime == nil || aws.ToInt64(r.Dynamodb.SizeBytes) == 0 || r.UserIdentity != nil {
				t.Errorf("created %v, size %v, identity %v", r.Dynamodb.ApproximateCreationDateTime, r.Dynamodb.SizeBytes, r.UserIdentity)
			}
		}},
		{"a stream names its table and is the table's latest", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			l, err := at.streams.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{TableName: &table})
			noError(t, err)
			if len(l.Streams) != 1 || aws.ToString(l.Streams[0].StreamArn) != at.streamOf(t, table) || aws.ToString(l.Streams[0].TableName) != table {
				t.Errorf("streams %v", l.Streams)
			}
		}},
		{"a shard iterator wants a stream and a shard that exist", func(t testing.TB, at *endpoint) {
			arn := at.streamOf(t, at.inboxTable(t))
			for _, in := range []*dynamodbstreams.GetShardIteratorInput{
				{StreamArn: &arn, ShardId: aws.String("shardId-00000000000000000000-00000000")},
				{StreamArn: aws.String(strings.Replace(arn, "custody-suite", "custody-other", 1)), ShardId: at.shards(t, arn)[0].ShardId},
			} {
				in.ShardIteratorType = streamtypes.ShardIteratorTypeTrimHorizon
				_, err := at.streams.GetShardIterator(t.Context(), in)
				at.wantCode(t, err, "ResourceNotFoundException", "not found")
			}
		}},
		{"view type KEYS_ONLY shows keys alone", viewType(types.StreamViewTypeKeysOnly, false, false)},
		{"view type NEW_IMAGE shows the new item", viewType(types.StreamViewTypeNewImage, false, true)},
		{"view type OLD_IMAGE shows the old item", viewType(types.StreamViewTypeOldImage, true, false)},
	}
}

// wantNames compares the event names and keys of a whole stream. Checks about absent records end with a write that does
// leave one, so that its arrival shows that nothing else was still on its way.
func (at *endpoint) wantNames(t testing.TB, table, want string) {
	t.Helper()
	var got []string
	for _, e := range events(t, at.records(t, at.streamOf(t, table), strings.Count(want, ",")+1), "") {
		got = append(got, e.Name+" "+e.Keys["pk"].(*types.AttributeValueMemberS).Value)
	}
	wanted := strings.Split(want, ", ")
	slices.Sort(got) // shards of other engines have no common order
	slices.Sort(wanted)
	if d := diffInOrder(wanted, got); d != "" {
		t.Error(d)
	}
}

func viewType(view types.StreamViewType, old, fresh bool) func(testing.TB, *endpoint) {
	return func(t testing.TB, at *endpoint) {
		in := inboxShape()
		in.StreamSpecification.StreamViewType = view
		table := at.create(t, in)
		one, two := with(key("k"), item{"n": num("1")}), with(key("k"), item{"n": num("2")})
		at.put(t, table, one)
		at.put(t, table, two)
		want := []event{{Name: "INSERT", Keys: key("k")}, {Name: "MODIFY", Keys: key("k")}}
		if old {
			want[1].Old = one
		}
		if fresh {
			want[0].New, want[1].New = one, two
		}
		if d := diffInOrder(want, events(t, at.records(t, at.streamOf(t, table), 2), "")); d != "" {
			t.Error(d)
		}
	}
}

// keyOrder lets eight writers push the same counters forward by conditional writes.
func keyOrder(t testing.TB, at *endpoint) {
	table := at.inboxTable(t)
	const keys, steps = 5, 4
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for step := range steps {
				for k := range keys {
					_, err := at.items.UpdateItem(t.Context(), &sdk.UpdateItemInput{TableName: &table, Key: key(fmt.Sprint("k", k)),
						UpdateExpression: aws.String("SET n = :n"), ConditionExpression: aws.String("n = :o OR attribute_not_exists(n) AND :n = :z"),
						ExpressionAttributeValues: item{":n": count(step), ":o": count(step - 1), ":z": count(0)}})
					if c := code(err); c != "" && c != "ConditionalCheckFailedException" {
						t.Errorf("step %d: %v", step, err)
					}
				}
			}
		})
	}
	wg.Wait()
	records := at.records(t, at.streamOf(t, table), keys*steps)
	for k := range keys {
		var got []string
		for _, e := range events(t, records, fmt.Sprint("k", k)) {
			got = append(got, e.Name+" "+e.New["n"].(*types.AttributeValueMemberN).Value)
		}
		if d := diffInOrder([]string{"INSERT 0", "MODIFY 1", "MODIFY 2", "MODIFY 3"}, got); d != "" {
			t.Error(d)
		}
	}
}

// resume reads again from the middle of one key's changes.
func resume(t testing.TB, at *endpoint) {
	table := at.inboxTable(t)
	for i := range 6 {
		at.put(t, table, with(key("k"), item{"n": count(i)}))
	}
	arn := at.streamOf(t, table)
	all := at.records(t, arn, 6)
	if len(all) != 6 {
		t.Fatalf("%d records, want 6", len(all))
	}
	for kind, want := range map[streamtypes.ShardIteratorType]int{
		streamtypes.ShardIteratorTypeAtSequenceNumber: 4, streamtypes.ShardIteratorTypeAfterSequenceNumber: 3,
	} {
		var got []streamtypes.Record
		for _, s := range at.shards(t, arn) {
			it, err := at.streams.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
				StreamArn: &arn, ShardId: s.ShardId, ShardIteratorType: kind, SequenceNumber: all[2].Dynamodb.SequenceNumber})
			if err != nil {
				continue // the number belongs to another shard
			}
			for cursor, quiet := it.ShardIterator, 0; cursor != nil && quiet < 5 && len(got) < want; quiet++ {
				var more []streamtypes.Record
				more, cursor = at.read(t, cursor)
				got = append(got, more...)
			}
		}
		if d := diffInOrder(events(t, all[6-want:], ""), events(t, got, "")); d != "" {
			t.Errorf("%s: %s", kind, d)
		}
	}
}

func TestAnIteratorExpiresAfterFifteenMinutes(t *testing.T) {
	t.Parallel()
	at := connect(t)
	if at.clock == nil {
		t.Skip("needs the local engine's clock")
	}
	arn := at.streamOf(t, at.inboxTable(t))
	cursor := at.iterator(t, arn, at.shards(t, arn)[0], streamtypes.ShardIteratorTypeTrimHorizon, nil)
	at.clock.advance(15 * time.Minute)
	at.read(t, cursor)
	at.clock.advance(time.Second)
	_, err := at.streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: cursor})
	at.wantCode(t, err, "ExpiredIteratorException", "expired")
}

func TestTheStreamOfADeletedTableCanStillBeReadToItsEnd(t *testing.T) {
	t.Parallel()
	at := connect(t)
	if at.engine == nil {
		t.Skip("how long a stream outlives its table is the engine's affair; the local one keeps it")
	}
	table := at.inboxTable(t)
	at.put(t, table, key("k"))
	arn := at.streamOf(t, table)
	_, err := at.items.DeleteTable(t.Context(), &sdk.DeleteTableInput{TableName: &table})
	noError(t, err)
	shard := at.shards(t, arn)[0]
	if shard.SequenceNumberRange.EndingSequenceNumber == nil {
		t.Error("the shard has no end")
	}
	got, next := at.read(t, at.iterator(t, arn, shard, streamtypes.ShardIteratorTypeTrimHorizon, nil))
	if len(got) != 1 || next != nil {
		t.Errorf("%d records, next %v; want 1 and no next", len(got), aws.ToString(next))
	}
}
