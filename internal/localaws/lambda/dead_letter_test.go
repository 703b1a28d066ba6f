package lambda_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"custody/internal/localaws/lambda"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

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
