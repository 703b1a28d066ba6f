package s3_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"
)

func pagingPromises() []promise {
	var ps []promise
	for _, size := range []int{1, 2, 3, 7, 50} {
		ps = append(ps, promise{sentence: fmt.Sprintf("pages of %d are the right slices, across keys", size), kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			left := s.build(t, b)
			err := s.walk(t, b, size, func(p onePage) error {
				n := min(size, len(left))
				want := left[:n]
				left = left[n:]
				return differ("page", contentsOf(want), p.contents)
			})
			return first(err, differ("entries never listed", 0, len(left)))
		}})
	}
	return append(ps, []promise{
		{sentence: "one key with 1,100 versions is listed in two pages, and no page has more than 1,000", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			s.put(t, b, "j", "")
			ids := s.putMany(t, b, 1100, func(int) string { return "k" })
			s.put(t, b, "l", "")
			var sizes []int
			var got []string
			err := s.walk(t, b, 5000, func(p onePage) error {
				sizes = append(sizes, len(p.Versions))
				for _, v := range p.Versions {
					got = append(got, v.ID)
				}
				return nil
			})
			got = got[1 : len(got)-1]
			slices.Sort(got)
			slices.Sort(ids)
			return first(err, differ("pages", []int{1000, 102}, sizes), differ("ids", ids, got))
		}},
		{sentence: "concurrent writes of one key leave one latest, the first", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			s.putMany(t, b, 200, func(int) string { return "k" })
			var latest []int
			for i, v := range s.everything(t, b).Versions {
				if v.Latest {
					latest = append(latest, i)
				}
			}
			return differ("positions", []int{0}, latest)
		}},
		{sentence: "MaxKeys 0 lists nothing and is complete", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			s.put(t, b, "k", "")
			p, err := s.page(t.Context(), ask(b, most(0)))
			must(t, "list", err)
			return first(differ("contents", contents{}, p.contents), differ("truncated", false, p.truncated))
		}},
		{sentence: "MaxKeys comes back as it was asked, above the limit too", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			out, err := s.ListObjectVersions(t.Context(), ask(b, most(5000)))
			must(t, "list", err)
			return differ("MaxKeys", int32(5000), aws.ToInt32(out.MaxKeys))
		}},
		{sentence: "a delimiter rolls keys up, also over pages", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			want := s.build(t, b).having(func(v item) bool { return !strings.HasPrefix(v.Key, "b/") })
			for _, size := range []int{1, 2, 1000} {
				var got contents
				var prefixes []string
				err := s.walk(t, b, size, func(p onePage) error {
					got.Versions = append(got.Versions, p.Versions...)
					got.Markers = append(got.Markers, p.Markers...)
					prefixes = append(prefixes, p.prefixes...)
					return nil
				}, delimiter("/"))
				if err := first(err, differ("entries", contentsOf(want), got), differ("prefixes", []string{"b/"}, prefixes)); err != nil {
					return fmt.Errorf("pages of %d: %w", size, err)
				}
			}
			return nil
		}},
		{sentence: "a page of delete markers only is not the end", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			s.put(t, b, "a", "")
			for range 3 {
				s.mark(t, b, "a")
			}
			s.put(t, b, "z", "")
			p, err := s.page(t.Context(), ask(b, most(2)))
			must(t, "list", err)
			return first(differ("markers", 2, len(p.Markers)), differ("versions", 0, len(p.Versions)), differ("truncated", true, p.truncated))
		}},
		{sentence: "a full last page is not truncated", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			s.put(t, b, "a", "")
			s.put(t, b, "b", "")
			p, err := s.page(t.Context(), ask(b, most(2)))
			must(t, "list", err)
			return first(differ("versions", 2, len(p.Versions)), differ("truncated", false, p.truncated), differ("next", marker{}, p.next))
		}},
		{sentence: "a listing's wrong parameters are named", kept: wrongParameters},
	}...)
}

// wrongParameters are InvalidArgument in the order in which S3 looks at them. Where one request has
// several, S3 was seen to name max-keys, then the version id marker, then the encoding.
func wrongParameters(t testing.TB, s *store) error {
	t.Helper()
	b := s.versioned(t)
	id := s.put(t, b, "k", "")
	alike := strings.Map(func(r rune) rune {
		if r == 'A' {
			return 'B'
		}
		return 'A'
	}, id)
	for name, in := range map[string]*sdk.ListObjectVersionsInput{
		"a negative MaxKeys":                ask(b, most(-1)),
		"a version id marker alone":         ask(b, behind(marker{ID: id})),
		"a version id marker that is none":  ask(b, behind(marker{"k", "not-a-version-id"})),
		"a marker that only looks like one": ask(b, behind(marker{"k", alike})),
		"an encoding that does not exist":   {Bucket: &b, EncodingType: types.EncodingType("base64")},
		"an empty version id marker":        {Bucket: &b, KeyMarker: aws.String("k"), VersionIdMarker: aws.String("")},
	} {
		_, err := s.ListObjectVersions(t.Context(), in)
		if err := refused(t, name, "InvalidArgument", err); err != nil {
			return err
		}
	}
	return nil
}

// putMany writes n versions, eight at a time, and returns their ids.
func (s *store) putMany(t testing.TB, bucket string, n int, key func(int) string) []string {
	t.Helper()
	ids := make([]string, n)
	var g errgroup.Group
	g.SetLimit(8)
	for i := range n {
		g.Go(func() error {
			out, err := s.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: &bucket, Key: aws.String(key(i))})
			if err == nil {
				ids[i] = aws.ToString(out.VersionId)
			}
			return err
		})
	}
	must(t, "put many", g.Wait())
	return ids
}
