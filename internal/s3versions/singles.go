package s3versions

import (
	"context"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"golang.org/x/sync/errgroup"

	"custody/internal/inbox"
)

// singles is how many requests about single versions (tags, locks, deletes that go one by one) one client has on their way for each
// batch that is worked at once, over all batches together. S3 answers one in 10 to 30 ms, so the 32 of four batches make some
// 1,000 to 3,000 a second: below the 5,500 reads a second and prefix that S3 promises (userguide, optimizing-performance).
const singles = 8

// DefaultBatches is how many batches a client reckons with; the default of the setting DeleteConcurrency.
const DefaultBatches = 4

// HTTPClient is the SDK's own client with enough idle connections for what one Client has on its way: the singles, and beside them
// for each batch its delete request and its report, and the listing. The SDK keeps 10 for each host: of 32 connections it would
// close 22 as soon as they fall idle, and pay a TLS handshake for each of the next requests. Give it to the SDK's configuration
// (WithHTTPClient), which still adds AWS_CA_BUNDLE to it.
func HTTPClient(batches int) *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = (singles+2)*batches + 8
		t.MaxIdleConns = max(t.MaxIdleConns, 2*t.MaxIdleConnsPerHost)
	})
}

// Batches sets how many batches are worked at once, at least one. It must be called before anything else.
func (c *Client) Batches(n int) *Client {
	c.slots = make(chan struct{}, singles*max(n, 1))
	return c
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
