package logs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxBody holds the largest request that is taken: 1 MB of text, of which JSON may make six bytes of each, and what stands around
// 10,000 events.
const maxBody = 8 << 20

// target is the service's, before the operation's name in X-Amz-Target.
const target = "Logs_20140328."

// Error codes, as the API reference and the protocol (AWS JSON 1.1) name them.
const (
	invalidParameter      = "InvalidParameterException"
	resourceNotFound      = "ResourceNotFoundException"
	resourceAlreadyExists = "ResourceAlreadyExistsException"
	missingToken          = "MissingAuthenticationTokenException"
	serialization         = "SerializationException"
	unknownOperation      = "UnknownOperationException"
)

// fault is an error answer.
type fault struct {
	status        int
	code, message string
}

func (f *fault) Error() string { return f.code + ": " + f.message }

func faultf(code, format string, args ...any) error {
	return &fault{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

// ServeHTTP answers one request. Any credentials will do, but there must be some: an unsigned request is a mistake that would only
// show at AWS.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	err := e.answer(w, r)
	if f, is := errors.AsType[*fault](err); is {
		w.WriteHeader(f.status)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": f.code, "message": f.message}) // a caller that went away is told nothing
		return
	}
	_, _ = io.WriteString(w, "{}")
}

// answer returns nothing but faults.
func (e *Engine) answer(w http.ResponseWriter, r *http.Request) error {
	operation, ours := strings.CutPrefix(r.Header.Get("X-Amz-Target"), target)
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/":
		return &fault{http.StatusNotFound, unknownOperation, fmt.Sprintf("%s %s: operations are POST /", r.Method, r.URL.Path)}
	case !ours || operation != "CreateLogStream" && operation != "PutLogEvents":
		return faultf(unknownOperation, "operation %q is not implemented by the local CloudWatch Logs", operation)
	case r.Header.Get("Authorization") == "":
		return faultf(missingToken, "Missing Authentication Token")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge, is := errors.AsType[*http.MaxBytesError](err); is {
		return &fault{http.StatusRequestEntityTooLarge, serialization, fmt.Sprintf("request body is larger than %d bytes", tooLarge.Limit)}
	}
	if err != nil {
		return faultf(serialization, "read request body: %v", err)
	}
	if operation == "CreateLogStream" {
		return decoded(body, e.createStream)
	}
	return decoded(body, e.putEvents)
}

func decoded[In any](body []byte, do func(In) error) error {
	var in In
	if err := json.Unmarshal(body, &in); err != nil {
		return faultf(serialization, "%v", err)
	}
	return do(in)
}
