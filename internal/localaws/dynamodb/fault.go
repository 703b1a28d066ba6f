package dynamodb

import (
	"fmt"
	"net/http"
)

// Error codes, as the API reference names them. The first group is modelled by the service, the second by the protocol.
const (
	conditionFailed      = "ConditionalCheckFailedException"
	idempotentMismatch   = "IdempotentParameterMismatchException"
	expiredIterator      = "ExpiredIteratorException"
	resourceInUse        = "ResourceInUseException"
	resourceNotFound     = "ResourceNotFoundException"
	transactionCancelled = "TransactionCanceledException"

	validation       = "ValidationException"
	missingToken     = "MissingAuthenticationTokenException"
	serialization    = "SerializationException"
	unknownOperation = "UnknownOperationException"
)

// fault is an error answer: a code that the SDK turns into a typed error, a text, and for two codes some data.
type fault struct {
	code    string
	message string
	status  int // 0 is 400, which is what DynamoDB answers for every fault of the client

	item    attributes // conditionFailed, when ALL_OLD was asked for
	reasons []reason   // transactionCancelled
}

func (f *fault) Error() string { return f.code + ": " + f.message }

// httpStatus is the status line's code.
func (f *fault) httpStatus() int {
	if f.status == 0 {
		return http.StatusBadRequest
	}
	return f.status
}

// typeName is the code with the namespace the service puts in front; SDKs read only what follows the '#'.
func (f *fault) typeName() string {
	switch f.code {
	case validation, missingToken, serialization, unknownOperation:
		return "com.amazon.coral.service#" + f.code
	}
	return "com.amazonaws.dynamodb.v20120810#" + f.code
}

// faultBody is a fault on the wire. DynamoDB spells the text of a cancelled transaction with a capital letter.
type faultBody struct {
	Type                string     `json:"__type"`
	Message             string     `json:"message,omitempty"`
	CapitalMessage      string     `json:"Message,omitempty"`
	Item                attributes `json:"Item,omitempty"`
	CancellationReasons []reason   `json:"CancellationReasons,omitempty"`
}

func (f *fault) body() faultBody {
	b := faultBody{Type: f.typeName(), Item: f.item, CancellationReasons: f.reasons}
	if f.code == transactionCancelled {
		b.CapitalMessage = f.message
	} else {
		b.Message = f.message
	}
	return b
}

func faultf(code, format string, args ...any) *fault {
	return &fault{code: code, message: fmt.Sprintf(format, args...)}
}

// invalid is the answer to a request that can never succeed as it stands.
func invalid(format string, args ...any) *fault {
	return faultf(validation, format, args...)
}

// badParameter is how DynamoDB begins most complaints about a value.
func badParameter(format string, args ...any) *fault {
	return invalid("One or more parameter values were invalid: "+format, args...)
}

// notOneOf complains about an enumeration, naming what is allowed.
func notOneOf(field, got string, allowed []string) *fault {
	return invalid("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must satisfy enum value set: %v",
		got, field, allowed)
}
