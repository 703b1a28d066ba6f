package s3versions

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"custody/internal/inbox"
)

// answer is an error of S3 without the vendor's types: its code, "" where S3 gave none, and its text for the log.
type answer struct{ code, text string }

func (a *answer) Error() string { return a.text }

// translate gives an error of S3 its category. The vendor's types end here.
func translate(ctx context.Context, err error) error {
	plain := &answer{code: codeOf(err), text: err.Error()}
	if cause := context.Cause(ctx); cause != nil {
		return inbox.Failed(inbox.CategoryUnavailable, fmt.Errorf("%w: %w", cause, plain))
	}
	return inbox.Failed(category(err), plain)
}

// broken is an answer that says success and lacks what it is for. Nothing follows from it, and asking again may help.
func broken(err error) error { return inbox.Failed(inbox.CategoryUnavailable, err) }

func category(err error) inbox.Category {
	code, status := codeOf(err), statusOf(err)
	switch code {
	case "SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException":
		return inbox.CategoryThrottled
	case "NoSuchBucket":
		return inbox.CategoryNoSuchBucket
	case "AccessDenied", "AllAccessDisabled", "AccountProblem", "InvalidAccessKeyId", "SignatureDoesNotMatch":
		return inbox.CategoryAccessDenied
	case "PermanentRedirect", "IllegalLocationConstraintException", "AuthorizationHeaderMalformed":
		return inbox.CategoryWrongRegion
	case "InternalError", "ServiceUnavailable", "RequestTimeout", "OperationAborted",
		"RequestTimeTooSkewed", "ExpiredToken": // a function that was frozen: its clock and its credentials come right again
		return inbox.CategoryUnavailable
	}
	switch {
	case status == http.StatusMovedPermanently:
		return inbox.CategoryWrongRegion
	case status == http.StatusForbidden:
		return inbox.CategoryAccessDenied
	case status == http.StatusTooManyRequests:
		return inbox.CategoryThrottled
	case code == "" || status >= http.StatusInternalServerError:
		return inbox.CategoryUnavailable // no answer, one that broke off behind its status line, or a 5xx
	}
	return inbox.CategoryInternal
}

// codeOf is S3's code of an error, translated or not; "" for one that S3 did not give.
func codeOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	if a, ok := errors.AsType[*answer](err); ok {
		return a.code
	}
	return ""
}

func statusOf(err error) int {
	if re, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return re.HTTPStatusCode()
	}
	return 0
}

// isGone reports that the version which was asked for is not there.
func isGone(err error) bool {
	code := codeOf(err)
	return code == "NoSuchVersion" || code == "NoSuchKey"
}
