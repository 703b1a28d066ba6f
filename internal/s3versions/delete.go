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
	"custody/internal/s3errors"
)

// MaxDelete is the most versions that one DeleteObjects takes (API reference).
const MaxDelete = 1000

// ErrNoVersionID is a version that names no version id. Deleting it would write a delete marker or remove what is current.
var ErrNoVersionID = errors.New("a version without a version id is never deleted")

// Delete removes exactly the given versions, at most MaxDelete of them, and says of each what became of it: the fates stand in
// the order of the versions. A version that is already absent counts as success. No request is sent at or after sendBefore,
// when the holds that allowed it are too old; what was not sent is transient. No request is repeated here, for the same reason.
//
// A version that S3 refuses with AccessDenied is asked for its lock: what that explains is locked, and what could not be asked
// is transient. An error means that nothing is known of any version.
func (c *Client) Delete(ctx context.Context, bucket string, vs []retention.Version, sendBefore time.Time) ([]retention.Fate, error) {
	if len(vs) > MaxDelete {
		return nil, fmt.Errorf("delete from bucket %s: %d versions, at most %d are allowed", bucket, len(vs), MaxDelete)
	}
	for _, v := range vs {
		if v.ID == "" {
			return nil, fmt.Errorf("delete %q from bucket %s: %w", v.Key, bucket, ErrNoVersionID)
		}
	}
	d := &deletion{Client: c, bucket: bucket, vs: vs, sendBefore: sendBefore, began: c.now(), ledger: newLedger(len(vs))}
	var alone, together []int // indexes into vs
	for i, v := range vs {
		if fitsXML(v.Key) {
			together = append(together, i)
		} else {
			alone = append(alone, i)
		}
	}
	if err := d.sendAlone(ctx, alone); err != nil {
		return nil, err
	}
	if err := d.sendTogether(ctx, together); err != nil {
		return nil, err
	}
	d.explain(ctx)
	fates, err := d.ledger.close()
	if err != nil {
		return nil, fmt.Errorf("delete from bucket %s: %w", bucket, err)
	}
	return fates, nil
}

// deletion is one call of Delete.
type deletion struct {
	*Client
	bucket     string
	vs         []retention.Version
	sendBefore time.Time
	began      time.Time
	ledger     *ledger
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

// left is how long a request may still be sent; 0 or less when it is too late.
func (d *deletion) left() time.Duration { return d.sendBefore.Sub(d.now()) }

// once keeps the SDK from repeating a delete behind our back: a repeated request would rest on holds that were read long ago.
func once(o *s3.Options) { o.RetryMaxAttempts = 1 }

func (d *deletion) sendTogether(ctx context.Context, which []int) error {
	if len(which) == 0 {
		return nil
	}
	left := d.left()
	if left <= 0 {
		d.undone(which, retention.CodeHoldsTooOld)
		return nil
	}
	ids := make([]types.ObjectIdentifier, len(which))
	for n, i := range which {
		ids[n] = types.ObjectIdentifier{Key: &d.vs[i].Key, VersionId: &d.vs[i].ID}
	}
	md5 := d.md5.Load()
	out, err := d.deleteObjects(ctx, ids, left, md5)
	if !md5 && wantsMD5(err) {
		d.md5.Store(true) // for the requests to come: this one is not repeated, like all others
		d.undone(which, s3errors.Code(err))
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete %d versions from bucket %s: %w", len(ids), d.bucket, d.behind(ctx, d.bucket, err, true))
	}
	return d.ledger.read(out, d.vs, which)
}

// undone enters versions that nothing has happened to, and that are to be decided again.
func (d *deletion) undone(which []int, code string) {
	for _, i := range which {
		d.ledger.enter(i, retention.Fate{Kind: retention.FateTransient, Code: code})
	}
}

func (d *deletion) deleteObjects(
	ctx context.Context, ids []types.ObjectIdentifier, left time.Duration, md5 bool,
) (*s3.DeleteObjectsOutput, error) {
	quiet := false // an empty or truncated answer must not look like success
	limited, cancel := sentWithin(ctx, left)
	defer cancel()
	options := []func(*s3.Options){once}
	if md5 {
		options = append(options, withMD5)
	}
	out, err := d.s3.DeleteObjects(limited, &s3.DeleteObjectsInput{
		Bucket: &d.bucket, Delete: &types.Delete{Objects: ids, Quiet: &quiet}, ExpectedBucketOwner: d.expectedOwner(),
	}, options...)
	if err != nil {
		return nil, s3errors.Translate(limited, err)
	}
	return out, nil
}

// sendAlone sends each version in a request of its own, in the path, which can name any key.
func (d *deletion) sendAlone(ctx context.Context, which []int) error {
	return d.each(ctx, len(which), func(ctx context.Context, n int) error {
		fate, err := d.deleteObject(ctx, d.vs[which[n]])
		if err != nil {
			return fmt.Errorf("delete %q from bucket %s: %w", d.vs[which[n]].Key, d.bucket, err)
		}
		d.ledger.enter(which[n], fate)
		return nil
	})
}

func (d *deletion) deleteObject(ctx context.Context, v retention.Version) (retention.Fate, error) {
	left := d.left()
	if left <= 0 {
		return retention.Fate{Kind: retention.FateTransient, Code: retention.CodeHoldsTooOld}, nil
	}
	ctx, cancel := sentWithin(ctx, left)
	defer cancel()
	_, err := d.s3.DeleteObject(ctx, &s3.DeleteObjectInput{
		Bucket: &d.bucket, Key: &v.Key, VersionId: &v.ID, ExpectedBucketOwner: d.expectedOwner(),
	}, once)
	if err == nil {
		return retention.Fate{Kind: retention.FateDeleted}, nil
	}
	code, kind := s3errors.Code(err), s3errors.Category(err)
	switch {
	case code == "": // it is not S3 that answered
		return retention.Fate{}, s3errors.Translate(ctx, err)
	case kind == inbox.CategoryUnavailable || kind == inbox.CategoryThrottled:
		return retention.Fate{Kind: retention.FateTransient, Code: code}, nil
	case kind.Permanent() && code != codeAccessDenied: // the answer is about the bucket or the caller, not about the version
		return retention.Fate{}, s3errors.Translate(ctx, err)
	}
	return fateOf(code), nil
}
