package lambda

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// URL is the HTTP front of one function: what a function URL with AuthType NONE and the BUFFERED invoke mode is.
// It turns a request into an event of payload format 2.0 and the answer back into a response (Lambda developer
// guide, "Invoking Lambda function URLs").
type URL struct {
	function Invoker
	now      func() time.Time
}

// NewURL makes the front of a function. now is the clock of the events' timeEpoch; nil means [time.Now].
func NewURL(function Invoker, now func() time.Time) *URL {
	if now == nil {
		now = time.Now
	}
	return &URL{function: function, now: now}
}

// ServeHTTP implements [http.Handler].
func (u *URL) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	requestID := newRequestID()
	w.Header().Set("X-Amzn-RequestId", requestID)
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxPayload+1))
	if err != nil {
		platformAnswer(w, http.StatusBadRequest, `{"message":"Bad Request"}`)
		return
	}
	event := newURLEvent(r, body, requestID, u.now())
	result, err := u.function.Invoke(r.Context(), event)
	if err != nil {
		answerNotRun(w, err)
		return
	}
	answer, ok := decodeURLAnswer(result)
	if !ok {
		platformAnswer(w, http.StatusBadGateway, "Internal Server Error")
		return
	}
	answer.write(w)
}

// answerNotRun is what Lambda itself says when the function did not run.
func answerNotRun(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, ErrTooLarge):
		platformAnswer(w, http.StatusRequestEntityTooLarge,
			`{"Message":"Request must be smaller than 6291556 bytes for the InvokeFunction operation"}`)
	case errors.Is(err, ErrThrottled):
		platformAnswer(w, http.StatusTooManyRequests,
			`{"Reason":"ConcurrentInvocationLimitExceeded","Type":"User","message":"Rate Exceeded."}`)
	default:
		platformAnswer(w, http.StatusBadGateway, "Internal Server Error")
	}
}

// platformAnswer has no Custody-Outcome header: that is how a sender tells it from the function's own.
func platformAnswer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
