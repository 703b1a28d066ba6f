package s3versions

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"custody/internal/inbox"
	"custody/internal/retention"
	"custody/internal/s3errors"
)

// pageSize is the most that S3 answers at once (ListObjectVersions, API reference).
const pageSize int32 = 1000

// Page lists one page of versions behind the marker. The answer of a truncated page that names no next marker, or the one
// that was sent, is an error and never a loop. So is a page that does not say whether it is the last, and one with keys that
// were not asked for.
//
// The SDK's own paginator is not used: it sends the marker back as it was encoded, and so pages wrongly.
func (c *Client) Page(ctx context.Context, bucket, prefix string, after retention.Marker) (retention.Page, error) {
	size := pageSize
	ctx, cancel := bounded(ctx)
	defer cancel()
	out, err := c.s3.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{
		Bucket: &bucket, Prefix: &prefix, MaxKeys: &size, EncodingType: types.EncodingTypeUrl,
		KeyMarker: given(after.Key), VersionIdMarker: given(after.VersionID), ExpectedBucketOwner: c.expectedOwner(),
	})
	if err != nil {
		return retention.Page{}, fmt.Errorf("list %s/%s behind %q: %w", bucket, prefix, after.Key,
			c.behind(ctx, bucket, s3errors.Translate(ctx, err), false))
	}
	page, err := read(out, prefix, after)
	if err != nil {
		return retention.Page{}, inbox.Failed(inbox.CategoryListingBroken,
			fmt.Errorf("list %s/%s behind %q: %w", bucket, prefix, after.Key, err))
	}
	return page, nil
}

func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func read(out *s3.ListObjectVersionsOutput, prefix string, after retention.Marker) (retention.Page, error) {
	decode := plain
	if out.EncodingType == types.EncodingTypeUrl { // an engine that ignores the parameter does not name it either
		decode = formDecoded
	}
	versions, err := readVersions(out.Versions, decode)
	if err != nil {
		return retention.Page{}, err
	}
	markers, err := readDeleteMarkers(out.DeleteMarkers, decode)
	if err != nil {
		return retention.Page{}, err
	}
	all := merge(versions, markers)
	last, err := lastKey(all, prefix, after.Key)
	if err != nil {
		return retention.Page{}, err
	}
	next, err := readNext(out, after, last, decode)
	if err != nil {
		return retention.Page{}, err
	}
	return retention.Page{Versions: all, Next: next}, nil
}

// lastKey holds a page to what was asked for: keys under the prefix, in the order of their bytes, none before the marker (API
// reference, ListObjectVersions). A store that ignores the prefix would lead outside of the selection; and of a key that comes up
// again behind others, what is current would be sent without regard to what stays of it.
func lastKey(vs []retention.Version, prefix, marker string) (string, error) {
	last := marker
	for _, v := range vs {
		switch {
		case !strings.HasPrefix(v.Key, prefix):
			return "", fmt.Errorf("the page names %q, which is not under the prefix", v.Key)
		case v.Key < last:
			return "", fmt.Errorf("the page names %q behind %q", v.Key, last)
		}
		last = v.Key
	}
	return last, nil
}

func plain(s string) (string, error) { return s, nil }

// formDecoded undoes EncodingType=url: S3 encodes as a form does, so '+' is a space and "%2B" a plus.
func formDecoded(s string) (string, error) {
	decoded, err := url.QueryUnescape(s)
	if err != nil {
		return "", fmt.Errorf("decode %q of the listing: %w", s, err)
	}
	return decoded, nil
}

// readNext reads where the next page begins; zero at the end. An answer that does not say that it is the end is none: the SDK makes
// an empty page of a 200 without a body, and a run would be done that was never listed.
func readNext(out *s3.ListObjectVersionsOutput, after retention.Marker, last string, decode func(string) (string, error)) (retention.Marker, error) {
	switch {
	case out.IsTruncated == nil:
		return retention.Marker{}, errors.New("the answer does not say whether there is more")
	case !*out.IsTruncated:
		return retention.Marker{}, nil
	}
	key, err := decode(value(out.NextKeyMarker))
	if err != nil {
		return retention.Marker{}, err
	}
	next := retention.Marker{Key: key, VersionID: value(out.NextVersionIdMarker)}
	switch {
	case next.Key == "":
		return next, errors.New("the page is truncated and names no next marker")
	case next == after:
		return next, errors.New("the page is truncated and names the marker that was sent")
	case next.Key < last:
		return next, fmt.Errorf("the next marker %q lies before %q, which was listed", next.Key, last)
	}
	return next, nil
}

func readVersions(in []types.ObjectVersion, decode func(string) (string, error)) ([]retention.Version, error) {
	vs := make([]retention.Version, 0, len(in))
	for _, v := range in {
		key, err := decode(value(v.Key))
		if err != nil {
			return nil, err
		}
		vs = append(vs, retention.Version{
			Key: key, ID: value(v.VersionId), LastModified: value(v.LastModified),
			Currency: currency(v.IsLatest), Size: value(v.Size),
		})
	}
	return vs, nil
}

func readDeleteMarkers(in []types.DeleteMarkerEntry, decode func(string) (string, error)) ([]retention.Version, error) {
	vs := make([]retention.Version, 0, len(in))
	for _, v := range in {
		key, err := decode(value(v.Key))
		if err != nil {
			return nil, err
		}
		vs = append(vs, retention.Version{
			Key: key, ID: value(v.VersionId), LastModified: value(v.LastModified),
			Currency: currency(v.IsLatest), DeleteMarker: true,
		})
	}
	return vs, nil
}

func currency(latest *bool) retention.Currency {
	switch {
	case latest == nil:
		return retention.CurrencyUnknown
	case *latest:
		return retention.Current
	}
	return retention.Noncurrent
}

// merge joins the two lists of an answer by key, since the XML's own order is lost in the SDK. Within one key the order does
// not matter: what is current is told by IsLatest.
func merge(a, b []retention.Version) []retention.Version {
	if len(b) == 0 {
		return a
	}
	all := make([]retention.Version, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if strings.Compare(a[0].Key, b[0].Key) <= 0 {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// value is what the pointer points to, or the zero value: an answer may lack anything.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
