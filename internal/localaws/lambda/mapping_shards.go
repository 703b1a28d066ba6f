package lambda

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// readStream looks for shards again and again and reads each in a goroutine of its own. A shard waits for its
// parent, so that a key whose records are in both keeps its order.
func (m *Mapping) readStream(ctx context.Context) {
	shards := &shardBook{done: map[string]bool{}, known: map[string]bool{}}
	for {
		description, err := m.describe(ctx)
		if err != nil && ctx.Err() == nil {
			m.options.OnError(err)
		}
		for _, shard := range shards.readable(description.Shards) {
			m.work.Go(func() {
				m.readShard(ctx, shard, partitionKey(description.KeySchema))
				shards.finish(shard)
			})
		}
		if !pause(ctx, m.options.Poll) {
			return
		}
	}
}

// describe lists every shard, page by page.
func (m *Mapping) describe(ctx context.Context) (types.StreamDescription, error) {
	var whole types.StreamDescription
	input := &dynamodbstreams.DescribeStreamInput{StreamArn: &m.options.StreamARN}
	for {
		out, err := m.options.Streams.DescribeStream(ctx, input)
		if err != nil {
			return whole, fmt.Errorf("describe stream %s: %w", m.options.StreamARN, err)
		}
		whole.KeySchema = out.StreamDescription.KeySchema
		whole.Shards = append(whole.Shards, out.StreamDescription.Shards...)
		if out.StreamDescription.LastEvaluatedShardId == nil {
			return whole, nil
		}
		input.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId
	}
}

func partitionKey(schema []types.KeySchemaElement) string {
	for _, element := range schema {
		if element.KeyType == types.KeyTypeHash {
			return aws.ToString(element.AttributeName)
		}
	}
	return ""
}

// shardBook remembers which shards are read and which are through.
type shardBook struct {
	mu    sync.Mutex
	known map[string]bool
	done  map[string]bool
}

// readable picks the shards that nobody reads yet and whose parent is through or no longer listed.
func (b *shardBook) readable(shards []types.Shard) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	listed := make(map[string]bool, len(shards))
	for _, shard := range shards {
		listed[aws.ToString(shard.ShardId)] = true
	}
	var ready []string
	for _, shard := range shards {
		id, parent := aws.ToString(shard.ShardId), aws.ToString(shard.ParentShardId)
		if b.known[id] || (listed[parent] && !b.done[parent]) {
			continue
		}
		b.known[id] = true
		ready = append(ready, id)
	}
	return ready
}

func (b *shardBook) finish(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done[id] = true
}

// readShard hands a shard's records to its lanes until the shard is closed and its lanes are through.
func (m *Mapping) readShard(ctx context.Context, shardID, key string) {
	lanes := m.openLanes(ctx, shardID, key)
	defer lanes.close()
	position := shardPosition{mapping: m, shardID: shardID}
	for m.valve.pass(ctx) {
		records, end, err := position.read(ctx)
		for _, record := range records {
			lanes.add(record)
		}
		switch {
		case end:
			return
		case err != nil && ctx.Err() == nil:
			m.options.OnError(err)
		}
		if len(records) == 0 && !pause(ctx, m.options.Poll) {
			return
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// shardPosition is the place in a shard: an iterator, and the last record to make a new one from.
type shardPosition struct {
	mapping  *Mapping
	shardID  string
	iterator *string
	last     *string
}

// read fetches the next records. end is true behind the last record of a closed shard.
func (p *shardPosition) read(ctx context.Context) (records []types.Record, end bool, err error) {
	if p.iterator == nil {
		if err := p.open(ctx); err != nil {
			return nil, false, err
		}
	}
	out, err := p.mapping.options.Streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: p.iterator})
	if err != nil {
		p.lose(err)
		return nil, false, fmt.Errorf("read shard %s: %w", p.shardID, err)
	}
	for _, record := range out.Records {
		p.last = record.Dynamodb.SequenceNumber
	}
	p.iterator = out.NextShardIterator
	return out.Records, p.iterator == nil, nil
}

func (p *shardPosition) open(ctx context.Context) error {
	input := &dynamodbstreams.GetShardIteratorInput{StreamArn: &p.mapping.options.StreamARN, ShardId: &p.shardID,
		ShardIteratorType: types.ShardIteratorTypeTrimHorizon}
	if p.last != nil {
		input.ShardIteratorType, input.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, p.last
	}
	out, err := p.mapping.options.Streams.GetShardIterator(ctx, input)
	if err != nil {
		p.lose(err)
		return fmt.Errorf("open shard %s: %w", p.shardID, err)
	}
	p.iterator = out.ShardIterator
	return nil
}

// lose forgets an iterator that is too old, and a place that the stream has trimmed: what is left is read from
// its start. After any other error the same iterator is tried again.
func (p *shardPosition) lose(err error) {
	if _, expired := errors.AsType[*types.ExpiredIteratorException](err); expired {
		p.iterator = nil
	}
	if _, trimmed := errors.AsType[*types.TrimmedDataAccessException](err); trimmed {
		p.iterator, p.last = nil, nil
	}
}

// arrival is when the record was written, to the second.
func arrival(record types.Record) time.Time {
	return aws.ToTime(record.Dynamodb.ApproximateCreationDateTime)
}
