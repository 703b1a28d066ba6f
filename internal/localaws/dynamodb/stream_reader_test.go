package dynamodb_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// event is what a check compares of a stream record.
type event struct {
	Name     string
	Keys     item
	Old, New item
}

func (at *endpoint) streamOf(t testing.TB, table string) string {
	t.Helper()
	d, err := at.items.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: &table})
	noError(t, err)
	return aws.ToString(d.Table.LatestStreamArn)
}

func (at *endpoint) shards(t testing.TB, arn string) []streamtypes.Shard {
	t.Helper()
	var shards []streamtypes.Shard
	if !at.settles(t.Context(), func() bool {
		d, err := at.streams.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
		noError(t, err)
		shards = d.StreamDescription.Shards
		return len(shards) > 0
	}) {
		t.Fatalf("stream %s has no shard", arn)
	}
	return shards
}

// records reads every shard from its beginning to its end, or until as many are there as wanted and nothing follows.
func (at *endpoint) records(t testing.TB, arn string, want int) []streamtypes.Record {
	t.Helper()
	var cursors []*string
	for _, s := range at.shards(t, arn) {
		cursors = append(cursors, at.iterator(t, arn, s, streamtypes.ShardIteratorTypeTrimHorizon, nil))
	}
	var out []streamtypes.Record
	at.settles(t.Context(), func() bool {
		fresh := 0
		for i := range cursors {
			for more := true; more; { // what follows an empty answer comes in a later round
				var got []streamtypes.Record
				got, cursors[i] = at.read(t, cursors[i])
				out, fresh, more = append(out, got...), fresh+len(got), len(got) > 0
			}
		}
		return len(out) >= want && fresh == 0
	})
	return out
}

func (at *endpoint) iterator(t testing.TB, arn string, s streamtypes.Shard, kind streamtypes.ShardIteratorType, sequence *string) *string {
	t.Helper()
	it, err := at.streams.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn, ShardId: s.ShardId, ShardIteratorType: kind, SequenceNumber: sequence})
	noError(t, err)
	return it.ShardIterator
}

func (at *endpoint) read(t testing.TB, cursor *string) ([]streamtypes.Record, *string) {
	t.Helper()
	if cursor == nil {
		return nil, nil
	}
	out, err := at.streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: cursor})
	noError(t, err)
	return out.Records, out.NextShardIterator
}

// events turns records of one key into what is compared; "" takes all.
func events(t testing.TB, records []streamtypes.Record, pk string) []event {
	t.Helper()
	var out []event
	for _, r := range records {
		e := event{Name: string(r.EventName), Keys: plain(t, r.Dynamodb.Keys), Old: plain(t, r.Dynamodb.OldImage), New: plain(t, r.Dynamodb.NewImage)}
		if pk == "" || diff(key(pk), e.Keys) == "" {
			out = append(out, e)
		}
	}
	return out
}

func plain(t testing.TB, m map[string]streamtypes.AttributeValue) item {
	t.Helper()
	out, err := attributevalue.FromDynamoDBStreamsMap(m)
	noError(t, err)
	return out
}
