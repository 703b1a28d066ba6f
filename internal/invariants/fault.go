package invariants

import (
	"errors"
	"net/http"
	"time"
)

// FaultKind is what goes wrong with a call.
type FaultKind int

// The faults. Those "before" never reach the engine.
const (
	FaultNone         FaultKind = iota
	FaultNoConnection           // before: the connection fails
	FaultServerError            // before: 500
	FaultThrottled              // before: the service asks for fewer requests
	FaultDenied                 // before: access denied
	FaultNoBucket               // before: the bucket is not there
	FaultConflict               // before: a transaction runs on the item
	FaultLostAnswer             // the engine did it, and the connection breaks before the answer
	FaultDeath                  // the engine did it, and the process dies before the answer
	FaultDeathBefore            // the process dies before the request leaves it
)

func (k FaultKind) String() string {
	return [...]string{"none", "no connection", "server error", "throttled", "denied", "no bucket", "conflict", "lost answer", "death", "death before"}[k]
}

// Fault is what happens to one call.
type Fault struct {
	Kind FaultKind
	// Stall is how long the request is on its way, whatever the caller does meanwhile: a caller that gives up does not call
	// it back.
	Stall time.Duration
}

// errConnection is a connection that failed or broke; the SDK repeats the call.
var errConnection = errors.New("connection reset by peer")

// deadError ends what a dead process still tries, at once: it tells the SDK not to repeat.
type deadError struct{}

func (deadError) Error() string        { return "the process is dead" }
func (deadError) RetryableError() bool { return false }

// before answers for the engine, or is nil.
func (f Fault) before(c Call) *answer {
	switch f.Kind {
	case FaultServerError:
		return refuse(c, http.StatusInternalServerError, "InternalServerError", "InternalError")
	case FaultThrottled:
		return refuse(c, throttledStatus(c), "ProvisionedThroughputExceededException", "SlowDown")
	case FaultDenied:
		return refuse(c, http.StatusForbidden, "AccessDeniedException", "AccessDenied")
	case FaultNoBucket:
		return refuse(c, http.StatusNotFound, "ResourceNotFoundException", "NoSuchBucket")
	case FaultConflict:
		return conflict(c)
	case FaultNone, FaultNoConnection, FaultLostAnswer, FaultDeath, FaultDeathBefore:
	}
	return nil
}

func throttledStatus(c Call) int {
	if c.Service == ServiceS3 {
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

func refuse(c Call, status int, tableCode, objectCode string) *answer {
	a := newAnswer()
	a.status = status
	if c.Service == ServiceS3 {
		a.header.Set("Content-Type", "application/xml")
		a.body.WriteString("<Error><Code>" + objectCode + "</Code><Message>injected</Message></Error>")
		return a
	}
	a.header.Set("Content-Type", "application/x-amz-json-1.0")
	a.body.WriteString(`{"__type":"com.amazonaws.dynamodb.v20120810#` + tableCode + `","message":"injected"}`)
	return a
}

// conflict is what DynamoDB says of an item under a running transaction; other calls pass.
func conflict(c Call) *answer {
	switch c.Operation {
	case "TransactWriteItems":
		a := refuse(c, http.StatusBadRequest, "TransactionCanceledException", "")
		a.body.Reset()
		a.body.WriteString(`{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"cancelled",` +
			`"CancellationReasons":[{"Code":"None"},{"Code":"TransactionConflict"}]}`)
		return a
	case "UpdateItem", "PutItem":
		return refuse(c, http.StatusBadRequest, "TransactionConflictException", "")
	}
	return nil
}
