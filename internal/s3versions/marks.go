package s3versions

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/inbox"
	"custody/internal/retention"
	"custody/internal/s3errors"
)

// Marks reads what each version itself says against its deletion, in the order of the versions. Delete markers have no marks and
// are not asked. A version that is gone meanwhile is Absent.
//
// With an error nothing is known of any of the versions, and none of them may be deleted: one whose tags or locks cannot be
// read may be held. Reading stops at the first error and when ctx ends.
func (c *Client) Marks(ctx context.Context, bucket string, vs []retention.Version, ask retention.Ask) ([]retention.Marks, error) {
	marks := make([]retention.Marks, len(vs))
	asked := asking(vs, ask)
	err := c.each(ctx, len(asked), func(ctx context.Context, n int) error {
		i := asked[n]
		m, err := c.marksOf(ctx, bucket, vs[i], ask)
		marks[i] = m
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the marks of %d versions in bucket %s: %w", len(asked), bucket, err)
	}
	return marks, nil
}

// asking has the indexes of the versions that have something to say.
func asking(vs []retention.Version, ask retention.Ask) []int {
	if !ask.Any() {
		return nil
	}
	which := make([]int, 0, len(vs))
	for i, v := range vs {
		if !v.DeleteMarker {
			which = append(which, i)
		}
	}
	return which
}

func (c *Client) marksOf(ctx context.Context, bucket string, v retention.Version, ask retention.Ask) (retention.Marks, error) {
	m, err := c.readMarks(ctx, bucket, v, ask)
	switch {
	case err == nil:
		return m, nil
	case isGone(err):
		return retention.Marks{Absent: true}, nil
	case inbox.CategoryOf(err) == inbox.CategoryAccessDenied || s3errors.Code(err) == "MethodNotAllowed":
		return c.doubt(ctx, bucket, v, err)
	}
	return retention.Marks{}, err
}

func (c *Client) readMarks(ctx context.Context, bucket string, v retention.Version, ask retention.Ask) (m retention.Marks, err error) {
	if v.ID == "" {
		return m, fmt.Errorf("read the marks of %q in bucket %s: %w", v.Key, bucket, ErrNoVersionID)
	}
	if ask.Tags {
		if m.TagHold, err = c.tagHold(ctx, bucket, v); err != nil {
			return m, fmt.Errorf("read the tags of %q version %s: %w", v.Key, v.ID, err)
		}
	}
	if ask.Locks {
		l, err := c.lock(ctx, bucket, v)
		if err != nil {
			return m, err
		}
		m.LegalHold, m.RetainUntil = l.legalHold, l.retainUntil
	}
	return m, nil
}

func (c *Client) tagHold(ctx context.Context, bucket string, v retention.Version) (bool, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	out, err := c.s3.GetObjectTagging(ctx, &s3.GetObjectTaggingInput{
		Bucket: &bucket, Key: &v.Key, VersionId: &v.ID, ExpectedBucketOwner: c.expectedOwner(),
	})
	switch {
	case err != nil:
		return false, s3errors.Translate(ctx, err)
	case out.TagSet == nil: // an empty 200 must not look like an object without tags
		return false, broken(errors.New("the answer has no tag set"))
	}
	for _, t := range out.TagSet {
		if value(t.Key) == retention.TagKey && value(t.Value) != retention.TagOff {
			return true, nil
		}
	}
	return false, nil
}

// doubtPages bounds that listing to 10,000 versions. One that lies further back is taken for there, and S3 at its word.
const doubtPages = 10

// doubt decides what a 403 or a 405 about one version means, by listing the versions of its key. S3 answers 403 for a version
// that is gone, too, where the role lacks s3:ListBucket. It answers 405 for a delete marker, which may have replaced a null
// version under its id; other stores do so for what they do not have.
func (c *Client) doubt(ctx context.Context, bucket string, v retention.Version, refusal error) (retention.Marks, error) {
	after := retention.Marker{}
	for range doubtPages {
		page, err := c.Page(ctx, bucket, v.Key, after)
		if err != nil {
			return retention.Marks{}, err
		}
		past := page.Next == retention.Marker{}
		for _, seen := range page.Versions {
			if seen.Key == v.Key && seen.ID == v.ID && !seen.DeleteMarker {
				return retention.Marks{}, refusal
			}
			past = past || seen.Key != v.Key // the key is its own prefix, and the first with it
		}
		if past {
			return retention.Marks{Absent: true}, nil
		}
		after = page.Next
	}
	return retention.Marks{}, refusal
}
