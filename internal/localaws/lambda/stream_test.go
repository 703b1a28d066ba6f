package lambda_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// memoryStream is a stream without HTTP, for tests in a bubble of synctest. Sequence numbers count from 1.
type memoryStream struct {
	mu     sync.Mutex
	shards []*memoryShard
	next   int
	fail   map[string]error // the next error of an operation
	began  map[string]int   // shard iterators by type
}

type memoryShard struct {
	id, parent string
	records    []types.Record
	closed     bool
}

func newStream(shards ...*memoryShard) *memoryStream {
	return &memoryStream{shards: shards, fail: map[string]error{}, began: map[string]int{}}
}

func (s *memoryStream) failure(operation string) error {
	err := s.fail[operation]
	delete(s.fail, operation)
	return err
}

func (s *memoryStream) failNext(operation string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[operation] = err
}

// put appends a record whose new image carries a wake, written now.
func (s *memoryStream) put(shard *memoryShard, pk string) string {
	return s.write(shard, pk, map[string]types.AttributeValue{
		"pk":   &types.AttributeValueMemberS{Value: pk},
		"wake": &types.AttributeValueMemberS{Value: "w"},
	})
}

func (s *memoryStream) write(shard *memoryShard, pk string, image map[string]types.AttributeValue) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	sequence := strconv.Itoa(s.next)
	shard.records = append(shard.records, types.Record{
		AwsRegion: aws.String("us-east-1"), EventID: aws.String("e" + sequence), EventName: types.OperationTypeModify,
		EventSource: aws.String("aws:dynamodb"), EventVersion: aws.String("1.1"),
		Dynamodb: &types.StreamRecord{
			ApproximateCreationDateTime: aws.Time(time.Now().Truncate(time.Second)),
			Keys:                        map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}},
			NewImage:                    image,
			SequenceNumber:              &sequence,
			SizeBytes:                   aws.Int64(10),
			StreamViewType:              types.StreamViewTypeNewAndOldImages,
		},
	})
	return sequence
}

func (s *memoryStream) closeShard(shard *memoryShard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shard.closed = true
}

func (s *memoryStream) addShard(shard *memoryShard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards = append(s.shards, shard)
}

// DescribeStream answers one shard a page, so that pages are always crossed.
func (s *memoryStream) DescribeStream(_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure("DescribeStream"); err != nil {
		return nil, err
	}
	description := &types.StreamDescription{
		StreamArn: in.StreamArn,
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	}
	at := 0
	for i, shard := range s.shards {
		if shard.id == aws.ToString(in.ExclusiveStartShardId) {
			at = i + 1
		}
	}
	if at < len(s.shards) {
		shard := s.shards[at]
		description.Shards = []types.Shard{{ShardId: aws.String(shard.id)}}
		if shard.parent != "" {
			description.Shards[0].ParentShardId = aws.String(shard.parent)
		}
		if at+1 < len(s.shards) {
			description.LastEvaluatedShardId = aws.String(shard.id)
		}
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: description}, nil
}

func (s *memoryStream) GetShardIterator(_ context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure("GetShardIterator"); err != nil {
		return nil, err
	}
	s.began[string(in.ShardIteratorType)]++
	at := 0
	if in.ShardIteratorType == types.ShardIteratorTypeAfterSequenceNumber {
		for i, r := range s.shard(*in.ShardId).records {
			if *r.Dynamodb.SequenceNumber == *in.SequenceNumber {
				at = i + 1
			}
		}
	}
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: aws.String(fmt.Sprintf("%s/%d", *in.ShardId, at))}, nil
}

func (s *memoryStream) shard(id string) *memoryShard {
	for _, shard := range s.shards {
		if shard.id == id {
			return shard
		}
	}
	panic("no shard " + id)
}

// GetRecords answers two records at a time.
func (s *memoryStream) GetRecords(_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure("GetRecords"); err != nil {
		return nil, err
	}
	id, text, _ := strings.Cut(*in.ShardIterator, "/")
	at, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	shard := s.shard(id)
	end := min(at+2, len(shard.records))
	out := &dynamodbstreams.GetRecordsOutput{Records: shard.records[at:end]}
	if !shard.closed || end < len(shard.records) {
		out.NextShardIterator = aws.String(fmt.Sprintf("%s/%d", id, end))
	}
	return out, nil
}
