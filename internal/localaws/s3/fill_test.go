package s3_test

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"custody/internal/localaws/s3"
)

func clientOf(e *s3.Engine) *sdk.Client {
	return sdk.New(sdk.Options{Region: "us-east-1", HTTPClient: inProcess{e}, UsePathStyle: true, BaseEndpoint: aws.String("http://local"),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
}

// listed is what a client sees of a bucket: key, whether it is current, whether it is a marker, in S3's order of each kind.
func listed(t *testing.T, c *sdk.Client, bucket string) (out []string) {
	t.Helper()
	page, err := c.ListObjectVersions(t.Context(), &sdk.ListObjectVersionsInput{Bucket: &bucket})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range page.Versions {
		out = append(out, *v.Key+map[bool]string{true: " current"}[*v.IsLatest])
	}
	for _, m := range page.DeleteMarkers {
		out = append(out, *m.Key+" marker"+map[bool]string{true: " current"}[*m.IsLatest])
	}
	return out
}

func TestAFilledBucketIsAsOneThatWasWritten(t *testing.T) {
	t.Parallel()
	written := []s3.Written{{Key: "b/2"}, {Key: "a/1"}, {Key: "b/2"}, {Key: "b/2", Marker: true}, {Key: "c", Marker: true}, {Key: "c"}}
	e := s3.New(s3.Options{})
	c := clientOf(e)
	if err := e.Fill("filled", slices.Values(written)); err != nil {
		t.Fatal(err)
	}
	must(t, "make", e.Fill("written", slices.Values[[]s3.Written](nil)))
	for _, w := range written {
		var err error
		if w.Marker {
			_, err = c.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: aws.String("written"), Key: &w.Key})
		} else {
			_, err = c.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: aws.String("written"), Key: &w.Key})
		}
		must(t, "write "+w.Key, err)
	}
	want := []string{"a/1 current", "b/2", "b/2", "c current", "b/2 marker current", "c marker"}
	for _, bucket := range []string{"filled", "written"} {
		if diff := cmp.Diff(want, listed(t, c, bucket)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", bucket, diff)
		}
	}
	out, err := c.GetObject(t.Context(), &sdk.GetObjectInput{Bucket: aws.String("filled"), Key: aws.String("a/1")})
	if err != nil || aws.ToInt64(out.ContentLength) != 1 || aws.ToString(out.VersionId) == "" {
		t.Errorf("a filled version is read as %+v, %v", out, err)
	}
}

func TestFillingABucketAgainDropsWhatWasThere(t *testing.T) {
	t.Parallel()
	e := s3.New(s3.Options{})
	for _, key := range []string{"old", "new"} {
		if err := e.Fill("filled", slices.Values([]s3.Written{{Key: key}})); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"new current"}, listed(t, clientOf(e), "filled")); diff != "" {
		t.Errorf("bucket (-want +got):\n%s", diff)
	}
}

func TestABucketThatCannotBeFilledIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	e := s3.New(s3.Options{})
	must(t, "fill", e.Fill("filled", slices.Values([]s3.Written{{Key: "old"}})))
	for name, test := range map[string]struct {
		bucket, key string
	}{
		"no name for a bucket":   {"No", "new"},
		"no key":                 {"filled", ""},
		"a key that is too long": {"filled", string(make([]byte, 1025))},
	} {
		if err := e.Fill(test.bucket, slices.Values([]s3.Written{{Key: "new"}, {Key: test.key}})); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if diff := cmp.Diff([]string{"old current"}, listed(t, clientOf(e), "filled")); diff != "" {
		t.Errorf("bucket (-want +got):\n%s", diff)
	}
}
