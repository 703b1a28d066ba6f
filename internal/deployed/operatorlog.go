package deployed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
)

// OperatorLog is the log group in which it is kept what operators do.
type OperatorLog struct {
	Client *cloudwatchlogs.Client
	Group  string
}

// NoLogGroupError is a log group that is not there.
type NoLogGroupError struct{ Group, Region string }

func (e *NoLogGroupError) Error() string {
	return fmt.Sprintf("there is no log group %s in region %s", e.Group, e.Region)
}

// LateError is events that CloudWatch Logs did not take for their times: by its clock they are too old or not yet due.
type LateError struct{ Group string }

func (e *LateError) Error() string {
	return fmt.Sprintf("CloudWatch Logs takes no events of these times into %s; is this machine's clock right?", e.Group)
}

// The limits of PutLogEvents (API reference, CloudWatch Logs): bytes of a request, what each event counts beside its text, and the
// time between the first and the last. The one of 10,000 events is never met: lines of more than 100 bytes are too large before.
const (
	maxEventBytes = 1 << 20
	eventOverhead = 26
	maxEventSpan  = 24 * time.Hour
)

// Write writes a line for each operation, in as few requests as the service's limits allow. With an error it returns the operations
// whose lines are missing; those of a request that was not answered are among them, and may be there all the same.
func (l OperatorLog) Write(ctx context.Context, operations []Operation) (missing []Operation, err error) {
	// A request's events must be in the order of their times, and a clock may have been set back.
	rest := slices.SortedStableFunc(slices.Values(operations), func(a, b Operation) int { return a.Time.Compare(b.Time) })
	for len(rest) > 0 {
		events := firstEvents(rest)
		rejected, failed := l.put(ctx, rest[0].Time, events)
		if failed != nil {
			return append(missing, rest...), failed // the next request would fail in the same way
		}
		for i := range events {
			if rejects(rejected, int32(i)) { // below 10,000
				missing, err = append(missing, rest[i]), &LateError{l.Group}
			}
		}
		rest = rest[len(events):]
	}
	return missing, err
}

// firstEvents are as many as fit into one request, and one at least.
func firstEvents(operations []Operation) []types.InputLogEvent {
	var events []types.InputLogEvent
	size := 0
	for _, o := range operations {
		line := o.Line()
		size += len(line) + eventOverhead
		full := size > maxEventBytes || o.Time.Sub(operations[0].Time) >= maxEventSpan
		if full && len(events) > 0 {
			break
		}
		events = append(events, types.InputLogEvent{Message: &line, Timestamp: aws.Int64(o.Time.UnixMilli())})
	}
	return events
}

// rejects says whether the event at that place was left out, of a request that was otherwise taken.
func rejects(info *types.RejectedLogEventsInfo, at int32) bool {
	return info != nil &&
		(info.TooNewLogEventStartIndex != nil && at >= *info.TooNewLogEventStartIndex ||
			at < aws.ToInt32(info.TooOldLogEventEndIndex) || at < aws.ToInt32(info.ExpiredLogEventEndIndex))
}

// put writes to the stream of that day, which is made by whoever comes first.
func (l OperatorLog) put(ctx context.Context, day time.Time, events []types.InputLogEvent) (*types.RejectedLogEventsInfo, error) {
	in := &cloudwatchlogs.PutLogEventsInput{LogGroupName: &l.Group, LogStreamName: aws.String(day.UTC().Format(time.DateOnly)), LogEvents: events}
	out, err := l.Client.PutLogEvents(ctx, in)
	if isNoLog(err) {
		if err := l.makeStream(ctx, in.LogStreamName); err != nil {
			return nil, err
		}
		out, err = l.Client.PutLogEvents(ctx, in)
	}
	if err != nil {
		return nil, failed(ctx, "write to log group "+l.Group, "logs:PutLogEvents", err)
	}
	return out.RejectedLogEventsInfo, nil
}

func (l OperatorLog) makeStream(ctx context.Context, name *string) error {
	_, err := l.Client.CreateLogStream(ctx, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: &l.Group, LogStreamName: name})
	_, there := errors.AsType[*types.ResourceAlreadyExistsException](err)
	switch {
	case err == nil || there: // somebody else has made it in between
		return nil
	case isNoLog(err):
		return &NoLogGroupError{Group: l.Group, Region: l.Client.Options().Region}
	}
	return failed(ctx, "make a stream in log group "+l.Group, "logs:CreateLogStream", err)
}

// isNoLog is the answer where group or stream are missing.
func isNoLog(err error) bool {
	_, missing := errors.AsType[*types.ResourceNotFoundException](err)
	return missing
}
