package s3_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// tags are the tags of a version, or nil; an empty id is the current version.
func (s *store) tags(t testing.TB, bucket, key, id string) (map[string]string, error) {
	t.Helper()
	in := &sdk.GetObjectTaggingInput{Bucket: &bucket, Key: &key}
	if id != "" {
		in.VersionId = &id
	}
	out, err := s.GetObjectTagging(t.Context(), in)
	if err != nil {
		return nil, err
	}
	tags := map[string]string{}
	for _, tag := range out.TagSet {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return tags, nil
}

func (s *store) tag(t testing.TB, bucket, key, id string, pairs ...string) error {
	t.Helper()
	in := &sdk.PutObjectTaggingInput{Bucket: &bucket, Key: &key, Tagging: &types.Tagging{TagSet: []types.Tag{}}}
	if id != "" {
		in.VersionId = &id
	}
	for i := 0; i < len(pairs); i += 2 {
		in.Tagging.TagSet = append(in.Tagging.TagSet, types.Tag{Key: &pairs[i], Value: &pairs[i+1]})
	}
	_, err := s.PutObjectTagging(t.Context(), in)
	return err
}

func tagPromises() []promise {
	none := map[string]string{}
	return []promise{
		{sentence: "tags belong to one version", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			old := s.put(t, b, "k", "1")
			newer := s.put(t, b, "k", "2")
			must(t, "tag the old one", s.tag(t, b, "k", old, "custody-hold", "yes + no/@=1"))
			must(t, "tag the current one", s.tag(t, b, "k", "", "cur", "1"))
			a, err := s.tags(t, b, "k", old)
			must(t, "tags", err)
			c, err := s.tags(t, b, "k", newer)
			must(t, "tags", err)
			return first(differ("old", map[string]string{"custody-hold": "yes + no/@=1"}, a), differ("newer", map[string]string{"cur": "1"}, c))
		}},
		{sentence: "tags can come with the object, be replaced and be deleted", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			_, err := s.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: &b, Key: aws.String("k"), Tagging: aws.String("a=1&b=x%20y")})
			must(t, "put", err)
			came, err := s.tags(t, b, "k", "")
			must(t, "tags", err)
			must(t, "replace", s.tag(t, b, "k", "", "c", "3"))
			replaced, err := s.tags(t, b, "k", "")
			must(t, "tags", err)
			_, err = s.DeleteObjectTagging(t.Context(), &sdk.DeleteObjectTaggingInput{Bucket: &b, Key: aws.String("k")})
			must(t, "delete", err)
			left, err := s.tags(t, b, "k", "")
			must(t, "tags", err)
			return first(differ("came", map[string]string{"a": "1", "b": "x y"}, came), differ("replaced", map[string]string{"c": "3"}, replaced), differ("left", none, left))
		}},
		{sentence: "tags of an absent version are NoSuchVersion, of an absent key NoSuchKey, of a delete marker MethodNotAllowed", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			id := s.gone(t, b, "k")
			_, version := s.tags(t, b, "k", id)
			_, key := s.tags(t, b, "k", "")
			_, marked := s.tags(t, b, "m", s.mark(t, b, "m"))
			return first(refused(t, "version", "NoSuchVersion", version), refused(t, "key", "NoSuchKey", key), refused(t, "marker", "MethodNotAllowed", marked))
		}},
		{sentence: "tags of odd keys are read by version id, and an absent version of them is told", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			for _, key := range []string{"sp ace", "pl+us", "en%2Fcoded", "a//b", "d/../x", "emoji-\U0001F600", "e\u0301", `xml<&>"'x`, "q?u#f"} {
				old := s.put(t, b, key, "1")
				s.put(t, b, key, "2")
				must(t, "tag "+key, s.tag(t, b, key, old, "custody-hold", "1"))
				got, err := s.tags(t, b, key, old)
				must(t, "tags of "+key, err)
				s.remove(t, b, key, old)
				_, gone := s.tags(t, b, key, old)
				if err := first(differ(key, map[string]string{"custody-hold": "1"}, got), refused(t, key, "NoSuchVersion", gone)); err != nil {
					return err
				}
			}
			return nil
		}},
		{sentence: "tags that S3 does not take are refused", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			s.put(t, b, "k", "")
			many := make([]string, 0, 22)
			for i := range 11 {
				many = append(many, strings.Repeat("k", i+1), "")
			}
			return first(
				refused(t, "eleven", "BadRequest", s.tag(t, b, "k", "", many...)),
				refused(t, "a key twice", "InvalidTag", s.tag(t, b, "k", "", "a", "1", "a", "2")),
				refused(t, "a long key", "InvalidTag", s.tag(t, b, "k", "", strings.Repeat("k", 129), "")),
				refused(t, "a long value", "InvalidTag", s.tag(t, b, "k", "", "k", strings.Repeat("v", 257))),
				refused(t, "an aws: key", "InvalidTag", s.tag(t, b, "k", "", "aws:x", "")))
		}},
	}
}
