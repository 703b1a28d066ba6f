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

// mapping reads the inbox table's stream and hands the records that carry a wake to the cleanup function, as Lambda's mapping
// does: filtered by the template's own pattern, in order for each key, retried a bounded number of times, then dead-lettered.
type mapping struct {
	world    *World
	filter   *lambda.Filter
	settings lambda.MappingSettings
	news     chan struct{}
	lanes    map[string]chan streamRecord
	read     string // sequence number of the last record that was read
	matched  int
	working  int // records that are handed over or wait for it: guarded by World.mu
	dead     []string
}

// streamRecord is a record as the function sees it, and the raw text of it.
type streamRecord struct {
	events.DynamoDBEventRecord
	text  json.RawMessage
	n     int // of those that start a slice
	fault StreamFault
}

func newMapping(w *World) (*mapping, error) {
	settings := lambda.DefaultMapping()
	filter, err := lambda.NewFilter(settings.FilterPatterns[0])
	if err != nil {
		return nil, err
	}
	m := &mapping{
		world: w, filter: filter, settings: settings, news: make(chan struct{}, 1), lanes: map[string]chan streamRecord{},
	}
	m.tell()
	return m, nil
}

// tell says that the table may have changed.
func (m *mapping) tell() {
	if m == nil {
		return
	}
	select {
	case m.news <- struct{}{}:
	default:
	}
}

func (m *mapping) run() {
	for {
		select {
		case <-m.world.ctx.Done():
			return
		case <-m.news:
			m.hand()
		}
	}
}

// hand puts what is new in the stream into the lanes of its keys.
func (m *mapping) hand() {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	records, last, err := m.world.stream(m.read)
	if err != nil {
		m.world.observer.violate("the stream cannot be read: %v", err)
		return
	}
	m.read = last
	for _, r := range records {
		pass, err := m.filter.Matches(r.text)
		if err != nil {
			m.world.observer.violate("the filter cannot read a record: %v", err)
		}
		if !pass {
			continue
		}
		m.matched++
		r.n = m.matched
		if f := m.world.options.Stream; f != nil {
			r.fault = f(r.n)
		}
		if !r.fault.Lose {
			m.put(r)
		}
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

// stream reads the inbox table's records behind the sequence number, and the last one's number. The world's lock is held.
func (w *World) stream(after string) (records []streamRecord, last string, err error) {
	last = after
	if w.observer.streamARN == "" {
		if err := w.findStream(); err != nil {
			return nil, last, err
		}
	}
	in := map[string]any{"StreamArn": w.observer.streamARN, "ShardId": w.observer.shard, "ShardIteratorType": "TRIM_HORIZON"}
	if after != "" {
		in["ShardIteratorType"], in["SequenceNumber"] = "AFTER_SEQUENCE_NUMBER", after
	}
	var at struct{ ShardIterator string }
	if err := w.db("DynamoDBStreams_20120810.GetShardIterator", in, &at); err != nil {
		return nil, last, err
	}
	var out struct{ Records []json.RawMessage }
	if err := w.db("DynamoDBStreams_20120810.GetRecords", at, &out); err != nil {
		return nil, last, err
	}
	for _, text := range out.Records {
		r := streamRecord{text: text}
		if err := json.Unmarshal(text, &r.DynamoDBEventRecord); err != nil {
			return nil, last, err
		}
		records, last = append(records, r), r.Change.SequenceNumber
	}
	return records, last, nil
}

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
