package lambda

import (
	"context"
	"hash/fnv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// lanes are the batches of one shard that run at once: as many as the parallelization factor, and every
// partition key has one of them for good, so that its records stay in order.
type lanes struct {
	mapping *Mapping
	shardID string
	key     string
	all     []*lane
	work    sync.WaitGroup
}

func (m *Mapping) openLanes(ctx context.Context, shardID, key string) *lanes {
	l := &lanes{mapping: m, shardID: shardID, key: key}
	for range m.options.Settings.ParallelizationFactor {
		one := &lane{mapping: m, shardID: shardID, news: make(chan struct{}, 1)}
		l.all = append(l.all, one)
		l.work.Go(func() { one.run(ctx) })
	}
	return l
}

// add puts a record that passes the filter behind those of its key.
func (l *lanes) add(record types.Record) {
	item := laneItem{event: recordEvent(record, l.mapping.options.StreamARN),
		sequence: aws.ToString(record.Dynamodb.SequenceNumber), arrival: arrival(record)}
	passes, err := l.mapping.passes(item.event)
	if err != nil {
		l.mapping.options.OnError(err)
		return
	}
	if passes {
		l.all[l.index(record)].add(item)
	}
}

func (l *lanes) index(record types.Record) int {
	hash := fnv.New32a()
	hash.Write(attributeJSON(record.Dynamodb.Keys[l.key])) // never fails, by its documentation
	return int(hash.Sum32() % uint32(len(l.all)))
}

// close waits until every lane is through with what it has.
func (l *lanes) close() {
	for _, one := range l.all {
		one.end()
	}
	l.work.Wait()
}

// laneItem is one record on its way to the function.
type laneItem struct {
	event    []byte
	sequence string
	arrival  time.Time
}

// lane works through its records one batch after the other. Its queue has no bound: a lane that is held up by
// retries must not hold up the shard, and the process lives for one developer's session.
type lane struct {
	mapping *Mapping
	shardID string
	news    chan struct{} // one token: the queue changed

	mu     sync.Mutex
	queue  []laneItem
	closed bool
}

func (l *lane) add(item laneItem) {
	l.mu.Lock()
	l.queue = append(l.queue, item)
	l.mu.Unlock()
	l.tell()
}

func (l *lane) end() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.tell()
}

func (l *lane) tell() {
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (l *lane) run(ctx context.Context) {
	for {
		batch, closed := l.take()
		switch {
		case len(batch) > 0:
			if !l.deliver(ctx, batch) {
				return
			}
		case closed:
			return
		default:
			select {
			case <-l.news:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (l *lane) take() (batch []laneItem, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.queue), l.mapping.options.Settings.BatchSize)
	batch, l.queue = l.queue[:n:n], l.queue[n:]
	return batch, l.closed
}
