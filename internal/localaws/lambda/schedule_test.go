package lambda_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"custody/internal/localaws/lambda"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sweeper remembers when it was invoked, counted from the start of the bubble.
type sweeper struct {
	began  time.Time
	turns  []time.Duration
	events [][]byte
	takes  time.Duration
	result lambda.Result
	err    error
}

func (s *sweeper) Invoke(_ context.Context, event []byte) (lambda.Result, error) {
	s.turns = append(s.turns, time.Since(s.began))
	s.events = append(s.events, event)
	time.Sleep(s.takes) // the bubble's clock
	return s.result, s.err
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		takes time.Duration
		want  []time.Duration
	}{
		"every interval, the first one after it":   {0, []time.Duration{2 * time.Second, 4 * time.Second, 6 * time.Second}},
		"a turn within the interval moves nothing": {time.Second, []time.Duration{2 * time.Second, 4 * time.Second, 6 * time.Second}},
		"a turn that takes longer leaves one out":  {3 * time.Second, []time.Duration{2 * time.Second, 6 * time.Second}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &sweeper{began: time.Now(), takes: test.takes}
				schedule, err := lambda.StartSchedule(t.Context(), lambda.ScheduleOptions{Name: "sweep", Function: s, Every: 2 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				settle(7 * time.Second)
				schedule.Close()
				settle(time.Minute)
				if diff := cmp.Diff(test.want, s.turns); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestScheduleEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sweeper{began: time.Now()}
		schedule, err := lambda.StartSchedule(t.Context(), lambda.ScheduleOptions{Name: "sweep", Function: s, Every: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		settle(time.Minute)
		schedule.Close()
		var got events.EventBridgeEvent
		if err := json.Unmarshal(s.events[0], &got); err != nil {
			t.Fatal(err)
		}
		want := events.EventBridgeEvent{Version: "0", DetailType: "Scheduled Event", Source: "aws.events", AccountID: "000000000000",
			Time: s.began.Add(time.Minute).UTC(), Region: "us-east-1", Detail: json.RawMessage(`{}`),
			Resources: []string{"arn:aws:events:us-east-1:000000000000:rule/sweep"}}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(events.EventBridgeEvent{}, "ID")); diff != "" {
			t.Error(diff)
		}
		if len(got.ID) != 36 {
			t.Errorf("id is %q", got.ID)
		}
	})
}

func TestScheduleTellsOfFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []string
		tell := func(err error) { told = append(told, err.Error()) }
		for _, s := range []*sweeper{{err: lambda.ErrThrottled}, {result: lambda.Result{FunctionError: lambda.Unhandled, Payload: []byte(`{"errorMessage":"no"}`)}}} {
			schedule, err := lambda.StartSchedule(t.Context(), lambda.ScheduleOptions{Name: "sweep", Function: s, Every: time.Minute, OnError: tell})
			if err != nil {
				t.Fatal(err)
			}
			settle(time.Minute)
			schedule.Close()
		}
		if len(told) != 2 || !strings.Contains(told[0], "concurrency limit") || !strings.Contains(told[1], `"no"`) {
			t.Errorf("told of %q", told)
		}
	})
}

func TestStartScheduleRefusesNoInterval(t *testing.T) {
	t.Parallel()
	if _, err := lambda.StartSchedule(t.Context(), lambda.ScheduleOptions{Name: "sweep"}); err == nil {
		t.Error("an interval of 0 was taken")
	}
}

func TestADisabledScheduleLetsItsTurnsPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sweeper{began: time.Now()}
		schedule, err := lambda.StartSchedule(t.Context(), lambda.ScheduleOptions{Name: "sweep", Function: s, Every: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		settle(3 * time.Second)
		schedule.SetEnabled(false)
		settle(4 * time.Second)
		schedule.SetEnabled(true)
		settle(2 * time.Second)
		schedule.Close()
		if diff := cmp.Diff([]time.Duration{2 * time.Second, 8 * time.Second}, s.turns); diff != "" {
			t.Error(diff)
		}
	})
}
