package s3report

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"custody/internal/inbox"
)

// translate gives an error of S3 its category. The vendor's types end here; its text stays for the log.
func translate(ctx context.Context, err error) *inbox.Failure {
	if cause := context.Cause(ctx); cause != nil {
		return inbox.Failed(inbox.CategoryUnavailable, fmt.Errorf("%w: %w", cause, errors.New(err.Error())))
	}
	return inbox.Failed(category(err), errors.New(err.Error()))
}

func category(err error) inbox.Category {
	code, status := codeOf(err), statusOf(err)
	switch code {
	case "SlowDown", "RequestLimitExceeded", "TooManyRequestsException":
		return inbox.CategoryThrottled
	case "NoSuchBucket", "InvalidBucketName":
		return inbox.CategoryNoSuchBucket
	case "InvalidBucketOwnerAWSAccountID":
		return inbox.CategoryWrongOwner
	case "PermanentRedirect", "IllegalLocationConstraintException", "AuthorizationHeaderMalformed":
		return inbox.CategoryWrongRegion
	// A credential that runs out and a clock that is off pass; a conflict with another write of the same name is to be repeated.
	case "InternalError", "ServiceUnavailable", "RequestTimeout", "OperationAborted", "ConditionalRequestConflict", "ExpiredToken",
		"RequestTimeTooSkewed":
		return inbox.CategoryUnavailable
	}
	switch {
	case strings.Contains(code, "Throttling"): // KMS's among them
		return inbox.CategoryThrottled
	case strings.HasPrefix(code, "KMS."): // the bucket's key is disabled, gone or not for this role
		return inbox.CategoryAccessDenied
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
