package s3_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// gone is a version id that the engine made and whose version is deleted.
func (s *store) gone(t testing.TB, bucket, key string) string {
	t.Helper()
	id := s.put(t, bucket, key, "")
	s.remove(t, bucket, key, id)
	return id
}

func deletePromises() []promise {
	return append(batchPromises(), []promise{
		{sentence: "deleting an old version leaves the newer one alone", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			old := s.put(t, b, "k", "old")
			newer := s.put(t, b, "k", "newer")
			s.remove(t, b, "k", old)
			return first(differ("body", "newer", s.current(t, b, "k")),
				differ("listing", contentsOf([]item{{Key: "k", ID: newer, Latest: true}}), s.everything(t, b)))
		}},
		{sentence: "deleting the current version brings the one before it back", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			old := s.put(t, b, "k", "old")
			s.remove(t, b, "k", s.put(t, b, "k", "newer"))
			return first(differ("body", "old", s.current(t, b, "k")),
				differ("listing", contentsOf([]item{{Key: "k", ID: old, Latest: true}}), s.everything(t, b)))
		}},
		{sentence: "deleting an absent version is success and touches nothing", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			id := s.gone(t, b, "k")
			other := s.put(t, b, "k", "kept")
			out, err := s.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: &b, Key: aws.String("k"), VersionId: &id})
			if err := refused(t, "it", "", err); err != nil {
				return err
			}
			return first(differ("version id", id, aws.ToString(out.VersionId)),
				differ("listing", contentsOf([]item{{Key: "k", ID: other, Latest: true}}), s.everything(t, b)))
		}},
		{sentence: "deleting by something that is no version id is refused", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			_, err := s.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: &b, Key: aws.String("k"), VersionId: aws.String("not-a-version-id")})
			return refused(t, "it", "InvalidArgument", err)
		}},
		{sentence: "deleting without a version id makes a delete marker, on a key that never was too", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			v := s.put(t, b, "k", "1")
			out, err := s.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: &b, Key: aws.String("k")})
			must(t, "delete", err)
			ghost := s.mark(t, b, "ghost")
			want := []item{{"ghost", ghost, true, true}, {"k", aws.ToString(out.VersionId), true, true}, {"k", v, false, false}}
			return first(differ("DeleteMarker", true, aws.ToBool(out.DeleteMarker)),
				differ("body", "NoSuchKey", s.current(t, b, "k")), differ("listing", contentsOf(want), s.everything(t, b)))
		}},
		{sentence: "deleting a delete marker by its id brings the version under it back and says so", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			s.put(t, b, "k", "1")
			id := s.mark(t, b, "k")
			out, err := s.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: &b, Key: aws.String("k"), VersionId: &id})
			must(t, "delete", err)
			return first(differ("body", "1", s.current(t, b, "k")), differ("DeleteMarker", true, aws.ToBool(out.DeleteMarker)),
				differ("version id", id, aws.ToString(out.VersionId)))
		}},
		{sentence: "a delete marker whose versions are gone stays, and can be deleted", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			v := s.put(t, b, "k", "1")
			id := s.mark(t, b, "k")
			s.remove(t, b, "k", v)
			alone := s.everything(t, b)
			s.remove(t, b, "k", id)
			return first(differ("alone", contentsOf([]item{{"k", id, true, true}}), alone), differ("at the end", contents{}, s.everything(t, b)))
		}},
		{sentence: "in a bucket that was never versioned a delete removes the object", kept: func(t testing.TB, s *store) error {
			b := s.bucket(t)
			s.put(t, b, "k", "1")
			id := s.mark(t, b, "k")
			return first(differ("version id", "", id), differ("listing", contents{}, s.everything(t, b)))
		}},
	}...)
}

// fate is what DeleteObjects says about one entry.
type fate struct {
	Key, ID, MarkerID string
	Marker            bool
	Code              string
}

func fatesOf(out *sdk.DeleteObjectsOutput) []fate {
	var fs []fate
	for _, d := range out.Deleted {
		fs = append(fs, fate{Key: aws.ToString(d.Key), ID: aws.ToString(d.VersionId), Marker: aws.ToBool(d.DeleteMarker), MarkerID: aws.ToString(d.DeleteMarkerVersionId)})
	}
	for _, e := range out.Errors {
		fs = append(fs, fate{Key: aws.ToString(e.Key), ID: aws.ToString(e.VersionId), Code: aws.ToString(e.Code)})
	}
	return fs
}

