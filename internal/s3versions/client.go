package s3versions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// Client works on the versions of buckets that belong to one account. It is safe for concurrent use.
type Client struct {
	s3    *s3.Client
	owner string // account id, "" for any
	now   func() time.Time
}

// New makes a client. Every request carries the owner as a condition, unless it is empty: a bucket name that changed hands
// is then refused by S3 itself. The clock is the one that the holds' age is measured by.
func New(client *s3.Client, owner string, now func() time.Time) *Client {
	return &Client{s3: client, owner: owner, now: now}
}

func (c *Client) expectedOwner() *string {
	if c.owner == "" {
		return nil
	}
	return &c.owner
}

// requestTimeout bounds one request. A delete of 1,000 versions takes S3 a second or two; an answer that takes half a minute
// is not coming.
const requestTimeout = 30 * time.Second

var errRequestTimeout = errors.New("no answer from S3 within 30 s")

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, requestTimeout, errRequestTimeout)
}

// Bucket reads what the bucket's configuration says about deleting versions.
func (c *Client) Bucket(ctx context.Context, bucket string) (retention.Bucket, error) {
	out, err := c.versioning(ctx, bucket, c.expectedOwner())
	if err != nil && isAccessDenied(err) && c.owner != "" {
		// S3 answers a wrong owner and a missing permission with the same 403: without the condition they differ.
		if _, again := c.versioning(ctx, bucket, nil); again == nil {
			return retention.Bucket{}, inbox.Failed(inbox.CategoryWrongOwner,
				fmt.Errorf("bucket %s does not belong to account %s", bucket, c.owner))
		}
	}
	if err != nil {
		return retention.Bucket{}, fmt.Errorf("read the versioning of bucket %s: %w", bucket, translate(ctx, err))
	}
	return retention.Bucket{
		Versioning: retention.Versioning(out.Status),
		MFADelete:  out.MFADelete == types.MFADeleteStatusEnabled,
	}, nil
}

func (c *Client) versioning(ctx context.Context, bucket string, owner *string) (*s3.GetBucketVersioningOutput, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return c.s3.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &bucket, ExpectedBucketOwner: owner})
}
