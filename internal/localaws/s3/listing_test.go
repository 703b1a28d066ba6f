package s3_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// item is one version or delete marker as a listing shows it.
type item struct {
	Key, ID        string
	Marker, Latest bool
}

// contents is what the SDK makes of a listing: two lists, each in order.
type contents struct{ Versions, Markers []item }

func contentsOf(items []item) contents {
	var c contents
	for _, v := range items {
		if v.Marker {
			c.Markers = append(c.Markers, v)
		} else {
			c.Versions = append(c.Versions, v)
		}
	}
	return c
}

func (c contents) all() []item { return append(slices.Clone(c.Versions), c.Markers...) }

// marker is a place to resume behind.
type marker struct{ Key, ID string }

// onePage is one page as Custody reads it: encoded and decoded by itself.
type onePage struct {
	contents
	prefixes  []string
	truncated bool
	next      marker
}

// ask is a listing request with Custody's encoding.
func ask(bucket string, change ...func(*sdk.ListObjectVersionsInput)) *sdk.ListObjectVersionsInput {
	in := &sdk.ListObjectVersionsInput{Bucket: &bucket, EncodingType: types.EncodingTypeUrl}
	for _, f := range change {
		f(in)
	}
	return in
}

func prefix(p string) func(*sdk.ListObjectVersionsInput) {
	return func(in *sdk.ListObjectVersionsInput) { in.Prefix = &p }
}

func delimiter(d string) func(*sdk.ListObjectVersionsInput) {
	return func(in *sdk.ListObjectVersionsInput) { in.Delimiter = &d }
}

func most(n int) func(*sdk.ListObjectVersionsInput) {
	return func(in *sdk.ListObjectVersionsInput) { in.MaxKeys = aws.Int32(int32(n)) }
}

func behind(m marker) func(*sdk.ListObjectVersionsInput) {
	return func(in *sdk.ListObjectVersionsInput) {
		if m.Key != "" {
			in.KeyMarker = &m.Key
		}
		if m.ID != "" {
			in.VersionIdMarker = &m.ID
		}
	}
}

// page lists one page. Keys are decoded where the answer says that they are encoded, and only there.
func (s *store) page(ctx context.Context, in *sdk.ListObjectVersionsInput) (onePage, error) {
	out, err := s.ListObjectVersions(ctx, in)
	if err != nil {
		return onePage{}, err
	}
	d := decoder{encoding: out.EncodingType}
	p := onePage{truncated: aws.ToBool(out.IsTruncated)}
	for _, v := range out.Versions {
		p.Versions = append(p.Versions, item{d.plain(v.Key), aws.ToString(v.VersionId), false, aws.ToBool(v.IsLatest)})
	}
	for _, v := range out.DeleteMarkers {
		p.Markers = append(p.Markers, item{d.plain(v.Key), aws.ToString(v.VersionId), true, aws.ToBool(v.IsLatest)})
	}
	for _, c := range out.CommonPrefixes {
		p.prefixes = append(p.prefixes, d.plain(c.Prefix))
	}
	p.next = marker{d.plain(out.NextKeyMarker), aws.ToString(out.NextVersionIdMarker)}
	return p, d.err
}

// decoder undoes form encoding: '+' is a space. It keeps its first error.
type decoder struct {
	encoding types.EncodingType
	err      error
}

func (d *decoder) plain(text *string) string {
	if d.encoding != types.EncodingTypeUrl {
		return aws.ToString(text)
	}
	plain, err := url.QueryUnescape(aws.ToString(text))
	if d.err == nil {
		d.err = err
	}
	return plain
}

// everything lists a bucket on one page.
func (s *store) everything(t testing.TB, bucket string, change ...func(*sdk.ListObjectVersionsInput)) contents {
	t.Helper()
	p, err := s.page(t.Context(), ask(bucket, change...))
	must(t, "list versions", err)
	return p.contents
}

// walk lists by markers in pages of size and hands each page to visit. It is an error when the listing
// does not get on.
func (s *store) walk(t testing.TB, bucket string, size int, visit func(onePage) error, change ...func(*sdk.ListObjectVersionsInput)) error {
	t.Helper()
	at := marker{}
	for range 5000 {
		p, err := s.page(t.Context(), ask(bucket, append(change, most(size), behind(at))...))
		if err != nil {
			return fmt.Errorf("list behind %q: %w", at, err)
		}
		if n := len(p.Versions) + len(p.Markers) + len(p.prefixes); n > size {
			return fmt.Errorf("a page of %d has %d entries", size, n)
		}
		if err := visit(p); err != nil {
			return fmt.Errorf("page behind %q: %w", at, err)
		}
		if !p.truncated {
			return nil
		}
		if p.next.Key == "" || p.next == at {
			return fmt.Errorf("truncated, but the next marker %q is no progress from %q", p.next, at)
		}
		at = p.next
	}
	return fmt.Errorf("5,000 pages and no end")
}

// history is a bucket's expected contents in listing order.
type history []item

// sortHistory orders by key in byte order, keeps the order within a key, and sets what is latest.
func sortHistory(items []item) history {
	h := slices.Clone(items)
	slices.SortStableFunc(h, func(a, b item) int { return strings.Compare(a.Key, b.Key) })
	for i := range h {
		h[i].Latest = i == 0 || h[i-1].Key != h[i].Key
	}
	return h
}

// without is the history after one version was deleted.
func (h history) without(key, id string) history {
	return sortHistory(slices.DeleteFunc(slices.Clone(h), func(v item) bool { return v.Key == key && v.ID == id }))
}

// having are the entries that f holds for.
func (h history) having(f func(item) bool) history {
	return slices.DeleteFunc(slices.Clone(h), func(v item) bool { return !f(v) })
}

// build writes five rounds over nine keys with deletes in between: 49 entries.
func (s *store) build(t testing.TB, bucket string) history {
	t.Helper()
	keys := []string{"a", "a b", "ab", "b/1", "b/2", "B", "c", "é", "z"}
	var newest []item // newest first
	add := func(v item) { newest = append([]item{v}, newest...) }
	for round := range 5 {
		for _, k := range keys {
			add(item{Key: k, ID: s.put(t, bucket, k, fmt.Sprint(round))})
		}
		if round == 2 {
			add(item{Key: "a", ID: s.mark(t, bucket, "a"), Marker: true})
			add(item{Key: "c", ID: s.mark(t, bucket, "c"), Marker: true})
		}
	}
	add(item{Key: "b/2", ID: s.mark(t, bucket, "b/2"), Marker: true})
	add(item{Key: "é", ID: s.mark(t, bucket, "é"), Marker: true})
	return sortHistory(newest)
}
