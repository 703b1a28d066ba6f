package s3versions_test

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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
	t.Cleanup(server.Close)
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

func TestBucket(t *testing.T) {
	t.Parallel()
	sdk := local(t, nil)
	c := s3versions.New(sdk, "000000000000", time.Now)
	got, err := c.Bucket(t.Context(), bucket)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(retention.Bucket{Versioning: retention.VersioningEnabled}, got); diff != "" {
		t.Errorf("bucket (-want +got):\n%s", diff)
	}
	if _, err := c.Bucket(t.Context(), "absent-bucket"); inbox.CategoryOf(err) != inbox.CategoryNoSuchBucket {
		t.Errorf("a bucket that does not exist: %v", err)
	}
	if _, err := s3versions.New(sdk, "111111111111", time.Now).Bucket(t.Context(), bucket); inbox.CategoryOf(err) != inbox.CategoryWrongOwner {
		t.Errorf("a bucket of another owner: %v", err)
	}
}

func TestOddKeysAreDeletedByTheirOwnNameAndNoOther(t *testing.T) {
	t.Parallel()
	keys := []string{
		"a b", "a+b", "a%20b", "a%2Bb", "a//b", "/lead", "trail/", "emoji-😀", "e\u0301", "tab\tx", "new\nline", "cr\rx", "ctl\x01x",
		"del\x7fx", "a&b<c>\"'", strings.Repeat("x", 1024), "ctl\ufffdx",
	}
	sdk := local(t, nil)
	for _, key := range keys {
		put(t, sdk, key)
		put(t, sdk, key)
	}
	c := s3versions.New(sdk, "", time.Now)
	vs := all(t, c, "")
	if len(vs) != 2*len(keys) {
		t.Fatalf("%d versions are listed, want %d: %q", len(vs), 2*len(keys), names(vs))
	}
	fates, err := c.Delete(t.Context(), bucket, vs, later())
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range fates {
		if f.Kind != retention.FateDeleted {
			t.Errorf("%q: fate %+v, want deleted", vs[i].Key, f)
		}
	}
	if left := all(t, c, ""); len(left) > 0 {
		t.Errorf("left behind: %q", names(left))
	}
}

func TestAVersionThatIsGoneAlreadyIsSuccess(t *testing.T) {
	t.Parallel()
	sdk := local(t, nil)
	id := put(t, sdk, "k")
	c := s3versions.New(sdk, "", time.Now)
	v := []retention.Version{{Key: "k", ID: id}, {Key: "odd\x01", ID: id}}
	for range 2 {
		fates, err := c.Delete(t.Context(), bucket, v, later())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fates {
			if f.Kind != retention.FateDeleted && f.Kind != retention.FateAbsent {
				t.Errorf("fate %+v, want success", f)
			}
		}
	}
}

func TestNothingIsSentWithoutAVersionIDOrWithHoldsThatAreTooOld(t *testing.T) {
	t.Parallel()
	var requests []string
	var mu sync.Mutex
	sdk := local(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			requests = append(requests, r.Method+" "+r.URL.RawQuery)
			mu.Unlock()
			next.ServeHTTP(w, r)
		})
	})
	mu.Lock()
	requests = nil
	mu.Unlock()
	now := time.Now()
	c := s3versions.New(sdk, "", func() time.Time { return now })

	_, err := c.Delete(t.Context(), bucket, []retention.Version{{Key: "a", ID: "v"}, {Key: "b"}}, later())
	if !errors.Is(err, s3versions.ErrNoVersionID) {
		t.Errorf("a version without an id: %v, want ErrNoVersionID", err)
	}
	fates, err := c.Delete(t.Context(), bucket, []retention.Version{{Key: "a", ID: "v"}, {Key: "b\x01", ID: "v"}}, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fates {
		if f.Kind != retention.FateTransient {
			t.Errorf("fate %+v, want transient: it was too late to send", f)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(requests) > 0 {
		t.Errorf("requests were sent: %q", requests)
	}
}

// answering gives every delete the same answer and counts the requests.
func answering(t *testing.T, status int, body string) (*s3.Client, *int) {
	t.Helper()
	n := new(int)
	return clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*n++
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})), n
}

