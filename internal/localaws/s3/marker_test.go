package s3_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

func markerPromises() []promise {
	return []promise{
		{sentence: "a key marker alone skips every version of that key", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			h := s.build(t, b)
			for _, key := range []string{"a", "b/1", "é"} {
				want := h.having(func(v item) bool { return v.Key > key })
				if err := differ("behind "+key, contentsOf(want), s.everything(t, b, behind(marker{Key: key}))); err != nil {
					return err
				}
			}
			return nil
		}},
		{sentence: "a key marker need not be a key", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			want := s.build(t, b).having(func(v item) bool { return v.Key > "b/0" })
			return differ("listing", contentsOf(want), s.everything(t, b, behind(marker{Key: "b/0"})))
		}},
		{sentence: "a key marker works inside a prefix and before it", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			h := s.build(t, b).having(func(v item) bool { return strings.HasPrefix(v.Key, "b/") })
			inside := h.having(func(v item) bool { return v.Key > "b/1" })
			return first(
				differ("inside", contentsOf(inside), s.everything(t, b, prefix("b/"), behind(marker{Key: "b/1"}))),
				differ("before", contentsOf(h), s.everything(t, b, prefix("b/"), behind(marker{Key: "a"}))),
				differ("behind", contents{}, s.everything(t, b, prefix("b/"), behind(marker{Key: "c"}))))
		}},
		{sentence: "both markers resume right behind that version, at every position", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			h := s.build(t, b)
			for i, v := range h {
				if err := differ(fmt.Sprintf("behind %v", v), contentsOf(h[i+1:]), s.everything(t, b, behind(marker{v.Key, v.ID}))); err != nil {
					return err
				}
			}
			return nil
		}},
		{sentence: "the markers of an encoded page are encoded, and resume when they are decoded", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			const key, encoded = "a b+%2F/é", "a+b%2B%252F/%C3%A9"
			ids := []string{s.put(t, b, key, "1"), s.put(t, b, key, "2"), s.put(t, b, key, "3")}
			one, err := s.ListObjectVersions(t.Context(), ask(b, prefix("a b+"), most(1)))
			must(t, "list", err)
			two, err := s.ListObjectVersions(t.Context(), ask(b, prefix("a b+"), most(1), behind(marker{key, aws.ToString(one.NextVersionIdMarker)})))
			must(t, "resume", err)
			if len(two.Versions) != 1 {
				return fmt.Errorf("%d versions behind the marker", len(two.Versions))
			}
			return first(
				differ("next key", encoded, aws.ToString(one.NextKeyMarker)), differ("next version", ids[2], aws.ToString(one.NextVersionIdMarker)),
				differ("key marker", encoded, aws.ToString(two.KeyMarker)), differ("version marker", ids[2], aws.ToString(two.VersionIdMarker)),
				differ("listed", []string{encoded, ids[1]}, []string{aws.ToString(two.Versions[0].Key), aws.ToString(two.Versions[0].VersionId)}),
				differ("next version of the second page", ids[1], aws.ToString(two.NextVersionIdMarker)))
		}},
		{sentence: "listing resumes behind a version that was deleted meanwhile", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			h := s.build(t, b)
			full := h
			for _, at := range []int{1, 5, 0, 10, len(h) / 2, len(h) - 1, len(h) - 3, 20} {
				v := full[at]
				i := indexOf(h, v)
				s.remove(t, b, v.Key, v.ID)
				h = h.without(v.Key, v.ID)
				at := marker{v.Key, v.ID}
				if err := differ(fmt.Sprintf("behind %v", v), contentsOf(h[i:]), s.everything(t, b, behind(at))); err != nil {
					return err
				}
			}
			return nil
		}},
		{sentence: "listing resumes behind a key that was deleted meanwhile", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			h := s.build(t, b)
			gone := h.having(func(v item) bool { return v.Key == "ab" })
			_, err := s.removeAll(t, b, true, gone...)
			must(t, "delete", err)
			want := h.having(func(v item) bool { return v.Key > "ab" })
			return differ("listing", contentsOf(want), s.everything(t, b, behind(marker{"ab", gone[2].ID})))
		}},
		{sentence: "a version written behind the marker is listed, one before it is not", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			old := s.put(t, b, "k", "1")
			mid := s.put(t, b, "k", "2")
			s.put(t, b, "k", "3")
			later := s.put(t, b, "l", "1")
			want := []item{{Key: "k", ID: old}, {Key: "l", ID: later, Latest: true}}
			return differ("listing", contentsOf(want), s.everything(t, b, behind(marker{"k", mid})))
		}},
		{sentence: "list a page, delete it, resume by its markers: the bucket is empty at the end", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			left := len(s.build(t, b))
			err := s.walk(t, b, 4, func(p onePage) error {
				out, err := s.removeAll(t, b, false, p.all()...)
				if err != nil {
					return err
				}
				left -= len(out.Deleted)
				return differ("errors", 0, len(out.Errors))
			})
			return first(err, differ("never deleted", 0, left), differ("remaining", contents{}, s.everything(t, b)))
		}},
	}
}

func indexOf(h history, v item) int {
	for i, w := range h {
		if w.Key == v.Key && w.ID == v.ID {
			return i
		}
	}
	return -1
}
