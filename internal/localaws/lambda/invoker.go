// Package lambda runs built function binaries the way AWS Lambda does and stands in for what calls them: the
// Runtime API with one process per execution environment, the function URL front, the stream mapping and the
// schedule. It is a development part: it may import the AWS SDK's stream client and aws-lambda-go's events, and
// only internal/localaws, tests and internal/cmd import it.
package lambda

import (
	"context"
	"encoding/json"
	"errors"
)

// ErrThrottled says that the function did not run, because as many events as its concurrency allows are in
// work already. Lambda answers 429 for it; a caller may try again.
var ErrThrottled = errors.New("concurrency limit reached")

// ErrClosed says that the function did not run, because it was closed.
var ErrClosed = errors.New("function is closed")

// ErrTooLarge says that the function did not run, because its event is above [MaxPayload].
var ErrTooLarge = errors.New("event is larger than 6291556 bytes")

// MaxPayload is the largest event and the largest answer of a synchronous invocation, in bytes: 6 MB and 100
// bytes, the number that Lambda itself names in its RequestTooLargeException.
const MaxPayload = 6*1024*1024 + 100

// Unhandled is what [Result.FunctionError] holds when the function failed, whatever the reason: an error it
// returned, a panic, a crash or a timeout. Lambda's Invoke API has no finer word for current runtimes.
const Unhandled = "Unhandled"

// Invoker runs a function once. [Function] does it with processes; a client of a Lambda Invoke endpoint can
// stand in its place.
type Invoker interface {
	// Invoke hands the event to the function and waits for its answer. A function that ran and failed is a
	// Result whose FunctionError is set; an error means that the function did not run ([ErrThrottled],
	// [ErrTooLarge], [ErrClosed]) or, for an error of ctx, that nobody waited for it: it goes on without us, as on Lambda.
	Invoke(ctx context.Context, event []byte) (Result, error)
}

// Result is the answer of one invocation, with the fields of Lambda's Invoke API.
type Result struct {
	RequestID string
	// Payload is the function's answer or, when FunctionError is set, the JSON that describes the failure.
	Payload []byte
	// FunctionError is empty or [Unhandled].
	FunctionError string
}

// Failure reads what a failed invocation's payload says; it is the zero Failure for a success.
func (r Result) Failure() Failure {
	var f Failure
	if r.FunctionError != "" {
		// A payload of another form is the function's own invention and has no type or message to show.
		_ = json.Unmarshal(r.Payload, &f)
	}
	return f
}

// Failure describes a failed invocation in the form that every Lambda runtime reports.
type Failure struct {
	Message string `json:"errorMessage"`
	Type    string `json:"errorType"`
}

func failed(requestID string, f Failure) Result {
	payload, err := json.Marshal(f)
	if err != nil {
		panic(err) // two strings always marshal
	}
	return Result{RequestID: requestID, Payload: payload, FunctionError: Unhandled}
}
