package lambda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Remote is a function behind a Lambda Invoke endpoint, such as that of `sam local start-lambda`. It signs nothing, so it
// is no client of a real account.
//
// Events go one at a time and wait for each other: the emulator in a warm container takes one, and answers a second one
// with an error that looks like the function's own.
type Remote struct {
	endpoint string
	name     string
	turn     chan struct{} // holds one token while an event is in work
}

// NewRemote makes the function of that name behind the endpoint, a URL without a path.
func NewRemote(endpoint, name string) *Remote {
	return &Remote{endpoint: endpoint, name: name, turn: make(chan struct{}, 1)}
}

// maxAnswer bounds what is read of an answer: Lambda's largest, and room for what an emulator says around it.
const maxAnswer = 2 * MaxPayload

// Invoke implements [Invoker]. The call is the API reference's "Invoke" with the invocation type RequestResponse.
func (r *Remote) Invoke(ctx context.Context, event []byte) (Result, error) {
	if len(event) > MaxPayload {
		return Result{}, fmt.Errorf("invoke %s: %w", r.name, ErrTooLarge)
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return Result{}, fmt.Errorf("invoke %s: %w", r.name, context.Cause(ctx))
	}
	result, err := r.call(ctx, event)
	if err != nil {
		return Result{}, fmt.Errorf("invoke %s at %s: %w", r.name, r.endpoint, err)
	}
	return result, nil
}

func (r *Remote) call(ctx context.Context, event []byte) (Result, error) {
	target := r.endpoint + invocationsPath + url.PathEscape(r.name) + "/invocations"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(event))
	if err != nil {
		return Result{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return Result{}, err
	}
	defer answer.Body.Close()
	payload, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch {
	case err != nil:
		return Result{}, fmt.Errorf("read the answer: %w", err)
	case answer.StatusCode == http.StatusTooManyRequests:
		return Result{}, ErrThrottled
	case answer.StatusCode == http.StatusRequestEntityTooLarge:
		return Result{}, ErrTooLarge
	case answer.StatusCode != http.StatusOK:
		return Result{}, fmt.Errorf("status %d: %s", answer.StatusCode, firstBytes(payload))
	}
	return Result{
		RequestID: answer.Header.Get("X-Amzn-RequestId"), Payload: payload, FunctionError: answer.Header.Get("X-Amz-Function-Error"),
	}, nil
}

// firstBytes keeps a page of HTML out of an error.
func firstBytes(b []byte) []byte { return bytes.TrimSpace(b[:min(len(b), 300)]) }

// ARN is the function's name as events and dead letters carry it.
func (r *Remote) ARN() string { return functionARN(r.name) }

// ErrNotThere is the endpoint that answered nothing in all the time that it had.
var ErrNotThere = errors.New("nothing answers there")

// knockEvery is short beside what an emulator takes to start, some seconds.
const knockEvery = 200 * time.Millisecond

// Ready waits until the endpoint answers anything at all, or ctx ends. No function is invoked by it.
func (r *Remote) Ready(ctx context.Context) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.endpoint, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(req)
		if err == nil {
			return answer.Body.Close()
		}
		select {
		case <-time.After(knockEvery):
		case <-ctx.Done():
			return fmt.Errorf("lambda endpoint %s: %w: %w", r.endpoint, ErrNotThere, context.Cause(ctx))
		}
	}
}
