package s3errors

import (
	"net/http"
	"strings"

	"custody/internal/inbox"
)

// Category says what an error of the SDK means, by S3's code and, where that says nothing, by the status (API reference,
// API/ErrorResponses.html, and KMS's codes as S3 passes them on).
func Category(err error) inbox.Category {
	code, status := Code(err), Status(err)
	if c, known := byCode(code); known {
		return c
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

func byCode(code string) (c inbox.Category, known bool) {
	switch code {
	case "SlowDown", "RequestLimitExceeded", "TooManyRequestsException":
		return inbox.CategoryThrottled, true
	case "NoSuchBucket", "InvalidBucketName":
		return inbox.CategoryNoSuchBucket, true
	case "InvalidBucketOwnerAWSAccountID":
		return inbox.CategoryWrongOwner, true
	case "AccessDenied", "AllAccessDisabled", "AccountProblem", "InvalidAccessKeyId", "SignatureDoesNotMatch":
		return inbox.CategoryAccessDenied, true
	case "PermanentRedirect", "IllegalLocationConstraintException", "AuthorizationHeaderMalformed", "IncorrectEndpoint":
		return inbox.CategoryWrongRegion, true
	case "InternalError", "ServiceUnavailable", "RequestTimeout", "OperationAborted",
		"ConditionalRequestConflict",           // another write of the same name is on its way
		"RequestTimeTooSkewed", "ExpiredToken": // a function that was frozen: its clock and its credentials come right again
		return inbox.CategoryUnavailable, true
	}
	switch {
	case strings.Contains(code, "Throttling"): // KMS's among them
		return inbox.CategoryThrottled, true
	case strings.HasPrefix(code, "KMS."): // the bucket's key is disabled, gone or not for this role
		return inbox.CategoryAccessDenied, true
	}
	return "", false
}
