package s3versions

import (
	"context"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"golang.org/x/sync/errgroup"

	"custody/internal/inbox"
)

// singles bounds the requests about single versions (tags, locks, deletes that go one by one) that one client has on their
// way, over all batches. S3 answers one in 10 to 30 ms, so 32 make some 1,000 to 3,000 a second: a batch of 1,000 takes about a
// second a question, and all batches together stay below the 5,500 reads a second and prefix that S3 promises
// (userguide, optimizing-performance).
const singles = 32

// idleConnections leaves room for the listing and the batches beside the singles.
const idleConnections = singles + 16

// HTTPClient is the SDK's own client with enough idle connections for what one Client has on its way. The SDK keeps 10 for each
// host: of 32 connections it would close 22 as soon as they fall idle, and pay a TLS handshake for each of the next requests.
// Give it to the SDK's configuration (WithHTTPClient), which still adds AWS_CA_BUNDLE to it.
func HTTPClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = idleConnections
	})
}

// each runs do for 0 to n-1, as many at once as there are slots, and stops at the first error or when ctx ends. It returns
// when nothing of it runs any more.
func (c *Client) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, working := errgroup.WithContext(ctx)
	for i := range n {
		if !c.takeSlot(working) {
			break
		}
		group.Go(func() error {
			defer func() { <-c.slots }()
			return do(working, i)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return inbox.Failed(inbox.CategoryUnavailable, context.Cause(ctx))
	}
	return nil
}

// takeSlot waits for a slot; false when ctx ends before there is one.
func (c *Client) takeSlot(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case c.slots <- struct{}{}:
		return true
	}
}
