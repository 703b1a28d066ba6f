package s3versions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"custody/internal/retention"
	"custody/internal/s3errors"
)

// lock is what Object Lock says about one version.
type lock struct {
	legalHold   bool
	retainUntil time.Time // zero without a retention; governance and compliance alike, for neither is bypassed
}

// protects reports whether the version could not be deleted at this time.
func (l lock) protects(at time.Time) bool { return l.legalHold || at.Before(l.retainUntil) }

// reason is why a version that the lock protects stays.
func (l lock) reason() retention.Reason {
	if l.legalHold {
		return retention.ReasonLockLegalHold
	}
	return retention.ReasonLockRetention
}

// lock asks for legal hold and retention by their own requests. A HeadObject has both in its headers, but leaves them out
// without a word when the role may not read them.
func (c *Client) lock(ctx context.Context, bucket string, v retention.Version) (lock, error) {
	hold, err := c.legalHold(ctx, bucket, v)
	if err != nil {
		return lock{}, fmt.Errorf("read the legal hold of %q version %s: %w", v.Key, v.ID, err)
	}
	until, err := c.retainUntil(ctx, bucket, v)
	if err != nil {
		return lock{}, fmt.Errorf("read the retention of %q version %s: %w", v.Key, v.ID, err)
	}
	return lock{legalHold: hold, retainUntil: until}, nil
}

// codeNoLock is S3's answer for a version that has no legal hold, or no retention, to show.
const codeNoLock = "NoSuchObjectLockConfiguration"

func (c *Client) legalHold(ctx context.Context, bucket string, v retention.Version) (bool, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	out, err := c.s3.GetObjectLegalHold(ctx, &s3.GetObjectLegalHoldInput{
		Bucket: &bucket, Key: &v.Key, VersionId: &v.ID, ExpectedBucketOwner: c.expectedOwner(),
	})
	switch {
	case s3errors.Code(err) == codeNoLock:
		return false, nil
	case err != nil:
		return false, s3errors.Translate(ctx, err)
	case out.LegalHold == nil || out.LegalHold.Status == "":
		return false, broken(errors.New("the answer has no status"))
	}
	return out.LegalHold.Status != types.ObjectLockLegalHoldStatusOff, nil
}

func (c *Client) retainUntil(ctx context.Context, bucket string, v retention.Version) (time.Time, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	out, err := c.s3.GetObjectRetention(ctx, &s3.GetObjectRetentionInput{
		Bucket: &bucket, Key: &v.Key, VersionId: &v.ID, ExpectedBucketOwner: c.expectedOwner(),
	})
	switch {
	case s3errors.Code(err) == codeNoLock:
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, s3errors.Translate(ctx, err)
	case out.Retention == nil || out.Retention.RetainUntilDate == nil:
		return time.Time{}, broken(errors.New("the answer has no date"))
	}
	return *out.Retention.RetainUntilDate, nil
}
