package lambda

import "time"

// DeadLetter is what Lambda sends to the on-failure queue for a batch it gives up, field by field (developer
// guide, "Retain discarded records for a DynamoDB event source"). It names the records and does not hold them.
type DeadLetter struct {
	RequestContext     DeadLetterRequest   `json:"requestContext"`
	ResponseContext    *DeadLetterResponse `json:"responseContext,omitempty"`
	Version            string              `json:"version"`
	Timestamp          string              `json:"timestamp"`
	DDBStreamBatchInfo DeadLetterBatch     `json:"DDBStreamBatchInfo"`
}

// DeadLetterRequest says which function gave up and why.
type DeadLetterRequest struct {
	RequestID              string `json:"requestId"`
	FunctionARN            string `json:"functionArn"`
	Condition              string `json:"condition"`
	ApproximateInvokeCount int    `json:"approximateInvokeCount"`
}

// DeadLetterResponse says how the last invocation ended. FunctionError is null where the function answered and
// named the record as failed.
type DeadLetterResponse struct {
	StatusCode      int     `json:"statusCode"`
	ExecutedVersion string  `json:"executedVersion"`
	FunctionError   *string `json:"functionError"`
}

// DeadLetterBatch says where in the stream the records are; the arrivals are to the second, as the stream's.
type DeadLetterBatch struct {
	ShardID                         string `json:"shardId"`
	StartSequenceNumber             string `json:"startSequenceNumber"`
	EndSequenceNumber               string `json:"endSequenceNumber"`
	ApproximateArrivalOfFirstRecord string `json:"approximateArrivalOfFirstRecord"`
	ApproximateArrivalOfLastRecord  string `json:"approximateArrivalOfLastRecord"`
	BatchSize                       int    `json:"batchSize"`
	StreamARN                       string `json:"streamArn"`
}

// The conditions under which Lambda gives a stream's batch up.
const (
	conditionRetries = "RetryAttemptsExhausted"
	conditionAge     = "RecordAgeExceeded"
)

func newDeadLetter(d *delivery, condition string, now time.Time) DeadLetter {
	options := d.lane.mapping.options
	first, last := d.batch[0], d.batch[len(d.batch)-1]
	letter := DeadLetter{
		RequestContext: DeadLetterRequest{FunctionARN: options.FunctionARN, Condition: condition, ApproximateInvokeCount: d.attempts},
		Version:        "1.0",
		Timestamp:      now.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		DDBStreamBatchInfo: DeadLetterBatch{
			ShardID:                         d.lane.shardID,
			StartSequenceNumber:             first.sequence,
			EndSequenceNumber:               last.sequence,
			ApproximateArrivalOfFirstRecord: first.arrival.UTC().Format(time.RFC3339),
			ApproximateArrivalOfLastRecord:  last.arrival.UTC().Format(time.RFC3339),
			BatchSize:                       len(d.batch),
			StreamARN:                       options.StreamARN,
		},
	}
	if d.last == nil { // the function never ran
		letter.RequestContext.RequestID = newRequestID()
		return letter
	}
	letter.RequestContext.RequestID = d.last.RequestID
	letter.ResponseContext = &DeadLetterResponse{StatusCode: 200, ExecutedVersion: "$LATEST"}
	if d.last.FunctionError != "" {
		letter.ResponseContext.FunctionError = &d.last.FunctionError
	}
	return letter
}
