package lambda

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Endpoint answers Lambda's Invoke API for the functions that it holds, by name, and nothing else of Lambda's: for those who
// call a function themselves, as `aws lambda invoke` does. The paths and errors are those of the API reference, "Invoke".
type Endpoint map[string]Invoker

const invocationsPath = "/2015-03-31/functions/"

// ServeHTTP implements [http.Handler].
func (e Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, found := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, invocationsPath), "/invocations")
	if !found || !strings.HasPrefix(r.URL.Path, invocationsPath) || r.Method != http.MethodPost {
		invokeError(w, http.StatusNotImplemented, "NotImplemented", fmt.Sprintf("%s %s: only Invoke is implemented", r.Method, r.URL.Path))
		return
	}
	f, there := e[name]
	kind := r.Header.Get("X-Amz-Invocation-Type")
	switch {
	case !there:
		invokeError(w, http.StatusNotFound, "ResourceNotFoundException", "Function not found: "+functionARN(name))
	case kind != "" && kind != "RequestResponse":
		invokeError(w, http.StatusNotImplemented, "NotImplemented", fmt.Sprintf("invocation type %s: only RequestResponse is implemented", kind))
	default:
		invoke(w, r, f)
	}
}

func invoke(w http.ResponseWriter, r *http.Request, f Invoker) {
	event, err := io.ReadAll(io.LimitReader(r.Body, MaxPayload+1))
	if err != nil {
		invokeError(w, http.StatusBadRequest, "InvalidRequestContentException", err.Error())
		return
	}
	result, err := f.Invoke(r.Context(), event)
	switch {
	case errors.Is(err, ErrThrottled):
		invokeError(w, http.StatusTooManyRequests, "TooManyRequestsException", err.Error())
	case errors.Is(err, ErrTooLarge):
		invokeError(w, http.StatusRequestEntityTooLarge, "RequestTooLargeException", err.Error())
	case err != nil:
		invokeError(w, http.StatusInternalServerError, "ServiceException", err.Error())
	default:
		w.Header().Set("X-Amzn-RequestId", result.RequestID)
		w.Header().Set("X-Amz-Executed-Version", "$LATEST")
		if result.FunctionError != "" {
			w.Header().Set("X-Amz-Function-Error", result.FunctionError)
		}
		_, _ = w.Write(result.Payload) // a caller that went away is told nothing
	}
}

func invokeError(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", code)
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"Type":"User","Message":%q}`, message)
}
