package s3_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func orderPromises() []promise {
	return []promise{
		{sentence: "versions come by key in byte order, newest first, with exactly one latest per key", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			want := s.build(t, b)
			return differ("listing", contentsOf(want), s.everything(t, b))
		}},
		{sentence: "versions and delete markers are one list in the document", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			want := []item{
				{Key: "a", ID: s.put(t, b, "a", "1")}, {Key: "a", ID: s.mark(t, b, "a"), Marker: true}, {Key: "a", ID: s.put(t, b, "a", "2"), Latest: true},
				{Key: "b", ID: s.put(t, b, "b", "1")}, {Key: "b", ID: s.mark(t, b, "b"), Marker: true, Latest: true},
			}
			want = []item{want[2], want[1], want[0], want[4], want[3]}
			s.everything(t, b)
			return differ("document", want, s.documentItems(t))
		}},
		{sentence: "times are listed in whole seconds", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			s.put(t, b, "k", "1")
			out, err := s.ListObjectVersions(t.Context(), ask(b))
			must(t, "list", err)
			at := aws.ToTime(out.Versions[0].LastModified)
			return differ("fraction", at.Truncate(time.Second), at)
		}},
		{sentence: "order is that of writing, whatever the clock says", clock: true, kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			start := s.clock.Now()
			want := history{{Key: "k", ID: s.put(t, b, "k", "1")}}
			s.clock.move(-48 * time.Hour)
			want = append(history{{Key: "k", ID: s.put(t, b, "k", "2"), Latest: true}}, want...)
			out, err := s.ListObjectVersions(t.Context(), ask(b))
			must(t, "list", err)
			return first(
				differ("listing", contentsOf(want), s.everything(t, b)),
				differ("age", 48*time.Hour, start.Sub(aws.ToTime(out.Versions[0].LastModified))))
		}},
		{sentence: "versions of the same second keep their order", clock: true, kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			var want []item
			for i := range 20 {
				want = append([]item{{Key: "k", ID: s.put(t, b, "k", fmt.Sprint(i))}}, want...)
			}
			return differ("listing", contentsOf(sortHistory(want)), s.everything(t, b))
		}},
		{sentence: "keys sort by their UTF-8 bytes, not by words, case or UTF-16", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			// U+FF5E sorts before U+1F600 in UTF-8 and behind it in UTF-16.
			want := []string{"B", "a", "a!", "a-b", "a.b", "a/b", "a/c", "a0", "aa", "é", "\uFF5E", "\U0001F600"}
			for i := len(want) - 1; i >= 0; i-- {
				s.put(t, b, want[i], "")
			}
			var got []string
			for _, v := range s.everything(t, b).Versions {
				got = append(got, v.Key)
			}
			return differ("keys", want, got)
		}},
		{sentence: "the list of objects shows current objects only", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			s.build(t, b)
			var got []string
			in := &sdk.ListObjectsV2Input{Bucket: &b, MaxKeys: aws.Int32(2)}
			for range 10 {
				out, err := s.ListObjectsV2(t.Context(), in)
				must(t, "list", err)
				for _, o := range out.Contents {
					got = append(got, aws.ToString(o.Key))
				}
				if !aws.ToBool(out.IsTruncated) {
					break
				}
				in.ContinuationToken = out.NextContinuationToken
			}
			return differ("keys", []string{"B", "a", "a b", "ab", "b/1", "c", "z"}, got)
		}},
		{sentence: "the list of objects is encoded like that of versions, and goes on by its token", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			want := []string{"p/a b", "p/a%20b", "p/a+b", "p/x&y", "p/é"}
			for _, key := range append([]string{"o", "q"}, want...) {
				s.put(t, b, key, "")
			}
			var got []string
			in := &sdk.ListObjectsV2Input{Bucket: &b, Prefix: aws.String("p/"), MaxKeys: aws.Int32(2), EncodingType: types.EncodingTypeUrl}
			for range 10 {
				out, err := s.ListObjectsV2(t.Context(), in)
				must(t, "list", err)
				d := decoder{encoding: out.EncodingType}
				for _, o := range out.Contents {
					got = append(got, d.plain(o.Key))
				}
				if d.err != nil || !aws.ToBool(out.IsTruncated) {
					return first(d.err, differ("echo", types.EncodingTypeUrl, out.EncodingType), differ("keys", want, got))
				}
				in.ContinuationToken = out.NextContinuationToken
			}
			return fmt.Errorf("10 pages and no end: %q", got)
		}},
		{sentence: "the list of objects has prefix, delimiter and start-after", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			s.build(t, b)
			out, err := s.ListObjectsV2(t.Context(), &sdk.ListObjectsV2Input{Bucket: &b, Delimiter: aws.String("/"), StartAfter: aws.String("ab")})
			must(t, "list", err)
			var got []string
			for _, o := range out.Contents {
				got = append(got, aws.ToString(o.Key))
			}
			for _, p := range out.CommonPrefixes {
				got = append(got, aws.ToString(p.Prefix))
			}
			return first(differ("keys", []string{"c", "z", "b/"}, got), differ("count", int32(3), aws.ToInt32(out.KeyCount)))
		}},
	}
}
