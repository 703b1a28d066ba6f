package s3report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"custody/internal/inbox"
	"custody/internal/report"
	"custody/internal/s3errors"
)

// readAhead is how many objects are fetched at once. One takes S3 some 30 ms, and a run of a million versions has 2,000.
const readAhead = 8

// ErrTooLarge is an object that no encoder of Custody makes.
var ErrTooLarge = fmt.Errorf("more than %d bytes", report.MaxObjectBytes)

// Read gives the objects of a run in the order of their names. A run without any gives none: whether there is such a run, the
// bucket does not know.
//
// An error beside a name is about that object alone, and the others follow: report.ErrForeign for one that Custody did not
// name, which is not fetched. An error without a name is the last: the listing broke off, and there may be further objects.
func (c *Client) Read(ctx context.Context, commandType, runKey string) iter.Seq2[report.Stored, error] {
	return func(yield func(report.Stored, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		prefix, err := report.Prefix(commandType, runKey)
		if err != nil {
			yield(report.Stored{}, fmt.Errorf("read the report of a run: %w", err))
			return
		}
		ahead := make([]<-chan fetched, 0, readAhead)
		next := func() bool {
			f := <-ahead[0]
			ahead = append(ahead[:0], ahead[1:]...)
			return yield(f.object, f.err)
		}
		for o, err := range c.list(ctx, prefix) {
			if err != nil {
				for len(ahead) > 0 && next() {
				}
				if len(ahead) == 0 {
					yield(report.Stored{}, err)
				}
				return
			}
			if ahead = append(ahead, c.fetch(ctx, o)); len(ahead) == readAhead && !next() {
				return
			}
		}
		for len(ahead) > 0 && next() {
		}
	}
}

// listed is an object as the listing has it.
type listed struct {
	name string
	size int64
}

// list pages by itself, since the SDK's paginator goes on for ever with an answer that names the same place again.
func (c *Client) list(ctx context.Context, prefix string) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		var token *string
		for {
			out, err := c.page(ctx, prefix, token)
			if err != nil {
				yield(listed{}, fmt.Errorf("list %s in report bucket %s: %w", prefix, c.bucket, err))
				return
			}
			for _, o := range out.Contents {
				name, err := nameOf(o, out.EncodingType)
				if err != nil {
					yield(listed{}, fmt.Errorf("list %s in report bucket %s: %w", prefix, c.bucket, err))
					return
				}
				if !yield(listed{name, value(o.Size)}, nil) {
					return
				}
			}
			if !value(out.IsTruncated) {
				return
			}
			token = out.NextContinuationToken
		}
	}
}

func (c *Client) page(ctx context.Context, prefix string, token *string) (*s3.ListObjectsV2Output, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	out, err := c.s3.ListObjectsV2(ctx, &s3.ListObjectsV2Input{
		Bucket: &c.bucket, Prefix: &prefix, ContinuationToken: token, EncodingType: types.EncodingTypeUrl,
		ExpectedBucketOwner: c.expectedOwner(),
	})
	if err != nil {
		return nil, s3errors.Translate(ctx, err)
	}
	if next := value(out.NextContinuationToken); value(out.IsTruncated) && (next == "" || next == value(token)) {
		return nil, inbox.Failed(inbox.CategoryListingBroken, errors.New("the answer says that there is more and not where"))
	}
	return out, nil
}

// nameOf undoes EncodingType=url. Our own names need none of it, but what others put there may break XML without.
func nameOf(o types.Object, encoding types.EncodingType) (string, error) {
	name := value(o.Key)
	if encoding != types.EncodingTypeUrl {
		return name, nil
	}
	decoded, err := url.QueryUnescape(name)
	if err != nil {
		return "", inbox.Failed(inbox.CategoryListingBroken, fmt.Errorf("decode %q of the listing: %w", name, err))
	}
	return decoded, nil
}

type fetched struct {
	object report.Stored
	err    error
}

// fetch begins to read one object. The channel takes the result even when nobody waits for it any more.
func (c *Client) fetch(ctx context.Context, o listed) <-chan fetched {
	result := make(chan fetched, 1)
	if _, err := report.ParseName(o.name); err != nil {
		result <- fetched{report.Stored{Name: o.name}, fmt.Errorf("report bucket %s: %w", c.bucket, err)}
		return result
	}
	go func() {
		data, err := c.get(ctx, o)
		if err != nil {
			err = fmt.Errorf("read %s of report bucket %s: %w", o.name, c.bucket, err)
		}
		result <- fetched{report.Stored{Name: o.name, Data: data}, err}
	}()
	return result
}

func (c *Client) get(ctx context.Context, o listed) ([]byte, error) {
	if o.size > report.MaxObjectBytes {
		return nil, ErrTooLarge
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	out, err := c.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &c.bucket, Key: &o.name, ExpectedBucketOwner: c.expectedOwner()})
	if err != nil {
		return nil, s3errors.Translate(ctx, err)
	}
	defer out.Body.Close()
	data, err := io.ReadAll(io.LimitReader(out.Body, report.MaxObjectBytes+1))
	switch {
	case err != nil:
		return nil, s3errors.Translate(ctx, err)
	case len(data) > report.MaxObjectBytes:
		return nil, ErrTooLarge
	}
	return data, nil
}

// value is what the pointer points to, or the zero value: an answer may lack anything.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
