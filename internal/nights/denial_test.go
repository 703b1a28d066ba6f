package nights_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"custody/internal/localaws/lambda"
	"custody/internal/retention"
)

// call is a request of a function to DynamoDB.
type call struct{ function, operation, table string }

// asked is what a night looks at in a request.
type asked struct {
	TableName                 string
	ExpressionAttributeValues map[string]struct{ S string }
}

// is reports whether the request is such a call. The body is there again afterwards.
func (c call) is(r *http.Request) (asked, bool) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var a asked
	return a, err == nil && json.Unmarshal(body, &a) == nil && a.TableName == c.table && by(r, c.function) &&
		strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+c.operation)
}

// fails makes DynamoDB answer the call in this way. A cleanup asks for the holds of its scope and for those for all at once, and the
// first error counts: which of both that is is up to chance, and the page names it. So those for all have no answer, until the
// function asks no longer.
func (w *world) fails(c call, answer func(rw http.ResponseWriter)) {
	w.db.set(func(rw http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		a, is := c.is(r)
		switch {
		case is && a.ExpressionAttributeValues[":scope"].S == retention.ScopeAll:
			<-r.Context().Done()
		case is:
			answer(rw)
		}
		return is
	})
}

// denied makes DynamoDB refuse the call, as it does where no policy of the function's role allows it.
func (w *world) denied(c call) {
	w.fails(c, func(rw http.ResponseWriter) {
		message := fmt.Sprintf("User: arn:aws:sts::%[1]s:assumed-role/custody-%[2]s/%[2]s is not authorized to perform: dynamodb:%[3]s on resource: "+
			"arn:aws:dynamodb:%[4]s:%[1]s:table/%[5]s because no identity-based policy allows the dynamodb:%[3]s action",
			lambda.Account, c.function, c.operation, lambda.Region, c.table)
		answers(rw, http.StatusBadRequest, "AccessDeniedException", message)
	})
}

// outOfOrder makes DynamoDB answer the call with an error of its own.
func (w *world) outOfOrder(c call) {
	w.fails(c, func(rw http.ResponseWriter) {
		answers(rw, http.StatusInternalServerError, "InternalServerError", "Internal server error")
	})
}

func answers(rw http.ResponseWriter, status int, code, message string) {
	body, _ := json.Marshal(map[string]string{"__type": "com.amazon.coral.service#" + code, "message": message}) // texts always marshal
	rw.Header().Set("Content-Type", "application/x-amz-json-1.0")
	rw.Header().Set("X-Amzn-Requestid", "00000000-0000-0000-0000-000000000000")
	rw.WriteHeader(status)
	_, _ = rw.Write(body) // the function hung up; there is nobody left to tell
}
