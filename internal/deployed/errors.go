package deployed

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/smithy-go"
)

// DeniedError is a call that the caller's credentials may not make.
type DeniedError struct {
	Doing      string
	Permission string // such as "lambda:InvokeFunction"
	Code       string
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("%s: the AWS credentials lack the permission %s (%s)", e.Doing, e.Permission, e.Code)
}

// CredentialsError is a call that AWS takes from nobody with these credentials.
type CredentialsError struct{ Doing, Code string }

func (e *CredentialsError) Error() string {
	return fmt.Sprintf("%s: AWS does not take the credentials (%s); AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY choose others", e.Doing, e.Code)
}

// failed says what a call's error means to a person. The codes are those of the API references' "Common errors", which differ
// from service to service in their spelling alone.
func failed(ctx context.Context, doing, permission string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	}
	api, answered := errors.AsType[smithy.APIError](err)
	if !answered {
		return fmt.Errorf("%s: no answer: %w", doing, err)
	}
	switch code := strings.TrimSuffix(api.ErrorCode(), "Exception"); code {
	case "AccessDenied", "UnauthorizedOperation", "AuthorizationError", "Forbidden":
		return &DeniedError{Doing: doing, Permission: permission, Code: api.ErrorCode()}
	case "InvalidClientTokenId", "UnrecognizedClient", "SignatureDoesNotMatch", "InvalidSignature", "ExpiredToken", "MissingAuthenticationToken",
		"IncompleteSignature", "InvalidAccessKeyId":
		return &CredentialsError{Doing: doing, Code: api.ErrorCode()}
	}
	return fmt.Errorf("%s: %s: %s", doing, api.ErrorCode(), api.ErrorMessage())
}
