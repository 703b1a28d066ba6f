package deployed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// Watch is what CloudWatch knows of a stack.
type Watch struct {
	Stack     string
	Resources *cloudformation.Client
	Metrics   *cloudwatch.Client
}

// Alarm is an alarm of the stack and its state.
type Alarm struct {
	Name   string // its logical id, which is its heading in the runbook
	State  AlarmState
	Reason string // CloudWatch's words
	Since  time.Time
}

// AlarmState is CloudWatch's word.
type AlarmState string

// The states of an alarm, and one of our own.
const (
	AlarmOK      AlarmState = "OK"
	AlarmOn      AlarmState = "ALARM"
	AlarmNoData  AlarmState = "INSUFFICIENT_DATA"
	AlarmMissing AlarmState = "MISSING" // the stack has it, and CloudWatch does not: somebody removed it by hand
)

// namesAtOnce is the most that DescribeAlarms takes (API reference).
const namesAtOnce = 100

// Alarms reads every alarm that the stack has made, sorted by name.
func (w Watch) Alarms(ctx context.Context) ([]Alarm, error) {
	ids, err := alarms(ctx, w.Resources, w.Stack)
	if err != nil {
		return nil, err
	}
	seen := map[string]Alarm{}
	for names := range slices.Chunk(sortedKeys(ids), namesAtOnce) {
		if err := w.describe(ctx, names, seen); err != nil {
			return nil, err
		}
	}
	all := []Alarm{}
	for name, id := range ids {
		alarm, there := seen[name]
		if !there {
			alarm = Alarm{State: AlarmMissing, Reason: "CloudWatch has no alarm " + name}
		}
		alarm.Name = id
		all = append(all, alarm)
	}
	slices.SortFunc(all, func(a, b Alarm) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// describe asks for as many as it takes names, so that one page holds the answer.
func (w Watch) describe(ctx context.Context, names []string, into map[string]Alarm) error {
	out, err := w.Metrics.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{
		AlarmNames: names, MaxRecords: aws.Int32(namesAtOnce),
	})
	if err != nil {
		return failed(ctx, fmt.Sprintf("describe %d alarms", len(names)), "cloudwatch:DescribeAlarms", err)
	}
	for _, a := range out.MetricAlarms {
		into[aws.ToString(a.AlarmName)] = Alarm{
			State: AlarmState(a.StateValue), Reason: aws.ToString(a.StateReason), Since: aws.ToTime(a.StateUpdatedTimestamp),
		}
	}
	return nil
}

// The metric that every sweep publishes, as package telemetry has it; a test compares them.
const (
	Namespace       = "Custody"
	StackDimension  = "Stack"
	SweeperMetric   = "OldestOpenRunAge"
	sweeperInterval = 60 // seconds; the schedule's
)

// Swept is the last sweep that CloudWatch knows of since the given time, and the age of the oldest open run that it published;
// false where there was none.
func (w Watch) Swept(ctx context.Context, since, now time.Time) (at time.Time, oldest time.Duration, found bool, err error) {
	out, err := w.Metrics.GetMetricStatistics(ctx, &cloudwatch.GetMetricStatisticsInput{
		Namespace: aws.String(Namespace), MetricName: aws.String(SweeperMetric), StartTime: &since, EndTime: &now,
		Dimensions: []types.Dimension{{Name: aws.String(StackDimension), Value: &w.Stack}},
		Period:     aws.Int32(sweeperInterval), Statistics: []types.Statistic{types.StatisticMaximum},
	})
	if err != nil {
		return at, 0, false, failed(ctx, "read the metric "+SweeperMetric, "cloudwatch:GetMetricStatistics", err)
	}
	for _, d := range out.Datapoints {
		if t := aws.ToTime(d.Timestamp); !found || t.After(at) {
			at, oldest, found = t, time.Duration(aws.ToFloat64(d.Maximum)*float64(time.Second)), true
		}
	}
	return at, oldest, found, nil
}