func batchPromises() []promise {
	return []promise{
		{sentence: "DeleteObjects says what it deleted: version, delete marker, or the marker it made", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			v := s.put(t, b, "v", "1")
			m := s.mark(t, b, "m")
			out, err := s.removeAll(t, b, false, item{Key: "v", ID: v}, item{Key: "m", ID: m}, item{Key: "n"})
			must(t, "delete", err)
			made := s.everything(t, b).Markers
			if len(made) != 1 {
				return fmt.Errorf("%d delete markers remain", len(made))
			}
			return differ("fates", []fate{{Key: "v", ID: v}, {Key: "m", ID: m, Marker: true, MarkerID: m}, {Key: "n", Marker: true, MarkerID: made[0].ID}}, fatesOf(out))
		}},
		{sentence: "DeleteObjects takes 1,000 entries and names each, absent ones as deleted", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			ids := s.putMany(t, b, 1000, func(i int) string { return fmt.Sprintf("k/%03d", i%100) })
			items := make([]item, len(ids))
			for i, id := range ids {
				items[i] = item{Key: fmt.Sprintf("k/%03d", i%100), ID: id}
			}
			once, err := s.removeAll(t, b, false, items...)
			must(t, "delete", err)
			again, err := s.removeAll(t, b, false, items...)
			must(t, "delete again", err)
			return first(differ("deleted", 1000, len(once.Deleted)), differ("errors", 0, len(once.Errors)),
				differ("deleted again", 1000, len(again.Deleted)), differ("errors again", 0, len(again.Errors)),
				differ("remaining", contents{}, s.everything(t, b)))
		}},
		{sentence: "DeleteObjects with 1,001 entries is refused and deletes nothing", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			id := s.put(t, b, "k", "")
			items := make([]item, 1001)
			for i := range items {
				items[i] = item{Key: "k", ID: id}
			}
			_, err := s.removeAll(t, b, false, items...)
			return first(refused(t, "it", "MalformedXML", err), differ("listing", contentsOf([]item{{Key: "k", ID: id, Latest: true}}), s.everything(t, b)))
		}},
		{sentence: "DeleteObjects without entries is refused", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			_, err := s.removeAll(t, b, false)
			return refused(t, "it", "MalformedXML", err)
		}},
		{sentence: "DeleteObjects in quiet mode names errors only", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			out, err := s.removeAll(t, b, true, item{Key: "k", ID: s.put(t, b, "k", "")}, item{Key: "bad", ID: "not-a-version-id"})
			must(t, "delete", err)
			return differ("fates", []fate{{Key: "bad", ID: "not-a-version-id", Code: "NoSuchVersion"}}, fatesOf(out))
		}},
		{sentence: "DeleteObjects in quiet mode says nothing about what it deleted", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			out, err := s.removeAll(t, b, true, item{Key: "k", ID: s.put(t, b, "k", "")})
			must(t, "delete", err)
			return first(differ("fates", []fate(nil), fatesOf(out)), differ("remaining", contents{}, s.everything(t, b)))
		}},
		{sentence: "DeleteObjects with an entry that has no real version id deletes the others", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			id := s.put(t, b, "k", "")
			out, err := s.removeAll(t, b, false, item{Key: "k", ID: "not-a-version-id"}, item{Key: "k", ID: id})
			must(t, "delete", err)
			want := []fate{{Key: "k", ID: id}, {Key: "k", ID: "not-a-version-id", Code: "NoSuchVersion"}}
			return first(differ("fates", want, fatesOf(out)), differ("remaining", contents{}, s.everything(t, b)))
		}},
		{sentence: "DeleteObjects with one entry twice is no error", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			v := item{Key: "k", ID: s.put(t, b, "k", "")}
			out, err := s.removeAll(t, b, false, v, v)
			must(t, "delete", err)
			return differ("errors", 0, len(out.Errors))
		}},
		{sentence: "DeleteObjects with versions of one key, absent ones and entries twice names each and deletes what is there", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			a, gone, c, kept := s.put(t, b, "k", "1"), s.gone(t, b, "k"), s.mark(t, b, "k"), s.put(t, b, "k", "2")
			out, err := s.removeAll(t, b, false, item{Key: "k", ID: a}, item{Key: "k", ID: gone}, item{Key: "k", ID: a}, item{Key: "k", ID: c}, item{Key: "k", ID: gone})
			must(t, "delete", err)
			named := map[string]bool{}
			for _, f := range fatesOf(out) {
				if f.Code != "" {
					return fmt.Errorf("an error: %+v", f)
				}
				named[f.ID] = true
			}
			return first(differ("named", map[string]bool{a: true, gone: true, c: true}, named),
				differ("remaining", contentsOf([]item{{Key: "k", ID: kept, Latest: true}}), s.everything(t, b)))
		}},
		{sentence: "DeleteObjects takes a Content-MD5 beside the SDK's CRC32", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			id := s.put(t, b, "k", "")
			_, err := s.DeleteObjects(t.Context(), &sdk.DeleteObjectsInput{
				Bucket: &b, Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: aws.String("k"), VersionId: &id}}},
			}, func(o *sdk.Options) { o.APIOptions = append(o.APIOptions, smithyhttp.AddContentChecksumMiddleware) })
			return first(refused(t, "both", "", err), differ("remaining", contents{}, s.everything(t, b)))
		}},
		{sentence: "DeleteObjects of a version that is absent from an absent key is no error", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			id := s.gone(t, b, "k")
			out, err := s.removeAll(t, b, false, item{Key: "never", ID: id})
			must(t, "delete", err)
			return differ("fates", []fate{{Key: "never", ID: id}}, fatesOf(out))
		}},
		{sentence: "DeleteObjects takes another checksum than CRC32", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			id := s.put(t, b, "k", "")
			_, err := s.DeleteObjects(t.Context(), &sdk.DeleteObjectsInput{
				Bucket: &b, ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
				Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: aws.String("k"), VersionId: &id}}},
			})
			return first(refused(t, "SHA256", "", err), differ("remaining", contents{}, s.everything(t, b)))
		}},
	}
}
