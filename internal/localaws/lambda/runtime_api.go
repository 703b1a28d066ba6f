package lambda

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// runtimeAPI is the HTTP interface that a function's process talks to (Lambda developer guide, "Using the Lambda
// runtime API for custom runtimes", version 2018-06-01). What it does not know is 404.
func (e *environment) runtimeAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", e.next)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", func(w http.ResponseWriter, r *http.Request) { e.take(w, r, false) })
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", func(w http.ResponseWriter, r *http.Request) { e.take(w, r, true) })
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", e.initError)
	return mux
}

// next blocks until there is an event, for as long as the process lives.
func (e *environment) next(w http.ResponseWriter, r *http.Request) {
	select {
	case e.waiting <- struct{}{}:
	default: // asked twice at once: still one environment that waits
	}
	select {
	case inv := <-e.events:
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Lambda-Runtime-Aws-Request-Id", inv.requestID)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", e.function.ARN())
		h.Set("Lambda-Runtime-Trace-Id", newTraceID(time.Now()))
		_, _ = w.Write(inv.event) // a process that ended here has lost its event, and that is noticed by its end
	case <-r.Context().Done():
	}
}

// take receives what the function answered or how it failed.
func (e *environment) take(w http.ResponseWriter, r *http.Request, isError bool) {
	payload, err := io.ReadAll(io.LimitReader(r.Body, MaxPayload+1))
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidRequest", "body cannot be read: "+err.Error())
		return
	}
	if !e.claim(r.PathValue("id")) {
		refuse(w, http.StatusBadRequest, "InvalidRequestID", "no event in work has this request id")
		return
	}
	if len(payload) > MaxPayload {
		message := fmt.Sprintf("Response payload size exceeded maximum allowed payload size (%d bytes).", MaxPayload)
		e.answers <- answer{failed: true, payload: failed("", Failure{Type: "Function.ResponseSizeTooLarge", Message: message}).Payload}
		refuse(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", message)
		return
	}
	// A streamed answer that broke off says so in a trailer, behind the bytes.
	if kind := r.Trailer.Get("Lambda-Runtime-Function-Error-Type"); kind != "" {
		isError = true
		payload = failed("", Failure{Type: kind, Message: "the answer broke off"}).Payload
	}
	e.answers <- answer{payload: payload, failed: isError}
	accept(w)
}

// claim makes sure that each event is answered once, and by its own id.
func (e *environment) claim(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.inWork == nil || e.inWork.requestID != id {
		return false
	}
	e.inWork = nil
	return true
}

func (e *environment) initError(w http.ResponseWriter, r *http.Request) {
	payload, err := io.ReadAll(io.LimitReader(r.Body, MaxPayload))
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidRequest", "body cannot be read: "+err.Error())
		return
	}
	select {
	case e.initDown <- payload:
		accept(w)
	default:
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "the start was already reported as failed")
	}
}

func accept(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"status":"OK"}`)
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(Failure{Type: kind, Message: message})
}
