package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"custody/internal/localaws/lambda"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"
)

const streamARN = "arn:aws:dynamodb:us-east-1:000000000000:table/inbox/stream/x"

// consumer is a function that remembers the sequence numbers it got and answers by a plan.
type consumer struct {
	mu     sync.Mutex
	got    []string
	events []json.RawMessage
	atOnce int
	most   int
	answer func(call int, batch []events.DynamoDBEventRecord) (lambda.Result, error)
	takes  time.Duration
}

func (c *consumer) Invoke(ctx context.Context, payload []byte) (lambda.Result, error) {
	var event events.DynamoDBEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return lambda.Result{}, err
	}
	c.mu.Lock()
	c.events = append(c.events, payload)
	for _, r := range event.Records {
		c.got = append(c.got, r.Change.SequenceNumber)
	}
	call := len(c.events)
	c.atOnce++
	c.most = max(c.most, c.atOnce)
	c.mu.Unlock()
	if c.takes > 0 {
		select {
		case <-time.After(c.takes): // the bubble's clock
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.atOnce--
	if c.answer == nil {
		return lambda.Result{Payload: []byte(`{"batchItemFailures":[]}`)}, nil
	}
	return c.answer(call, event.Records)
}

func (c *consumer) sequences() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

// start begins a mapping with Lambda's settings of the cleanup function, changed as the test wants.
func start(t *testing.T, stream lambda.Streams, c lambda.Invoker, change func(*lambda.MappingOptions)) *lambda.Mapping {
	t.Helper()
	options := lambda.MappingOptions{Streams: stream, StreamARN: streamARN, Function: c, FunctionARN: "arn:f",
		Settings: lambda.DefaultMapping(), Poll: time.Second} // a poll costs real time even in a bubble
	if change != nil {
		change(&options)
	}
	m, err := lambda.StartMapping(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// settle lets the bubble's time go by until nothing is left to do.
func settle(d time.Duration) {
	time.Sleep(d) // the bubble's clock: no real time passes
	synctest.Wait()
}

func TestMappingReadsFromTheOldestRecordAndGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shard := &memoryShard{id: "s1"}
		stream := newStream(shard)
		for range 5 {
			stream.put(shard, "run#a")
		}
		c := &consumer{}
		m := start(t, stream, c, nil)
		settle(5 * time.Second)
		stream.put(shard, "run#a")
		settle(5 * time.Second)
		want := []string{"1", "2", "3", "4", "5", "6"}
		if diff := cmp.Diff(want, c.sequences()); diff != "" {
			t.Error(diff)
		}
		m.Close()
		again := &consumer{}
		start(t, stream, again, nil)
		settle(5 * time.Second)
		if diff := cmp.Diff(want, again.sequences()); diff != "" {
			t.Errorf("a new mapping starts at the oldest record again: %s", diff)
		}
	})
}

func TestADisabledMappingHandsOutNothingAndGoesOnFromItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shard := &memoryShard{id: "s1"}
		stream := newStream(shard)
		stream.put(shard, "run#a")
		c := &consumer{}
		unread := make(chan error, 10)
		m := start(t, stream, c, func(o *lambda.MappingOptions) { o.OnError = func(err error) { unread <- err } })
		settle(5 * time.Second)
		m.Disable()
		settle(5 * time.Second)
		stream.put(shard, "run#a")
		stream.put(shard, "run#b")
		stream.failNext("GetRecords", errors.New("whoever reads now"))
		settle(time.Hour)
		if len(unread) > 0 {
			t.Errorf("while it is disabled, it reads: %v", <-unread)
		}
		if diff := cmp.Diff([]string{"1"}, c.sequences()); diff != "" || m.State() != "Disabled" {
			t.Errorf("while it is %s (-want +got):\n%s", m.State(), diff)
		}
		m.Enable()
		settle(5 * time.Second)
		if diff := cmp.Diff([]string{"1", "2", "3"}, slices.Sorted(slices.Values(c.sequences()))); diff != "" || m.State() != "Enabled" {
			t.Errorf("when it is %s again (-want +got):\n%s", m.State(), diff)
		}
		m.Disable()
		m.Close() // does not wait for anybody to enable it
	})
}

func TestMappingEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shard := &memoryShard{id: "s1"}
		stream := newStream(shard)
		stream.write(shard, "run#a", map[string]types.AttributeValue{
			"wake":  &types.AttributeValueMemberS{Value: "w\"1"},
			"n":     &types.AttributeValueMemberN{Value: "9007199254740993"},
			"b":     &types.AttributeValueMemberB{Value: []byte{0xff, 0}},
			"bool":  &types.AttributeValueMemberBOOL{Value: true},
			"null":  &types.AttributeValueMemberNULL{Value: true},
			"ss":    &types.AttributeValueMemberSS{Value: []string{"a"}},
			"ns":    &types.AttributeValueMemberNS{Value: []string{"1"}},
			"bs":    &types.AttributeValueMemberBS{Value: [][]byte{{1}}},
			"list":  &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberN{Value: "1"}}},
			"map":   &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"x": &types.AttributeValueMemberS{Value: "y"}}},
			"empty": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}},
		})
		shard.records[0].UserIdentity = &types.Identity{Type: new("Service"), PrincipalId: new("dynamodb.amazonaws.com")}
		written := shard.records[0].Dynamodb.ApproximateCreationDateTime.Unix()
		c := &consumer{}
		start(t, stream, c, nil)
		settle(5 * time.Second)
		var got any
		if err := json.Unmarshal(c.events[0], &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"Records": []any{map[string]any{
			"eventID": "e1", "eventName": "MODIFY", "eventVersion": "1.1", "eventSource": "aws:dynamodb",
			"awsRegion": "us-east-1", "eventSourceARN": streamARN,
			"userIdentity": map[string]any{"type": "Service", "principalId": "dynamodb.amazonaws.com"},
			"dynamodb": map[string]any{
				"ApproximateCreationDateTime": float64(written),
				"Keys":                        map[string]any{"pk": map[string]any{"S": "run#a"}},
				"NewImage": map[string]any{
					"wake": map[string]any{"S": "w\"1"}, "n": map[string]any{"N": "9007199254740993"},
					"b": map[string]any{"B": "/wA="}, "bool": map[string]any{"BOOL": true}, "null": map[string]any{"NULL": true},
					"ss": map[string]any{"SS": []any{"a"}}, "ns": map[string]any{"NS": []any{"1"}}, "bs": map[string]any{"BS": []any{"AQ=="}},
					"list":  map[string]any{"L": []any{map[string]any{"N": "1"}}},
					"map":   map[string]any{"M": map[string]any{"x": map[string]any{"S": "y"}}},
					"empty": map[string]any{"M": map[string]any{}},
				},
				"SequenceNumber": "1", "SizeBytes": float64(10), "StreamViewType": "NEW_AND_OLD_IMAGES",
			},
		}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestMappingFilters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shard := &memoryShard{id: "s1"}
		stream := newStream(shard)
		pk := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "x"}}
		stream.write(shard, "a checkpoint", pk)
		woken := stream.put(shard, "a wake")
		stream.write(shard, "a removal", nil)
		c := &consumer{}
		start(t, stream, c, nil)
		all := &consumer{}
		start(t, stream, all, func(o *lambda.MappingOptions) { o.Settings.FilterPatterns = nil })
		settle(5 * time.Second)
		if diff := cmp.Diff([]string{woken}, c.sequences()); diff != "" {
			t.Error(diff)
		}
		if len(all.sequences()) != 3 {
			t.Errorf("without a pattern, %v got through", all.sequences())
		}
	})
}

