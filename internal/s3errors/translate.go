package s3errors

import (
	"context"
	"errors"
	"fmt"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"custody/internal/inbox"
)

// answer is an error of S3 without the vendor's types: its code, "" where S3 gave none, its status, 0 where there was no answer,
// and its text for the log.
type answer struct {
	code   string
	status int
	text   string
}

func (a *answer) Error() string { return a.text }

// Translate gives an error of the SDK its category; there must be one. The vendor's types end here. Where the context has ended,
// its cause is the reason, and the error is one of what it has cut off.
func Translate(ctx context.Context, err error) *inbox.Failure {
	plain := &answer{code: Code(err), status: Status(err), text: err.Error()}
	if cause := context.Cause(ctx); cause != nil {
		return inbox.Failed(inbox.CategoryUnavailable, fmt.Errorf("%w: %w", cause, plain))
	}
	return inbox.Failed(Category(err), plain)
}

// Code is S3's code of an error, translated or not; "" for one that S3 did not give.
func Code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	if a, ok := errors.AsType[*answer](err); ok {
		return a.code
	}
	return ""
}

// Status is the HTTP status of an error, translated or not; 0 where there was no answer.
func Status(err error) int {
	if re, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return re.HTTPStatusCode()
	}
	if a, ok := errors.AsType[*answer](err); ok {
		return a.status
	}
	return 0
}
