package s3_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func bucketPromises() []promise {
	return []promise{
		{sentence: "a new bucket has no versioning status", kept: func(t testing.TB, s *store) error {
			return differ("status", types.BucketVersioningStatus(""), s.versioning(t, s.bucket(t)).Status)
		}},
		{sentence: "versioning goes to Enabled, Suspended and back", kept: func(t testing.TB, s *store) error {
			b := s.bucket(t)
			for _, want := range []types.BucketVersioningStatus{"Enabled", "Suspended", "Enabled"} {
				s.setVersioning(t, b, want)
				if err := differ("status", want, s.versioning(t, b).Status); err != nil {
					return err
				}
			}
			return nil
		}},
		{sentence: "versioning that is neither Enabled nor Suspended is refused", kept: func(t testing.TB, s *store) error {
			b := s.bucket(t)
			_, err := s.PutBucketVersioning(t.Context(), &sdk.PutBucketVersioningInput{
				Bucket: &b, VersioningConfiguration: &types.VersioningConfiguration{Status: "Off"},
			})
			return refused(t, "Off", "IllegalVersioningConfigurationException", err)
		}},
		{sentence: "version ids are distinct, at most 1,024 characters, safe in a URL", kept: func(t testing.TB, s *store) error {
			b, seen := s.versioned(t), map[string]bool{}
			for range 50 {
				id := s.put(t, b, "k", "")
				if seen[id] || len(id) > 1024 || !regexp.MustCompile(`^[A-Za-z0-9._-]+$`).MatchString(id) {
					return fmt.Errorf("id %q", id)
				}
				seen[id] = true
			}
			return nil
		}},
		{sentence: "without versioning an answer has no version id", kept: func(t testing.TB, s *store) error {
			b := s.bucket(t)
			id := s.put(t, b, "k", "1")
			out, err := s.HeadObject(t.Context(), &sdk.HeadObjectInput{Bucket: &b, Key: aws.String("k")})
			must(t, "head", err)
			return first(differ("put", "", id), differ("head", "", aws.ToString(out.VersionId)))
		}},
		{sentence: "a bucket that is there is not made again", kept: func(t testing.TB, s *store) error {
			b := s.bucket(t)
			_, err := s.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: &b})
			return refused(t, "making it again", "BucketAlreadyOwnedByYou", err)
		}},
		{sentence: "a bucket with versions left is not deleted, an empty one is", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			id := s.mark(t, b, "k")
			_, full := s.DeleteBucket(t.Context(), &sdk.DeleteBucketInput{Bucket: &b})
			s.remove(t, b, "k", id)
			_, empty := s.DeleteBucket(t.Context(), &sdk.DeleteBucketInput{Bucket: &b})
			_, gone := s.HeadBucket(t.Context(), &sdk.HeadBucketInput{Bucket: &b})
			return first(refused(t, "a full one", "BucketNotEmpty", full), refused(t, "an empty one", "", empty), refused(t, "HEAD", "NotFound", gone))
		}},
		{sentence: "a bucket in another region redirects and says which", kept: func(t testing.TB, s *store) error {
			b := bucketName(t, int(buckets.Add(1)))
			_, err := s.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: &b, CreateBucketConfiguration: &types.CreateBucketConfiguration{
				LocationConstraint: types.BucketLocationConstraintEuWest1,
			}})
			must(t, "create bucket", err)
			where, err := s.GetBucketLocation(t.Context(), &sdk.GetBucketLocationInput{Bucket: &b})
			must(t, "location", err)
			_, wrong := s.ListObjectVersions(t.Context(), ask(b))
			_, right := newClient(s.endpoint, "eu-west-1", s.wire).ListObjectVersions(t.Context(), ask(b))
			return first(
				differ("location", types.BucketLocationConstraintEuWest1, where.LocationConstraint),
				refused(t, "us-east-1", "PermanentRedirect", wrong), refused(t, "eu-west-1", "", right))
		}},
		{sentence: "a bucket that is not there is NoSuchBucket for every operation", kept: func(t testing.TB, s *store) error {
			return absentBucket(t, s, bucketName(t, int(buckets.Add(1))))
		}},
		{sentence: "tags and locks in a bucket that is not there are NoSuchBucket", kept: func(t testing.TB, s *store) error {
			const want = "NoSuchBucket"
			err := s.marksErrors(t, bucketName(t, int(buckets.Add(1))), "k", "null", nil)
			return first(refused(t, "tags", want, err.tags), refused(t, "hold", want, err.hold), refused(t, "retention", want, err.retention))
		}},
		{sentence: "every bucket is in the list of buckets", kept: func(t testing.TB, s *store) error {
			b := s.bucket(t)
			out, err := s.ListBuckets(t.Context(), &sdk.ListBucketsInput{Prefix: &b})
			must(t, "list buckets", err)
			var names []string
			for _, v := range out.Buckets {
				if aws.ToString(v.Name) == b {
					names = append(names, b)
				}
			}
			return differ("names", []string{b}, names)
		}},
	}
}

func (s *store) versioning(t testing.TB, bucket string) *sdk.GetBucketVersioningOutput {
	t.Helper()
	out, err := s.GetBucketVersioning(t.Context(), &sdk.GetBucketVersioningInput{Bucket: &bucket})
	must(t, "get versioning", err)
	return out
}

func absentBucket(t testing.TB, s *store, b string) error {
	t.Helper()
	ctx, key, id := t.Context(), aws.String("k"), aws.String("null")
	_, list := s.ListObjectVersions(ctx, ask(b))
	_, list2 := s.ListObjectsV2(ctx, &sdk.ListObjectsV2Input{Bucket: &b})
	_, put := s.PutObject(ctx, &sdk.PutObjectInput{Bucket: &b, Key: key})
	_, get := s.GetObject(ctx, &sdk.GetObjectInput{Bucket: &b, Key: key})
	_, del := s.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &b, Key: key, VersionId: id})
	_, batch := s.removeAll(t, b, false, item{Key: "k", ID: "null"})
	_, versioning := s.GetBucketVersioning(ctx, &sdk.GetBucketVersioningInput{Bucket: &b})
	_, lock := s.GetObjectLockConfiguration(ctx, &sdk.GetObjectLockConfigurationInput{Bucket: &b})
	_, tags := s.GetObjectTagging(ctx, &sdk.GetObjectTaggingInput{Bucket: &b, Key: key})
	const want = "NoSuchBucket"
	return first(
		refused(t, "ListObjectVersions", want, list), refused(t, "ListObjectsV2", want, list2),
		refused(t, "PutObject", want, put), refused(t, "GetObject", want, get),
		refused(t, "DeleteObject", want, del), refused(t, "DeleteObjects", want, batch),
		refused(t, "GetBucketVersioning", want, versioning),
		refused(t, "GetObjectLockConfiguration", want, lock), refused(t, "GetObjectTagging", want, tags))
}
