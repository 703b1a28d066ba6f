package nights_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"custody/internal/localaws/lambda"
)

// call is a request of a function to DynamoDB.
type call struct {
	function, operation, table string
	about                      string // what the request names; "" for anything
}

// is reports whether the request is such a call. The body is there again afterwards.
func (c call) is(r *http.Request) bool {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var asked struct{ TableName string }
	return err == nil && json.Unmarshal(body, &asked) == nil && asked.TableName == c.table && by(r, c.function) &&
		bytes.Contains(body, []byte(c.about)) &&
		strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+c.operation)
}

// denied makes DynamoDB refuse the call, as it does where no policy of the function's role allows it.
func (w *world) denied(c call) {
	w.db.set(func(rw http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if !c.is(r) {
			return false
		}
		message := fmt.Sprintf("User: arn:aws:sts::%[1]s:assumed-role/custody-%[2]s/%[2]s is not authorized to perform: dynamodb:%[3]s on resource: "+
			"arn:aws:dynamodb:%[4]s:%[1]s:table/%[5]s because no identity-based policy allows the dynamodb:%[3]s action",
			lambda.Account, c.function, c.operation, lambda.Region, c.table)
		answers(rw, http.StatusBadRequest, "AccessDeniedException", message)
		return true
	})
}

// outOfOrder makes DynamoDB answer the call with an error of its own.
func (w *world) outOfOrder(c call) {
	w.db.set(func(rw http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if !c.is(r) {
			return false
		}
		answers(rw, http.StatusInternalServerError, "InternalServerError", "Internal server error")
		return true
	})
}

func answers(rw http.ResponseWriter, status int, code, message string) {
	body, _ := json.Marshal(map[string]string{"__type": "com.amazon.coral.service#" + code, "message": message}) // texts always marshal
	rw.Header().Set("Content-Type", "application/x-amz-json-1.0")
	rw.Header().Set("X-Amzn-Requestid", "00000000-0000-0000-0000-000000000000")
	rw.WriteHeader(status)
	_, _ = rw.Write(body) // the function hung up; there is nobody left to tell
}
