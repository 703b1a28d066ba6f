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

func answerAlways(payload string) func(int, []events.DynamoDBEventRecord) (lambda.Result, error) {
	return func(int, []events.DynamoDBEventRecord) (lambda.Result, error) {
		return lambda.Result{RequestID: "r", Payload: []byte(payload)}, nil
	}
}

func failAlways(int, []events.DynamoDBEventRecord) (lambda.Result, error) {
	return lambda.Result{RequestID: "r", FunctionError: lambda.Unhandled, Payload: []byte(`{}`)}, nil
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

func TestARetryWaitsWhileTheMappingIsDisabled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shard := &memoryShard{id: "s1"}
		stream := newStream(shard)
		c := &consumer{answer: failAlways}
		m := start(t, stream, c, func(o *lambda.MappingOptions) {
			o.Pause = func(int) time.Duration { return time.Minute }
		})
		stream.put(shard, "run#a")
		settle(5 * time.Second)
		m.Disable()
		settle(25 * time.Hour)
		if tries, letters := len(c.sequences()), len(m.DeadLetters()); tries != 1 || letters != 0 {
			t.Errorf("while it was disabled: %d tries and %d dead letters, want the one before", tries, letters)
		}
		m.Enable()
		settle(time.Minute)
		letters := m.DeadLetters()
		if len(letters) != 1 || letters[0].RequestContext.Condition != "RecordAgeExceeded" {
			t.Errorf("a record that grew too old meanwhile: %+v, want one dead letter for its age", letters)
		}
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

func TestMappingRetries(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		answer func(int, []events.DynamoDBEventRecord) (lambda.Result, error)
		calls  int
		buried bool
	}{
		"a function error is retried five times, then buried": {failAlways, 6, true},
		"a reported record is retried and buried too":         {answerAlways(`{"batchItemFailures":[{"itemIdentifier":"1"}]}`), 6, true},
		"an empty identifier fails the whole batch":           {answerAlways(`{"batchItemFailures":[{"itemIdentifier":""}]}`), 6, true},
		"a null identifier fails the whole batch":             {answerAlways(`{"batchItemFailures":[{"itemIdentifier":null}]}`), 6, true},
		"a misspelled key fails the whole batch":              {answerAlways(`{"batchItemFailures":[{"identifier":"1"}]}`), 6, true},
		"an unknown identifier fails the whole batch":         {answerAlways(`{"batchItemFailures":[{"itemIdentifier":"999"}]}`), 6, true},
		"an answer of another form fails the whole batch":     {answerAlways(`{"batchItemFailures":"1"}`), 6, true},
		"an empty list is success":                            {answerAlways(`{"batchItemFailures":[]}`), 1, false},
		"a null list is success":                              {answerAlways(`{"batchItemFailures":null}`), 1, false},
		"an empty answer is success":                          {answerAlways(`{}`), 1, false},
		"a null answer is success":                            {answerAlways(`null`), 1, false},
		"no answer is success":                                {answerAlways(``), 1, false},
		"a failure that passes is no dead letter": {func(call int, r []events.DynamoDBEventRecord) (lambda.Result, error) {
			if call < 6 {
				return failAlways(call, r)
			}
			return lambda.Result{Payload: []byte(`{}`)}, nil
		}, 6, false},
		"being throttled costs no attempt": {func(call int, r []events.DynamoDBEventRecord) (lambda.Result, error) {
			if call <= 50 {
				return lambda.Result{}, lambda.ErrThrottled
			}
			return lambda.Result{Payload: []byte(`{}`)}, nil
		}, 51, false},
		"an endpoint that is down costs no attempt": {func(call int, r []events.DynamoDBEventRecord) (lambda.Result, error) {
			if call <= 50 {
				return lambda.Result{}, errors.New("connection refused")
			}
			return lambda.Result{Payload: []byte(`{}`)}, nil
		}, 51, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shard := &memoryShard{id: "s1"}
				stream := newStream(shard)
				stream.put(shard, "run#a")
				c := &consumer{answer: test.answer}
				m := start(t, stream, c, nil)
				settle(10 * time.Minute)
				if len(c.events) != test.calls || (len(m.DeadLetters()) == 1) != test.buried {
					t.Errorf("%d invocations, dead letters %+v", len(c.events), m.DeadLetters())
				}
			})
		})
	}
}

