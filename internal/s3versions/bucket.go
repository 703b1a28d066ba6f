package s3versions

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"custody/internal/inbox"
	"custody/internal/retention"
	"custody/internal/s3errors"
)

// Bucket reads what the bucket's configuration says about deleting versions: versioning, MFA delete and Object Lock, in two
// requests at once.
func (c *Client) Bucket(ctx context.Context, bucket string) (retention.Bucket, error) {
	var locks bool
	var unlocked error
	var reading sync.WaitGroup
	reading.Go(func() { locks, unlocked = c.hasObjectLock(ctx, bucket) })
	out, err := c.checkedVersioning(ctx, bucket)
	reading.Wait()
	switch {
	case err != nil: // it comes first, since it tells a wrong owner from a missing permission
		return retention.Bucket{}, err
	case unlocked != nil:
		return retention.Bucket{}, fmt.Errorf("read the Object Lock configuration of bucket %s: %w", bucket, unlocked)
	}
	return retention.Bucket{
		Versioning: retention.Versioning(out.Status),
		MFADelete:  out.MFADelete == types.MFADeleteStatusEnabled,
		ObjectLock: locks,
	}, nil
}

// Versioning reads the bucket's versioning state alone, in one request, for those who need nothing else of Bucket.
func (c *Client) Versioning(ctx context.Context, bucket string) (retention.Versioning, error) {
	out, err := c.checkedVersioning(ctx, bucket)
	if err != nil {
		return "", err
	}
	return retention.Versioning(out.Status), nil
}

// checkedVersioning tells a wrong owner from a missing permission: S3 answers both with the same 403, and without the owner as a
// condition they differ.
func (c *Client) checkedVersioning(ctx context.Context, bucket string) (*s3.GetBucketVersioningOutput, error) {
	out, err := c.versioning(ctx, bucket, c.expectedOwner())
	if inbox.CategoryOf(err) == inbox.CategoryAccessDenied && c.owner != "" {
		if _, again := c.versioning(ctx, bucket, nil); again == nil {
			return nil, inbox.Failed(inbox.CategoryWrongOwner,
				fmt.Errorf("bucket %s does not belong to account %s", bucket, c.owner))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the versioning of bucket %s: %w", bucket, err)
	}
	return out, nil
}

func (c *Client) versioning(ctx context.Context, bucket string, owner *string) (*s3.GetBucketVersioningOutput, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	out, err := c.s3.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &bucket, ExpectedBucketOwner: owner})
	if err != nil {
		return nil, s3errors.Translate(ctx, err)
	}
	return out, nil
}

func (c *Client) hasObjectLock(ctx context.Context, bucket string) (bool, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	out, err := c.s3.GetObjectLockConfiguration(ctx, &s3.GetObjectLockConfigurationInput{
		Bucket: &bucket, ExpectedBucketOwner: c.expectedOwner(),
	})
	switch {
	case s3errors.Code(err) == "ObjectLockConfigurationNotFoundError":
		return false, nil
	case err != nil:
		return false, s3errors.Translate(ctx, err)
	case out.ObjectLockConfiguration == nil || out.ObjectLockConfiguration.ObjectLockEnabled != types.ObjectLockEnabledEnabled:
		// "Enabled" is the only value there is, and a bucket without Object Lock has no configuration to answer with.
		return false, broken(errors.New("the answer does not say whether Object Lock is enabled"))
	}
	return true, nil
}
