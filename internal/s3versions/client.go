package s3versions

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Client works on the versions of buckets that belong to one account. It is safe for concurrent use.
type Client struct {
	s3    *s3.Client
	owner string // account id, "" for any
	now   func() time.Time
	slots chan struct{} // one for each request about a single version that is on its way
	md5   atomic.Bool   // the store has asked for a Content-MD5, see wantsMD5
}

// New makes a client. Every request carries the owner as a condition, unless it is empty: a bucket name that changed hands
// is then refused by S3 itself. The clock is the one that the holds' age is measured by.
func New(client *s3.Client, owner string, now func() time.Time) *Client {
	c := &Client{s3: s3.New(client.Options(), legible), owner: owner, now: now}
	return c.Batches(DefaultBatches)
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
