package dynamostore

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"custody/internal/inbox"
)

const conditionFailed = "ConditionalCheckFailed"

// isConflict tells a write that met a running transaction on its item, alone or as one of a transaction's reasons.
func isConflict(err error) bool {
	if _, ok := errors.AsType[*types.TransactionConflictException](err); ok {
		return true
	}
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return false
	}
	for _, r := range cancelled.CancellationReasons {
		if code(r) == "TransactionConflict" {
			return true
		}
	}
	return false
}

// refusedByConditions tells a transaction that was cancelled by its conditions alone. Any other reason in the list, a throttle
// or a validation error, says nothing about the items, and must never be read as "already there".
func refusedByConditions(c *types.TransactionCanceledException) bool {
	if len(c.CancellationReasons) == 0 {
		return false
	}
	refused := false
	for _, r := range c.CancellationReasons {
		switch code(r) {
		case conditionFailed:
			refused = true
		case "None":
		default:
			return false
		}
	}
	return refused
}

func code(r types.CancellationReason) string {
	if r.Code == nil {
		return ""
	}
	return *r.Code
}

// translate turns an error of the SDK into one of the domain. The vendor's types end here; its text stays for the log.
func translate(err error) error {
	category := inbox.CategoryUnavailable
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		switch api.ErrorCode() {
		case "ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException":
			category = inbox.CategoryThrottled
		case "AccessDeniedException", "ResourceNotFoundException", "ValidationException":
			// The stack's own tables: an operator mends the role or the setting, and the runs go on by themselves.
			category = inbox.CategoryInternal
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &inbox.Failure{Category: category, Err: fmt.Errorf("%w: %w", inbox.ErrUnavailable, err)}
	}
	return &inbox.Failure{Category: category, Err: fmt.Errorf("%w: %s", inbox.ErrUnavailable, err.Error())}
}