func TestMappingKeepsOrderPerKeyAndWorksOnSeveralKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shard := &memoryShard{id: "s1"}
		stream := newStream(shard)
		keys := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"}
		for range 3 {
			for _, key := range keys {
				stream.put(shard, key)
			}
		}
		c := &consumer{takes: time.Second}
		start(t, stream, c, nil)
		settle(10 * time.Minute)
		last := map[string]int{}
		for _, payload := range c.events {
			var event events.DynamoDBEvent
			if err := json.Unmarshal(payload, &event); err != nil {
				t.Fatal(err)
			}
			key := event.Records[0].Change.Keys["pk"].String()
			at := slices.IndexFunc(shard.records, func(r types.Record) bool {
				return *r.Dynamodb.SequenceNumber == event.Records[0].Change.SequenceNumber
			}) + 1
			if at < last[key] {
				t.Errorf("record %d of %s came after %d", at, key, last[key])
			}
			last[key] = at
		}
		if len(c.events) != 48 || c.most < 2 || c.most > 10 {
			t.Errorf("%d invocations, %d at once; the lanes are ten", len(c.events), c.most)
		}
	})
}

func TestMappingShards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parent := &memoryShard{id: "s1"}
		child := &memoryShard{id: "s2", parent: "s1"}
		orphan := &memoryShard{id: "s3", parent: "trimmed"}
		stream := newStream(child, parent, orphan)
		stream.put(child, "run#a")  // 1
		stream.put(parent, "run#a") // 2
		stream.put(orphan, "run#b") // 3
		c := &consumer{takes: time.Minute}
		start(t, stream, c, nil)
		settle(30 * time.Second)
		if got := c.sequences(); slices.Contains(got, "1") || len(got) != 2 {
			t.Errorf("the child was read before its parent was through: %v", got)
		}
		stream.closeShard(parent)
		settle(15 * time.Second)
		if got := c.sequences(); slices.Contains(got, "1") {
			t.Errorf("the child was read while its parent's record was at work: %v", got)
		}
		settle(10 * time.Minute)
		stream.addShard(&memoryShard{id: "s4"})
		stream.put(stream.shard("s4"), "run#c") // 4
		settle(10 * time.Minute)
		if got := c.sequences(); !slices.Equal(got[2:], []string{"1", "4"}) {
			t.Errorf("records %v", got)
		}
	})
}

func TestStartMappingNamesEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := lambda.StartMapping(t.Context(), lambda.MappingOptions{Settings: lambda.MappingSettings{
		StartingPosition: "LATEST", ParallelizationFactor: 11, MaximumRetryAttempts: -2, MaximumRecordAgeInSeconds: 604_801,
		BisectBatchOnFunctionError: true, FunctionResponseTypes: []string{"x"}, FilterPatterns: []string{`{"a":[{"wildcard":"*"}]}`},
	}})
	for _, want := range []string{"BatchSize is 0", "StartingPosition is \"LATEST\"", "ParallelizationFactor is 11", "MaximumRetryAttempts is -2",
		"MaximumRecordAgeInSeconds is 604801", "BisectBatchOnFunctionError", "FunctionResponseTypes holds \"x\"", `"wildcard"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestMappingWithProcesses(t *testing.T) {
	t.Parallel()
	f := puppet(t, nil)
	shard := &memoryShard{id: "s1"}
	stream := newStream(shard)
	stream.put(shard, "run#a")
	letters := make(chan lambda.DeadLetter, 1)
	// The puppet does not know this event and exits by its order only; here it answers with something that is no
	// list of failures, and the process's own crash is the other case.
	crash := invokerFunc(func(ctx context.Context, _ []byte) (lambda.Result, error) {
		return f.Invoke(ctx, []byte(`{"do":"exit","size":1}`))
	})
	start(t, stream, crash, func(o *lambda.MappingOptions) {
		o.Settings.MaximumRetryAttempts = 1
		o.Pause = func(int) time.Duration { return time.Millisecond }
		o.OnDeadLetter = func(d lambda.DeadLetter) { letters <- d }
	})
	letter := <-letters
	if letter.RequestContext.ApproximateInvokeCount != 2 || *letter.ResponseContext.FunctionError != lambda.Unhandled {
		t.Errorf("%+v", letter)
	}
}
