package s3report

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Client writes and reads the report objects of one bucket. It is safe for concurrent use.
type Client struct {
	s3     *s3.Client
	bucket string
	owner  string // account id, "" for any
}

// New makes a client. Every request carries the owner as a condition, unless it is empty: what was deleted, and why, is not
// told to whoever has taken over a bucket's name.
func New(client *s3.Client, bucket, owner string) *Client {
	return &Client{s3: client, bucket: bucket, owner: owner}
}

func (c *Client) expectedOwner() *string {
	if c.owner == "" {
		return nil
	}
	return &c.owner
}

// callTimeout bounds one call, the SDK's repetitions included. An object has some 40 KB; an answer that takes half a minute is
// not coming.
const callTimeout = 30 * time.Second

var errCallTimeout = errors.New("no answer from S3 within 30 s")

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, callTimeout, errCallTimeout)
}
