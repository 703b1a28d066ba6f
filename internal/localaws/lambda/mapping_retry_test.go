package lambda_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"custody/internal/localaws/lambda"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"
)

func answerAlways(payload string) func(int, []events.DynamoDBEventRecord) (lambda.Result, error) {
	return func(int, []events.DynamoDBEventRecord) (lambda.Result, error) {
		return lambda.Result{RequestID: "r", Payload: []byte(payload)}, nil
	}
}

func failAlways(int, []events.DynamoDBEventRecord) (lambda.Result, error) {
	return lambda.Result{RequestID: "r", FunctionError: lambda.Unhandled, Payload: []byte(`{}`)}, nil
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
