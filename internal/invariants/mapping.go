package invariants

import (
	"encoding/json"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/localaws/lambda"
)

// StreamFault is what happens to one record that starts a slice.
type StreamFault struct {
	Lose    bool          // the record never comes: a gap in the stream
	Again   bool          // the record comes twice
	Delay   time.Duration // before it is handed over
	Abandon time.Duration // after this the mapping loses sight of its first invocation, which goes on; 0: never
}

// mapping takes the inbox table's stream and hands the records that carry a wake to the cleanup function, as Lambda's mapping
// does: filtered by the template's own pattern, in order for each key, retried a bounded number of times, then dead-lettered.
// The world's lock guards it.
type mapping struct {
	world    *World
	filter   *lambda.Filter
	settings lambda.MappingSettings
	lanes    map[string]chan streamRecord
	matched  int // records that start a slice
	working  int // records that are handed over or wait for it
	dead     []string
}

// streamRecord is a record that starts a slice.
type streamRecord struct {
	events.DynamoDBEventRecord
	fault StreamFault
}

func newMapping(w *World) (*mapping, error) {
	settings := lambda.DefaultMapping()
	filter, err := lambda.NewFilter(settings.FilterPatterns[0])
	if err != nil {
		return nil, err
	}
	return &mapping{world: w, filter: filter, settings: settings, lanes: map[string]chan streamRecord{}}, nil
}

// hand puts a record that is new in the stream into the lane of its key.
func (m *mapping) hand(text []byte) {
	pass, err := m.filter.Matches(text)
	if err != nil {
		m.world.observer.violate("the filter cannot read a record: %v", err)
	}
	if !pass {
		return
	}
	var r streamRecord
	if err := json.Unmarshal(text, &r.DynamoDBEventRecord); err != nil {
		m.world.observer.violate("a record is not what the function takes: %v", err)
		return
	}
	m.matched++
	if f := m.world.options.Stream; f != nil {
		r.fault = f(m.matched)
	}
	if !r.fault.Lose {
		m.put(r)
	}
}

func (m *mapping) put(r streamRecord) {
	pk := r.Change.Keys["pk"].String()
	lane, there := m.lanes[pk]
	if !there {
		lane = make(chan streamRecord, 1000) // more than any world writes
		m.lanes[pk] = lane
		m.world.loops.Go(func() { m.lane(lane) })
	}
	m.working++
	lane <- r
	if r.fault.Again {
		r.fault = StreamFault{}
		m.working++
		lane <- r
	}
}

func (m *mapping) lane(records <-chan streamRecord) {
	for {
		select {
		case <-m.world.ctx.Done():
			return
		case r := <-records:
			m.world.Sleep(r.fault.Delay)
			m.deliver(r)
			m.world.mu.Lock()
			m.working--
			m.world.mu.Unlock()
		}
	}
}

// deliver hands a record over until it is through or given up.
func (m *mapping) deliver(r streamRecord) {
	wake, _ := r.Change.NewImage["wake"]
	t := task{run: r.Change.Keys["pk"].String(), record: r.EventID, wake: wake.String()}
	pause := time.Second
	for try := 0; ; try++ {
		response, err := m.world.clean(t, events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{r.DynamoDBEventRecord}}, r.fault.Abandon)
		r.fault.Abandon = 0
		switch {
		case m.world.ctx.Err() != nil:
			return
		case err == nil && len(response.BatchItemFailures) == 0:
			return
		case try == m.settings.MaximumRetryAttempts:
			m.world.mu.Lock()
			m.dead = append(m.dead, r.EventID)
			m.world.mu.Unlock()
			return
		}
		m.world.Sleep(pause)
		pause = min(2*pause, time.Minute)
	}
}

// stream reads what is new in the inbox table's stream. The world's lock is held.
func (w *World) stream() ([]json.RawMessage, error) {
	o := &w.observer
	if o.streamARN == "" {
		if err := w.findStream(); err != nil {
			return nil, err
		}
	}
	if o.iterator == "" || time.Since(o.iteratorMade) > iteratorAge {
		in := map[string]any{"StreamArn": o.streamARN, "ShardId": o.shard, "ShardIteratorType": "TRIM_HORIZON"}
		if o.seen != "" {
			in["ShardIteratorType"], in["SequenceNumber"] = "AFTER_SEQUENCE_NUMBER", o.seen
		}
		var at struct{ ShardIterator string }
		if err := w.db("DynamoDBStreams_20120810.GetShardIterator", in, &at); err != nil {
			return nil, err
		}
		o.iterator, o.iteratorMade = at.ShardIterator, time.Now()
	}
	var out struct {
		Records           []json.RawMessage
		NextShardIterator string
	}
	if err := w.db("DynamoDBStreams_20120810.GetRecords", map[string]any{"ShardIterator": o.iterator}, &out); err != nil {
		return nil, err
	}
	o.iterator, o.iteratorMade = out.NextShardIterator, time.Now()
	return out.Records, nil
}

// iteratorAge is when an iterator is replaced: it lives for 15 minutes.
const iteratorAge = 10 * time.Minute

func (w *World) findStream() error {
	var table struct {
		Table struct{ LatestStreamArn string }
	}
	if err := w.db("DynamoDB_20120810.DescribeTable", map[string]any{"TableName": inboxTable}, &table); err != nil {
		return err
	}
	var stream struct {
		StreamDescription struct{ Shards []struct{ ShardID string } }
	}
	if err := w.db("DynamoDBStreams_20120810.DescribeStream", map[string]any{"StreamArn": table.Table.LatestStreamArn}, &stream); err != nil {
		return err
	}
	w.observer.streamARN, w.observer.shard = table.Table.LatestStreamArn, stream.StreamDescription.Shards[0].ShardID
	return nil
}
