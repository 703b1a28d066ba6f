package invariants

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Call names one request of a function, so that a fault can fall on it again in a replay. Order over all calls would not do:
// a listing runs beside the deletes.
type Call struct {
	Process   string // function and number of the instance, such as "cleanup-1"
	Service   string // ServiceDynamoDB or ServiceS3
	Operation string // as the API names it
	// About tells the calls of one operation apart that are on their way side by side, so that none gets its number by chance: which
	// version's marks are read, which report object is written. "" for all others.
	About   string
	N       int // of this operation, about this, in this process, from 1; what the SDK repeats is the same call
	Attempt int // of the SDK, from 1
}

// The services that functions call.
const (
	ServiceDynamoDB = "dynamodb"
	ServiceS3       = "s3"
)

func (c Call) String() string {
	about := ""
	if c.About != "" {
		about = " (" + c.About + ")"
	}
	return fmt.Sprintf("%s %s.%s%s #%d attempt %d", c.Process, c.Service, c.Operation, about, c.N, c.Attempt)
}

// First is the call's first attempt: its name in a list of calls.
func (c Call) First() Call {
	c.Attempt = 1
	return c
}

// operationOf names the request as the APIs do.
func operationOf(service string, r *http.Request) string {
	if service == ServiceDynamoDB {
		_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		return name
	}
	q := r.URL.Query()
	for selector, name := range map[string]string{
		"versions": "ListObjectVersions", "versioning": "GetBucketVersioning", "object-lock": "GetObjectLockConfiguration",
		"tagging": "GetObjectTagging", "legal-hold": "GetObjectLegalHold", "retention": "GetObjectRetention",
	} {
		if q.Has(selector) && r.Method == http.MethodGet {
			return name
		}
	}
	switch {
	case q.Has("delete") && r.Method == http.MethodPost:
		return "DeleteObjects"
	case r.Method == http.MethodDelete:
		return "DeleteObject"
	case r.Method == http.MethodPut && r.URL.Query().Get("x-id") == "PutObject":
		return "PutObject"
	}
	return r.Method + " " + r.URL.Path + "?" + r.URL.RawQuery
}

// sdkAttempt reads which attempt this is, from the header by which the SDK tells AWS.
func sdkAttempt(r *http.Request) int {
	n := 1
	for part := range strings.SplitSeq(r.Header.Get("Amz-Sdk-Request"), ";") {
		if text, ok := strings.CutPrefix(strings.TrimSpace(part), "attempt="); ok {
			_, _ = fmt.Sscan(text, &n)
		}
	}
	return n
}

// item is a DynamoDB item in its own JSON.
type item map[string]attribute

type attribute struct {
	S    *string      `json:"S"`
	N    *json.Number `json:"N"`
	M    item         `json:"M"`
	L    []attribute  `json:"L"`
	BOOL bool         `json:"BOOL"`
}

func (i item) has(name string) bool { _, there := i[name]; return there }

func (i item) text(name string) string {
	if s := i[name].S; s != nil {
		return *s
	}
	return ""
}

func (i item) number(name string) int64 {
	if n := i[name].N; n != nil {
		v, _ := n.Int64()
		return v
	}
	return 0
}

func (i item) texts(name string) []string {
	var out []string
	for _, a := range i[name].L {
		if a.S != nil {
			out = append(out, *a.S)
		}
	}
	return out
}