func TestMappingDeadLetter(t *testing.T) {
	t.Parallel()
	unhandled := lambda.Unhandled
	for sentence, test := range map[string]struct {
		answer func(int, []events.DynamoDBEventRecord) (lambda.Result, error)
		change func(*lambda.MappingOptions)
		want   lambda.DeadLetter
	}{
		"a function that failed": {failAlways, nil, lambda.DeadLetter{
			RequestContext:  lambda.DeadLetterRequest{RequestID: "r", FunctionARN: "arn:f", Condition: "RetryAttemptsExhausted", ApproximateInvokeCount: 6},
			ResponseContext: &lambda.DeadLetterResponse{StatusCode: 200, ExecutedVersion: "$LATEST", FunctionError: &unhandled},
			Timestamp:       "2000-01-01T00:00:03.100Z",
		}},
		"a record that was reported": {answerAlways(`{"batchItemFailures":[{"itemIdentifier":"1"}]}`),
			func(o *lambda.MappingOptions) { o.Settings.MaximumRetryAttempts = 0 }, lambda.DeadLetter{
				RequestContext:  lambda.DeadLetterRequest{RequestID: "r", FunctionARN: "arn:f", Condition: "RetryAttemptsExhausted", ApproximateInvokeCount: 1},
				ResponseContext: &lambda.DeadLetterResponse{StatusCode: 200, ExecutedVersion: "$LATEST"},
				Timestamp:       "2000-01-01T00:00:00.000Z",
			}},
		"a record that got too old": {failAlways, func(o *lambda.MappingOptions) {
			o.Settings.MaximumRetryAttempts, o.Settings.MaximumRecordAgeInSeconds = -1, 60
			o.Pause = func(int) time.Duration { return 20 * time.Second }
		}, lambda.DeadLetter{
			RequestContext:  lambda.DeadLetterRequest{RequestID: "r", FunctionARN: "arn:f", Condition: "RecordAgeExceeded", ApproximateInvokeCount: 4},
			ResponseContext: &lambda.DeadLetterResponse{StatusCode: 200, ExecutedVersion: "$LATEST", FunctionError: &unhandled},
			Timestamp:       "2000-01-01T00:01:20.000Z",
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shard := &memoryShard{id: "s1"}
				stream := newStream(shard)
				stream.put(shard, "run#a")
				var told []lambda.DeadLetter
				m := start(t, stream, &consumer{answer: test.answer}, func(o *lambda.MappingOptions) {
					o.OnDeadLetter = func(d lambda.DeadLetter) { told = append(told, d) }
					if test.change != nil {
						test.change(o)
					}
				})
				settle(10 * time.Minute)
				want := test.want
				want.Version = "1.0"
				want.DDBStreamBatchInfo = lambda.DeadLetterBatch{ShardID: "s1", StartSequenceNumber: "1", EndSequenceNumber: "1", BatchSize: 1,
					ApproximateArrivalOfFirstRecord: "2000-01-01T00:00:00Z", ApproximateArrivalOfLastRecord: "2000-01-01T00:00:00Z", StreamARN: streamARN}
				if diff := cmp.Diff([]lambda.DeadLetter{want}, m.DeadLetters()); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(m.DeadLetters(), told); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestMappingDeadLetterJSON(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(lambda.DeadLetter{ResponseContext: &lambda.DeadLetterResponse{StatusCode: 200}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"requestContext":{"requestId":"","functionArn":"","condition":"","approximateInvokeCount":0},` +
		`"responseContext":{"statusCode":200,"executedVersion":"","functionError":null},"version":"","timestamp":"",` +
		`"DDBStreamBatchInfo":{"shardId":"","startSequenceNumber":"","endSequenceNumber":"","approximateArrivalOfFirstRecord":"",` +
		`"approximateArrivalOfLastRecord":"","batchSize":0,"streamArn":""}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMappingTooOldBeforeTheFirstTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shard := &memoryShard{id: "s1"}
		stream := newStream(shard)
		stream.put(shard, "run#a")
		time.Sleep(24*time.Hour + time.Second)
		fresh := stream.put(shard, "run#a")
		c := &consumer{}
		m := start(t, stream, c, nil)
		settle(5 * time.Second)
		letters := m.DeadLetters()
		if len(letters) != 1 || letters[0].RequestContext.Condition != "RecordAgeExceeded" || letters[0].ResponseContext != nil {
			t.Errorf("dead letters %+v", letters)
		}
		if diff := cmp.Diff([]string{fresh}, c.sequences()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestMappingDeadLetterDoesNotBlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shard := &memoryShard{id: "s1"}
		stream := newStream(shard)
		poison := stream.put(shard, "run#a")
		behind := stream.put(shard, "run#a")
		c := &consumer{answer: func(call int, r []events.DynamoDBEventRecord) (lambda.Result, error) {
			if r[0].Change.SequenceNumber == poison {
				return failAlways(call, r)
			}
			return lambda.Result{Payload: []byte(`{}`)}, nil
		}}
		m := start(t, stream, c, nil)
		settle(10 * time.Minute)
		if got := c.sequences(); got[len(got)-1] != behind || len(got) != 7 || len(m.DeadLetters()) != 1 {
			t.Errorf("records %v, dead letters %+v", got, m.DeadLetters())
		}
	})
}

func TestMappingPartialFailureOfABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shard := &memoryShard{id: "s1"}
		stream := newStream(shard)
		c := &consumer{takes: time.Minute, answer: func(call int, _ []events.DynamoDBEventRecord) (lambda.Result, error) {
			if call == 2 {
				return lambda.Result{Payload: []byte(`{"batchItemFailures":[{"itemIdentifier":"5"},{"itemIdentifier":"4"}]}`)}, nil
			}
			return lambda.Result{Payload: []byte(`{}`)}, nil
		}}
		m := start(t, stream, c, func(o *lambda.MappingOptions) { o.Settings.BatchSize = 10 })
		stream.put(shard, "run#a")
		settle(10 * time.Second) // the first record holds the lane for a minute, so that the others gather
		for range 4 {
			stream.put(shard, "run#a")
		}
		settle(10 * time.Minute)
		want := []string{"1", "2", "3", "4", "5", "4", "5"}
		if diff := cmp.Diff(want, c.sequences()); diff != "" {
			t.Error(diff)
		}
		if len(m.DeadLetters()) != 0 {
			t.Errorf("dead letters %+v", m.DeadLetters())
		}
	})
}

func TestMappingProgressIsNoRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shard := &memoryShard{id: "s1"}
		stream := newStream(shard)
		// Each answer takes the first record and reports the second.
		c := &consumer{takes: time.Minute, answer: func(_ int, r []events.DynamoDBEventRecord) (lambda.Result, error) {
			if len(r) == 1 {
				return lambda.Result{Payload: []byte(`{}`)}, nil
			}
			return lambda.Result{Payload: []byte(`{"batchItemFailures":[{"itemIdentifier":"` + r[1].Change.SequenceNumber + `"}]}`)}, nil
		}}
		m := start(t, stream, c, func(o *lambda.MappingOptions) {
			o.Settings.BatchSize, o.Settings.MaximumRetryAttempts = 10, 1
		})
		stream.put(shard, "run#a")
		settle(10 * time.Second)
		for range 4 {
			stream.put(shard, "run#a")
		}
		settle(10 * time.Minute)
		want := []string{"1", "2", "3", "4", "5", "3", "4", "5", "4", "5", "5"}
		if diff := cmp.Diff(want, c.sequences()); diff != "" {
			t.Error(diff)
		}
		if len(m.DeadLetters()) != 0 {
			t.Errorf("dead letters %+v", m.DeadLetters())
		}
	})
}

