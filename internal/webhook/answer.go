package webhook

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/command"
	"custody/internal/inbox"
	"custody/internal/signature"
)

// HeaderOutcome carries the outcome word on every answer.
const HeaderOutcome = "Custody-Outcome"

// The statuses that the function answers with.
const (
	statusNoContent            = 204
	statusBadRequest           = 400
	statusUnauthorized         = 401
	statusNotFound             = 404
	statusMethodNotAllowed     = 405
	statusConflict             = 409
	statusTooLarge             = 413
	statusUnsupportedMediaType = 415
	statusUnprocessable        = 422
	statusCrashed              = 500
	statusUnavailable          = 503
)

// title is the status's phrase in RFC 9110, as RFC 9457 asks for it with the type about:blank. It is all that a sender
// learns; the reason stays in the log.
func title(status int) string {
	return map[int]string{
		statusBadRequest:           "Bad Request",
		statusUnauthorized:         "Unauthorized",
		statusNotFound:             "Not Found",
		statusMethodNotAllowed:     "Method Not Allowed",
		statusConflict:             "Conflict",
		statusTooLarge:             "Content Too Large",
		statusUnsupportedMediaType: "Unsupported Media Type",
		statusUnprocessable:        "Unprocessable Content",
		statusCrashed:              "Internal Server Error",
		statusUnavailable:          "Service Unavailable",
	}[status]
}

// retryPause is what a sender is asked to wait after a 503 without a time of its own: long enough for a throttle or a cold
// start to pass, short enough for three tries within a replay window of some minutes.
const retryPause = 5 * time.Second

// refusal is an answer other than 204, on its way as an error.
type refusal struct {
	status     int
	outcome    inbox.Outcome
	problem    string        // for the log alone
	retryAfter time.Duration // with 503
}

func (r *refusal) Error() string { return r.problem }

func reject(status int, problem string) *refusal {
	return &refusal{status: status, outcome: inbox.OutcomeRejected, problem: problem}
}

func notDue(in time.Duration) *refusal {
	return &refusal{
		status: statusUnavailable, outcome: inbox.OutcomeNotDue, retryAfter: in, problem: fmt.Sprintf("due in %s", in),
	}
}

func unavailable(problem string) *refusal {
	return &refusal{
		status: statusUnavailable, outcome: inbox.OutcomeRetryableFailure, retryAfter: retryPause, problem: problem,
	}
}

// refusalOf finds the answer to an error. What it does not know is 503: the sender repeats, and nothing was promised.
func refusalOf(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	if bad, ok := errors.AsType[*signature.Error](err); ok {
		return unverified(bad)
	}
	if bad, ok := errors.AsType[*command.Error](err); ok {
		return reject(statusUnprocessable, bad.Error())
	}
	if crashed, ok := errors.AsType[*crashError](err); ok {
		return &refusal{status: statusCrashed, outcome: inbox.OutcomeRetryableFailure, problem: crashed.Error()}
	}
	if errors.Is(err, inbox.ErrTooLarge) {
		return reject(statusUnprocessable, err.Error())
	}
	return unavailable(err.Error())
}

func unverified(bad *signature.Error) *refusal {
	switch bad.Class {
	case signature.ClassBadRequest:
		return reject(statusBadRequest, bad.Error())
	case signature.ClassUnavailable:
		return unavailable(bad.Error())
	case signature.ClassUnauthorized:
	}
	return reject(statusUnauthorized, bad.Error())
}

// finish turns what was decided into the answer, and completes the summary.
func (h *Handler) finish(
	sum *inbox.DeliverySummary, req events.LambdaFunctionURLRequest, outcome inbox.Outcome, err error,
) events.LambdaFunctionURLResponse {
	if crashed, ok := errors.AsType[*crashError](err); ok {
		sum.Panicked, sum.Problem = true, crashed.Error()
	}
	if req.RequestContext.TimeEpoch > 0 {
		sum.AckLatency = h.Now().Sub(receiptOf(req))
	}
	if err == nil {
		sum.Outcome, sum.Status = outcome, statusNoContent
		return events.LambdaFunctionURLResponse{
			StatusCode: statusNoContent, Headers: map[string]string{HeaderOutcome: string(outcome)},
		}
	}
	r := refusalOf(err)
	sum.Outcome, sum.Status, sum.Problem = r.outcome, r.status, r.problem
	return r.answer()
}

// answer is the refusal as problem+json (RFC 9457).
func (r *refusal) answer() events.LambdaFunctionURLResponse {
	headers := map[string]string{HeaderOutcome: string(r.outcome), "Content-Type": "application/problem+json"}
	switch r.status {
	case statusMethodNotAllowed:
		headers["Allow"] = methodPost
	case statusUnavailable:
		headers["Retry-After"] = strconv.Itoa(wholeSeconds(r.retryAfter))
	}
	return events.LambdaFunctionURLResponse{
		StatusCode: r.status, Headers: headers,
		Body: fmt.Sprintf(`{"type":"about:blank","title":%q,"status":%d}`, title(r.status), r.status),
	}
}

// wholeSeconds rounds up: a sender that comes a moment early would be sent away again.
func wholeSeconds(d time.Duration) int { return max(1, int(math.Ceil(d.Seconds()))) }
