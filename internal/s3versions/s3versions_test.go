package s3versions_test

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	locals3 "custody/internal/localaws/s3"
	"custody/internal/localaws/steady"
	"custody/internal/retention"
	"custody/internal/s3versions"
)

const bucket = "objects"

// later is far enough ahead that the holds are never too old.
func later() time.Time { return time.Now().Add(time.Hour) }

// clientOf makes an SDK client of the handler.
func clientOf(t *testing.T, h http.Handler) *s3.Client {
	t.Helper()
	server := httptest.NewServer(h)
	// Not server.Close: that closes idle connections of http.DefaultTransport, and breaks requests of tests beside this one.
	t.Cleanup(func() { _ = server.Config.Close() })
	return s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, UsePathStyle: true, RetryMaxAttempts: 1, HTTPClient: steady.Client{},
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

// local is the local engine with one versioned bucket, behind an optional wrapper.
func local(t *testing.T, wrap func(http.Handler) http.Handler) *s3.Client {
	t.Helper()
	var h http.Handler = locals3.New(locals3.Options{})
	if wrap != nil {
		h = wrap(h)
	}
	c := clientOf(t, h)
	if _, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(bucket)}); err != nil {
		t.Fatal(err)
	}
	versioning(t, c, types.BucketVersioningStatusEnabled)
	return c
}

func versioning(t *testing.T, c *s3.Client, status types.BucketVersioningStatus) {
	t.Helper()
	_, err := c.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: aws.String(bucket), VersioningConfiguration: &types.VersioningConfiguration{Status: status},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, c *s3.Client, key string) string {
	t.Helper()
	out, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &key, Body: strings.NewReader(key)})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(out.VersionId)
}

// all lists everything under the prefix, through the pages.
func all(t *testing.T, c *s3versions.Client, prefix string) []retention.Version {
	t.Helper()
	var vs []retention.Version
	after := retention.Marker{}
	for {
		page, err := c.Page(t.Context(), bucket, prefix, after)
		if err != nil {
			t.Fatal(err)
		}
		vs = append(vs, page.Versions...)
		if after = page.Next; after == (retention.Marker{}) {
			return vs
		}
	}
}

func names(vs []retention.Version) []string {
	out := []string{}
	for _, v := range vs {
		out = append(out, v.Key+" "+v.ID)
	}
	return out
}

func TestAListingIsWholeAcrossPagesWithTheVersionsOfAKeySideBySide(t *testing.T) {
	t.Parallel()
	sdk := local(t, nil)
	want := map[string]int{}
	for i := range 700 { // 2,100 entries: three pages, and keys that span their borders
		key := fmt.Sprintf("pod/wh-1/%04d +%%2B", i)
		put(t, sdk, key)
		put(t, sdk, key)
		if _, err := sdk.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: &key}); err != nil {
			t.Fatal(err)
		}
		want[key] = 3
	}
	vs := all(t, s3versions.New(sdk, "", time.Now), "pod/wh-1/")
	got, runs, last := map[string]int{}, map[string]int{}, ""
	current := map[string]int{}
	for _, v := range vs {
		got[v.Key]++
		if v.Key != last {
			runs[v.Key]++
			last = v.Key
		}
		if v.Currency == retention.Current {
			current[v.Key]++
			if !v.DeleteMarker {
				t.Errorf("current version of %q is no delete marker", v.Key)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries by key (-want +got):\n%s", diff)
	}
	for key := range want {
		if runs[key] != 1 || current[key] != 1 {
			t.Errorf("key %q came in %d runs with %d current versions, want one of each", key, runs[key], current[key])
		}
	}
}

func TestAListingThatMakesNoProgressIsAnError(t *testing.T) {
	t.Parallel()
	page := func(inner string) string {
		return xml.Header + "<ListVersionsResult><IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>" + inner + "</ListVersionsResult>"
	}
	tests := map[string]struct{ body string }{
		"truncated without a next marker":          {page("")},
		"truncated with the marker that was sent":  {page("<NextKeyMarker>a+b</NextKeyMarker><NextVersionIdMarker>1</NextVersionIdMarker>")},
		"truncated with a marker that lies before": {page("<NextKeyMarker>a+a</NextKeyMarker>")},
		"a key that does not decode":               {page("<Version><Key>%zz</Key></Version><NextKeyMarker>b</NextKeyMarker>")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sdk, _ := answering(t, 200, tt.body)
			_, err := s3versions.New(sdk, "", time.Now).Page(t.Context(), bucket, "", retention.Marker{Key: "a b", VersionID: "1"})
			if inbox.CategoryOf(err) != inbox.CategoryListingBroken {
				t.Errorf("error %v, want one of category %s", err, inbox.CategoryListingBroken)
			}
		})
	}
}

func TestWhatAListingLeavesOutIsUnknownAndNotAssumed(t *testing.T) {
	t.Parallel()
	sdk, _ := answering(t, 200, xml.Header+`<ListVersionsResult><Version><Key>a+b</Key><VersionId>1</VersionId></Version>
		<DeleteMarker><Key>a%2Bb</Key><IsLatest>false</IsLatest></DeleteMarker><IsTruncated>false</IsTruncated><EncodingType>url</EncodingType></ListVersionsResult>`)
	page, err := s3versions.New(sdk, "", time.Now).Page(t.Context(), bucket, "", retention.Marker{})
	if err != nil {
		t.Fatal(err)
	}
	want := retention.Page{Versions: []retention.Version{
		{Key: "a b", ID: "1"}, {Key: "a+b", DeleteMarker: true, Currency: retention.Noncurrent},
	}}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

func TestARequestThatIsCutOffIsUnavailable(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("out of time")
	sdk := clientOf(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel(why)
		<-r.Context().Done() // with an answer it would be a race
	}))
	_, err := s3versions.New(sdk, "", time.Now).Page(ctx, bucket, "", retention.Marker{})
	if inbox.CategoryOf(err) != inbox.CategoryUnavailable && !errors.Is(err, why) {
		t.Errorf("error %v, want unavailable because of %v", err, why)
	}
}
