package s3_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

const null = "null"

// mixed is a bucket whose key n has a version under a null version: versioning was off, on, suspended.
func (s *store) mixed(t testing.TB) (bucket, version string) {
	t.Helper()
	b := s.bucket(t)
	s.put(t, b, "n", "0")
	s.setVersioning(t, b, types.BucketVersioningStatusEnabled)
	v := s.put(t, b, "n", "1")
	s.setVersioning(t, b, types.BucketVersioningStatusSuspended)
	s.put(t, b, "n", "2")
	return b, v
}

func nullPromises() []promise {
	return []promise{
		{sentence: "a bucket that was never versioned lists version id null", kept: func(t testing.TB, s *store) error {
			b := s.bucket(t)
			s.put(t, b, "n", "0")
			s.put(t, b, "n", "1")
			return differ("listing", contentsOf([]item{{"n", null, false, true}}), s.everything(t, b))
		}},
		{sentence: "enabling versioning keeps the null version under the new ones", kept: func(t testing.TB, s *store) error {
			b := s.bucket(t)
			s.put(t, b, "n", "0")
			s.setVersioning(t, b, types.BucketVersioningStatusEnabled)
			v := s.put(t, b, "n", "1")
			return differ("listing", contentsOf([]item{{"n", v, false, true}, {"n", null, false, false}}), s.everything(t, b))
		}},
		{sentence: "a put while suspended replaces the null version and is the latest", kept: func(t testing.TB, s *store) error {
			b, v := s.mixed(t)
			body, err := s.body(t.Context(), b, "n", null)
			must(t, "read null", err)
			return first(differ("body", "2", body),
				differ("listing", contentsOf([]item{{"n", null, false, true}, {"n", v, false, false}}), s.everything(t, b)))
		}},
		{sentence: "null works as a version id marker, also when it is gone", kept: func(t testing.TB, s *store) error {
			b, v := s.mixed(t)
			want := contentsOf([]item{{"n", v, false, false}})
			there := s.everything(t, b, behind(marker{"n", null}))
			s.remove(t, b, "n", null)
			want2 := contentsOf([]item{{"n", v, false, true}})
			return first(differ("there", want, there), differ("gone", want2, s.everything(t, b, behind(marker{"n", null}))))
		}},
		{sentence: "a delete while suspended leaves a null delete marker in place of the null version", kept: func(t testing.TB, s *store) error {
			b, v := s.mixed(t)
			id := s.mark(t, b, "n")
			return first(differ("marker id", null, id),
				differ("listing", contentsOf([]item{{"n", null, true, true}, {"n", v, false, false}}), s.everything(t, b)))
		}},
		{sentence: "deleting null removes null only, and is success when it is absent", kept: func(t testing.TB, s *store) error {
			b, v := s.mixed(t)
			for range 2 {
				out, err := s.removeAll(t, b, false, item{Key: "n", ID: null})
				must(t, "delete null", err)
				if err := differ("fates", []fate{{Key: "n", ID: null}}, fatesOf(out)); err != nil {
					return err
				}
			}
			return first(differ("listing", contentsOf([]item{{"n", v, false, true}}), s.everything(t, b)), differ("body", "1", s.current(t, b, "n")))
		}},
		{sentence: "a null version stays where it is when versioning is enabled again", kept: func(t testing.TB, s *store) error {
			b, v := s.mixed(t)
			s.setVersioning(t, b, types.BucketVersioningStatusEnabled)
			newest := s.put(t, b, "n", "3")
			want := []item{{"n", newest, false, true}, {"n", null, false, false}, {"n", v, false, false}}
			return differ("listing", contentsOf(want), s.everything(t, b))
		}},
	}
}
