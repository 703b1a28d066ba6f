package dynamodb

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// maxBody is what DynamoDB accepts at most in one request (16 MB: BatchWriteItem and BatchGetItem, API reference).
const maxBody = 16 << 20

// The two services of the protocol share endpoint and tables here, as they share their data at AWS.
const (
	itemsTarget   = "DynamoDB_20120810."
	streamsTarget = "DynamoDBStreams_20120810."
)

// ServeHTTP answers one request of either service. Any credentials will do, but there must be some: an unsigned
// request is a mistake that would only show at AWS.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Amzn-Requestid", fmt.Sprintf("LOCAL%047d", e.requests.Add(1))) // 52 characters, as at AWS
	body, err := e.answer(w, r)
	if err != nil {
		writeFault(w, err)
		return
	}
	respond(w, http.StatusOK, body)
}

func (e *Engine) answer(w http.ResponseWriter, r *http.Request) (any, error) {
	if r.Method != http.MethodPost || r.URL.Path != "/" {
		return nil, &fault{code: unknownOperation, status: http.StatusNotFound,
			message: fmt.Sprintf("%s %s: operations are POST /", r.Method, r.URL.Path)}
	}
	target := r.Header.Get("X-Amz-Target")
	op, ok := e.operations[target]
	if !ok {
		return nil, faultf(unknownOperation, "operation %q is not implemented by the local DynamoDB", operationName(target))
	}
	if r.Header.Get("Authorization") == "" {
		return nil, faultf(missingToken, "Request must contain either a valid (registered) AWS access key ID or X.509 certificate.")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, readFault(err)
	}
	return op(e, body)
}

func operationName(target string) string {
	name, ok := strings.CutPrefix(target, itemsTarget)
	if !ok {
		name = strings.TrimPrefix(target, streamsTarget)
	}
	return name
}

func readFault(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &fault{code: serialization, status: http.StatusRequestEntityTooLarge,
			message: fmt.Sprintf("request body is larger than %d bytes", tooLarge.Limit)}
	}
	return faultf(serialization, "read request body: %v", err)
}

func writeFault(w http.ResponseWriter, err error) {
	f, ok := errors.AsType[*fault](err)
	if !ok {
		f = &fault{code: "InternalServerError", status: http.StatusInternalServerError, message: err.Error()}
	}
	respond(w, f.httpStatus(), f.body())
}

// respond sends the answer with the checksum that the SDKs verify, so that a wrapper which damages an answer is noticed.
func respond(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		http.Error(w, "encode answer: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-amz-json-1.0")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(b)), 10))
	w.WriteHeader(status)
	// A client that has gone away is the client's business; there is nobody left to tell.
	_, _ = w.Write(b)
}