func TestMappingWithoutPartialFailuresIgnoresTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shard := &memoryShard{id: "s1"}
		stream := newStream(shard)
		stream.put(shard, "run#a")
		c := &consumer{answer: answerAlways(`{"batchItemFailures":[{"itemIdentifier":"1"}]}`)}
		start(t, stream, c, func(o *lambda.MappingOptions) { o.Settings.FunctionResponseTypes = nil })
		settle(10 * time.Minute)
		if len(c.events) != 1 {
			t.Errorf("%d invocations", len(c.events))
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

func TestMappingReadErrors(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		operation string
		err       error
		want      []string
	}{
		"a stream that cannot be described is tried again": {"DescribeStream", errors.New("down"), []string{"1", "2"}},
		"an iterator that is refused is tried again":       {"GetShardIterator", errors.New("down"), []string{"1", "2"}},
		"a read that fails is tried again":                 {"GetRecords", errors.New("down"), []string{"1", "2"}},
		"an expired iterator goes on behind the last one":  {"GetRecords", &types.ExpiredIteratorException{}, []string{"1", "2"}},
		"a trimmed place starts at what is left":           {"GetRecords", &types.TrimmedDataAccessException{}, []string{"1", "1", "2"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shard := &memoryShard{id: "s1"}
				stream := newStream(shard)
				var told []error
				c := &consumer{}
				if test.operation != "GetRecords" {
					stream.failNext(test.operation, test.err)
				}
				stream.put(shard, "run#a")
				start(t, stream, c, func(o *lambda.MappingOptions) {
					o.OnError = func(err error) { told = append(told, err) }
				})
				settle(5 * time.Second)
				if test.operation == "GetRecords" {
					stream.failNext(test.operation, test.err)
				}
				stream.put(shard, "run#a")
				settle(5 * time.Second)
				if diff := cmp.Diff(test.want, c.sequences()); diff != "" {
					t.Error(diff)
				}
				if len(told) != 1 || !errors.Is(told[0], test.err) {
					t.Errorf("told of %v", told)
				}
			})
		})
	}
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
