package webhook

import (
	"context"
	"errors"
	"time"
)

// errAckTimeout and errFunctionTimeout are the causes of a handler that ran out of time.
var (
	errAckTimeout      = errors.New("the ack timeout ran out")
	errFunctionTimeout = errors.New("the function's own time ran out")
)

const (
	// ackMargin is kept of the ack timeout, but at most a tenth of it, so that the answer is out before it ends.
	ackMargin = 100 * time.Millisecond
	// functionMargin is kept of the function's own time, for the log line and the way back to Lambda.
	functionMargin = 500 * time.Millisecond
)

// withDeadline bounds the work. The earlier of the two ends wins and is the context's cause.
func (h *Handler) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	ack := h.Settings.AckTimeout
	budget, cause := ack-min(ackMargin, ack/10), errAckTimeout
	if end, ok := ctx.Deadline(); ok {
		if left := time.Until(end) - functionMargin; left < budget {
			budget, cause = left, errFunctionTimeout
		}
	}
	return context.WithTimeoutCause(ctx, budget, cause)
}

// within runs a call that leaves the process, and comes back when the time is over, whatever the call does: one that hangs
// goes on behind the answer, and what it commits is found again by the redelivery.
func within[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	if ctx.Err() != nil {
		return none, unavailable(context.Cause(ctx).Error())
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r = result{err: crash(p)}
			}
			done <- r
		}()
		r.value, r.err = call(ctx)
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return none, unavailable(context.Cause(ctx).Error())
	}
}
