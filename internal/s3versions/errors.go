package s3versions

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"custody/internal/inbox"
	"custody/internal/s3errors"
)

// broken is an answer that says success and lacks what it is for. Nothing follows from it, and asking again may help.
func broken(err error) error { return inbox.Failed(inbox.CategoryUnavailable, err) }

// isGone reports that the version which was asked for is not there.
func isGone(err error) bool {
	code := s3errors.Code(err)
	return code == "NoSuchVersion" || code == "NoSuchKey"
}

// behind tells what a refused request to a whole bucket was refused for: S3 gives the same 403 for a bucket of another owner, a
// missing permission and, where versions are deleted, a missing second factor. The bucket's versioning tells them apart; where
// that cannot be read, the refusal stands as it is. Other errors pass.
func (c *Client) behind(ctx context.Context, bucket string, err error, deletes bool) error {
	if inbox.CategoryOf(err) != inbox.CategoryAccessDenied {
		return err
	}
	out, unread := c.checkedVersioning(ctx, bucket)
	switch {
	case inbox.CategoryOf(unread) == inbox.CategoryWrongOwner:
		return inbox.Failed(inbox.CategoryWrongOwner, fmt.Errorf("%w: %w", unread, err))
	case unread == nil && deletes && out.MFADelete == types.MFADeleteStatusEnabled:
		return inbox.Failed(inbox.CategoryMFADelete, fmt.Errorf("bucket %s has MFA delete enabled: %w", bucket, err))
	}
	return err
}
