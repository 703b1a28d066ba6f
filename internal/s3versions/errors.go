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

// translate gives an error of S3 its category. The vendor's types end here; its text stays for the log.
func translate(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return inbox.Failed(inbox.CategoryUnavailable, fmt.Errorf("%w: %w", cause, err))
	}
	return inbox.Failed(category(err), errors.New(err.Error()))
}

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
	case "InternalError", "ServiceUnavailable", "RequestTimeout", "OperationAborted":
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

func codeOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

func statusOf(err error) int {
	if re, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return re.HTTPStatusCode()
	}
	return 0
}

func isAccessDenied(err error) bool { return category(err) == inbox.CategoryAccessDenied }
