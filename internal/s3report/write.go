package s3report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/inbox"
	"custody/internal/s3errors"
)

// How the objects are stored. A browser that opens a presigned link shows the lines, which it would not do for the registered
// type of JSON lines; `aws s3 cp` takes the bytes as they are, and the name's .gz is right for what it writes.
const (
	contentType     = "text/plain; charset=utf-8"
	contentEncoding = "gzip"
)

// ErrExists is an object that was there before. Names are never given twice, so somebody else wrote it.
var ErrExists = errors.New("a report object of this name is there already")

// Write stores the object, once: it never replaces another (If-None-Match). A nil error means that it is stored, an error that it
// may be or not; a further attempt needs a further name. CategoryReportUnwritable is an error that no retry cures.
//
// S3 answers a repeated request by 412 when the first one was done and only its answer was lost. That is told from ErrExists
// by what this call has seen: an earlier request of it without a clear answer. Reading the object back would tell it too, but
// would need the permission to read the audit trail.
func (c *Client) Write(ctx context.Context, name string, object []byte) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	absent, kind, encoding := "*", contentType, contentEncoding
	var sent requests
	_, err := c.s3.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &c.bucket, Key: &name, Body: bytes.NewReader(object), IfNoneMatch: &absent,
		ContentType: &kind, ContentEncoding: &encoding, ExpectedBucketOwner: c.expectedOwner(),
	}, sent.watch)
	switch {
	case err == nil:
		return nil
	case s3errors.Status(err) == http.StatusPreconditionFailed && sent.unclear:
		return nil
	case s3errors.Status(err) == http.StatusPreconditionFailed:
		return inbox.Failed(inbox.CategoryInternal, fmt.Errorf("write %s to report bucket %s: %w", name, c.bucket, ErrExists))
	}
	return fmt.Errorf("write %s to report bucket %s: %w", name, c.bucket, c.unwritten(ctx, err))
}

// unwritten gives an error of a write its category. What no retry cures stops the run under one name, whatever S3 calls it.
func (c *Client) unwritten(ctx context.Context, err error) error {
	failure := s3errors.Translate(ctx, err)
	if !failure.Category.Permanent() {
		return failure
	}
	if failure.Category == inbox.CategoryAccessDenied && c.owner != "" {
		// S3 answers a wrong owner and a missing permission with the same 403, and telling them apart takes a permission to read.
		failure.Err = fmt.Errorf("not allowed, or not the bucket of account %s: %w", c.owner, failure.Err)
	}
	failure.Category = inbox.CategoryReportUnwritable
	return failure
}

// requests watches the requests of one call, which the SDK sends one after the other.
type requests struct {
	next    s3.HTTPClient
	unclear bool // one had no answer, or a 5xx: it may have been done
}

func (r *requests) watch(o *s3.Options) {
	r.next = o.HTTPClient
	o.HTTPClient = r
}

// Do sends one request.
func (r *requests) Do(request *http.Request) (*http.Response, error) {
	answer, err := r.next.Do(request)
	if err != nil || answer.StatusCode >= http.StatusInternalServerError {
		r.unclear = true
	}
	return answer, err
}