func TestEveryVersionIsAccountedForWhateverTheAnswerSays(t *testing.T) {
	t.Parallel()
	sent := []retention.Version{{Key: "a", ID: "1"}, {Key: "b", ID: "2"}}
	deleted := "<Deleted><Key>a</Key><VersionId>1</VersionId></Deleted>"
	failed := func(code string) string {
		return "<Error><Key>b</Key><VersionId>2</VersionId><Code>" + code + "</Code><Message>m</Message></Error>"
	}
	kinds := func(a, b retention.FateKind) []retention.FateKind { return []retention.FateKind{a, b} }
	tests := map[string]struct {
		answer string
		want   []retention.FateKind
	}{
		"an empty answer refuses both":               {"", kinds(retention.FateRefused, retention.FateRefused)},
		"an answer that names one refuses the other": {deleted, kinds(retention.FateDeleted, retention.FateRefused)},
		"a version that was not sent changes nothing": {
			deleted + "<Deleted><Key>b</Key><VersionId>9</VersionId></Deleted>", kinds(retention.FateDeleted, retention.FateRefused)},
		"SlowDown is sent again":              {deleted + failed("SlowDown"), kinds(retention.FateDeleted, retention.FateTransient)},
		"InternalError is sent again":         {deleted + failed("InternalError"), kinds(retention.FateDeleted, retention.FateTransient)},
		"ServiceUnavailable is sent again":    {deleted + failed("ServiceUnavailable"), kinds(retention.FateDeleted, retention.FateTransient)},
		"AccessDenied is refused":             {deleted + failed("AccessDenied"), kinds(retention.FateDeleted, retention.FateRefused)},
		"a code nobody knows is refused":      {deleted + failed("Surprise"), kinds(retention.FateDeleted, retention.FateRefused)},
		"a version that is absent is success": {deleted + failed("NoSuchVersion"), kinds(retention.FateDeleted, retention.FateAbsent)},
		"an error after a success of the same version counts": {
			deleted + "<Deleted><Key>b</Key><VersionId>2</VersionId></Deleted>" + failed("SlowDown"),
			kinds(retention.FateDeleted, retention.FateTransient)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sdk, n := answering(t, 200, xml.Header+"<DeleteResult>"+tt.answer+"</DeleteResult>")
			fates, err := s3versions.New(sdk, "", time.Now).Delete(t.Context(), bucket, sent, later())
			if err != nil {
				t.Fatal(err)
			}
			got := []retention.FateKind{}
			for _, f := range fates {
				got = append(got, f.Kind)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("fates (-want +got):\n%s", diff)
			}
			if *n != 1 {
				t.Errorf("%d requests were sent, want 1: a repeated one would rest on old holds", *n)
			}
		})
	}
}

func TestAFailedRequestHasACategoryAndIsNotRepeated(t *testing.T) {
	t.Parallel()
	answer := func(code string) string {
		return xml.Header + "<Error><Code>" + code + "</Code><Message>m</Message></Error>"
	}
	tests := map[string]struct {
		status int
		body   string
		want   inbox.Category
	}{
		"503 SlowDown":                  {503, answer("SlowDown"), inbox.CategoryThrottled},
		"500 InternalError":             {500, answer("InternalError"), inbox.CategoryUnavailable},
		"502 without a body":            {502, "", inbox.CategoryUnavailable},
		"403 AccessDenied":              {403, answer("AccessDenied"), inbox.CategoryAccessDenied},
		"404 NoSuchBucket":              {404, answer("NoSuchBucket"), inbox.CategoryNoSuchBucket},
		"301 PermanentRedirect":         {301, answer("PermanentRedirect"), inbox.CategoryWrongRegion},
		"400 MalformedXML":              {400, answer("MalformedXML"), inbox.CategoryInternal},
		"200 that breaks off":           {200, xml.Header + "<DeleteResult><Deleted><Key>a", inbox.CategoryUnavailable},
		"200 with an error as its body": {200, answer("InternalError"), inbox.CategoryUnavailable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sdk, n := answering(t, tt.status, tt.body)
			_, err := s3versions.New(sdk, "", time.Now).Delete(t.Context(), bucket, []retention.Version{{Key: "a", ID: "1"}}, later())
			if got := inbox.CategoryOf(err); err == nil || got != tt.want {
				t.Errorf("category %s of %v, want %s", got, err, tt.want)
			}
			if *n != 1 {
				t.Errorf("%d requests were sent, want 1", *n)
			}
		})
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
		<DeleteMarker><Key>a%2Bb</Key><IsLatest>false</IsLatest></DeleteMarker><EncodingType>url</EncodingType></ListVersionsResult>`)
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
	sdk := clientOf(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel(why) }))
	_, err := s3versions.New(sdk, "", time.Now).Page(ctx, bucket, "", retention.Marker{})
	if inbox.CategoryOf(err) != inbox.CategoryUnavailable && !errors.Is(err, why) {
		t.Errorf("error %v, want unavailable because of %v", err, why)
	}
}
