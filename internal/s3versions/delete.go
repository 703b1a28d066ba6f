package s3versions

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// MaxDelete is the most versions that one DeleteObjects takes (API reference).
const MaxDelete = 1000

// ErrNoVersionID is a version that names no version id. Deleting it would write a delete marker or remove what is current.
var ErrNoVersionID = errors.New("a version without a version id is never deleted")

// Delete removes exactly the given versions, at most MaxDelete of them, and says of each what became of it: the fates stand in
// the order of the versions. A version that is already absent counts as success. No request is sent at or after sendBefore,
// when the holds that allowed it are too old; what was not sent is transient. No request is repeated here, for the same reason.
// An error means that nothing is known of any version.
func (c *Client) Delete(ctx context.Context, bucket string, vs []retention.Version, sendBefore time.Time) ([]retention.Fate, error) {
	if len(vs) > MaxDelete {
		return nil, fmt.Errorf("delete from bucket %s: %d versions, at most %d are allowed", bucket, len(vs), MaxDelete)
	}
	for _, v := range vs {
		if v.ID == "" {
			return nil, fmt.Errorf("delete %q from bucket %s: %w", v.Key, bucket, ErrNoVersionID)
		}
	}
	fates := make([]retention.Fate, len(vs))
	var together []int // indexes of the versions that one DeleteObjects can carry
	for i, v := range vs {
		if !fitsXML(v.Key) {
			if err := c.deleteOne(ctx, bucket, v, sendBefore, &fates[i]); err != nil {
				return nil, err
			}
			continue
		}
		together = append(together, i)
	}
	if err := c.deleteTogether(ctx, bucket, vs, together, sendBefore, fates); err != nil {
		return nil, err
	}
	return fates, nil
}

// fitsXML reports whether XML 1.0 can carry the key unchanged. Other characters become U+FFFD on the way, or line ends: S3
// would then confirm the deletion of another key, and nothing would be gone.
func fitsXML(key string) bool {
	for _, r := range key {
		if r < 0x20 || r == 0x7f || r == utf8.RuneError || r == 0xfffe || r == 0xffff {
			return false
		}
	}
	return true
}

const codeTooLate = "HoldsTooOld" // not S3's: the request was not sent

func (c *Client) tooLate(sendBefore time.Time) bool { return !c.now().Before(sendBefore) }

// once keeps the SDK from repeating a delete behind our back: a repeated request would rest on holds that were read long ago.
func once(o *s3.Options) { o.RetryMaxAttempts = 1 }

func (c *Client) deleteTogether(ctx context.Context, bucket string, vs []retention.Version, which []int, sendBefore time.Time, fates []retention.Fate) error {
	if len(which) == 0 {
		return nil
	}
	if c.tooLate(sendBefore) {
		for _, i := range which {
			fates[i] = retention.Fate{Kind: retention.FateTransient, Code: codeTooLate}
		}
		return nil
	}
	ids := make([]types.ObjectIdentifier, len(which))
	for n, i := range which {
		ids[n] = types.ObjectIdentifier{Key: &vs[i].Key, VersionId: &vs[i].ID}
	}
	quiet := false // an empty or truncated answer must not look like success
	ctx, cancel := bounded(ctx)
	defer cancel()
	out, err := c.s3.DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: &bucket, Delete: &types.Delete{Objects: ids, Quiet: &quiet}, ExpectedBucketOwner: c.expectedOwner(),
	}, once)
	if err != nil {
		return fmt.Errorf("delete %d versions from bucket %s: %w", len(ids), bucket, translate(ctx, err))
	}
	account(out, vs, which, fates)
	return nil
}

type name struct{ key, id string }

// account gives every version that was sent its fate. One that the answer does not mention is refused, not assumed to be gone.
func account(out *s3.DeleteObjectsOutput, vs []retention.Version, which []int, fates []retention.Fate) {
	said := make(map[name]retention.Fate, len(which))
	for _, d := range out.Deleted {
		said[name{value(d.Key), value(d.VersionId)}] = retention.Fate{Kind: retention.FateDeleted}
	}
	for _, e := range out.Errors {
		said[name{value(e.Key), value(e.VersionId)}] = fateOf(value(e.Code))
	}
	for _, i := range which {
		fate, mentioned := said[name{vs[i].Key, vs[i].ID}]
		if !mentioned {
			fate = retention.Fate{Kind: retention.FateRefused, Code: "NotMentioned"}
		}
		fates[i] = fate
	}
}

// fateOf sorts the error codes that S3 gives for one version. Only those that S3 documents as passing are sent again.
func fateOf(code string) retention.Fate {
	switch code {
	case "SlowDown", "InternalError", "ServiceUnavailable":
		return retention.Fate{Kind: retention.FateTransient, Code: code}
	case "NoSuchVersion", "NoSuchKey":
		return retention.Fate{Kind: retention.FateAbsent}
	}
	return retention.Fate{Kind: retention.FateRefused, Code: code}
}

// deleteOne sends the version alone, in the request's path, which can name any key.
func (c *Client) deleteOne(ctx context.Context, bucket string, v retention.Version, sendBefore time.Time, fate *retention.Fate) error {
	if c.tooLate(sendBefore) {
		*fate = retention.Fate{Kind: retention.FateTransient, Code: codeTooLate}
		return nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err := c.s3.DeleteObject(ctx, &s3.DeleteObjectInput{
		Bucket: &bucket, Key: &v.Key, VersionId: &v.ID, ExpectedBucketOwner: c.expectedOwner(),
	}, once)
	switch code := codeOf(err); {
	case err == nil:
		*fate = retention.Fate{Kind: retention.FateDeleted}
	case code == "NoSuchBucket" || !answered(err):
		return fmt.Errorf("delete %q from bucket %s: %w", v.Key, bucket, translate(ctx, err))
	case category(err) == inbox.CategoryUnavailable || category(err) == inbox.CategoryThrottled:
		*fate = retention.Fate{Kind: retention.FateTransient, Code: code}
	default:
		*fate = fateOf(code)
	}
	return nil
}

// answered reports whether S3 itself gave the error, with a code.
func answered(err error) bool { return codeOf(err) != "" }
