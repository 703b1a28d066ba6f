package s3versions_test

import (
	"encoding/xml"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/inbox"
	"custody/internal/retention"
	"custody/internal/s3versions"
)

// An end of a listing that is none ends a run with everything left.
func TestAnAnswerThatDoesNotSayThatItIsTheEndIsNotTheEnd(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"no body": "", "no document": xml.Header, "an empty document": xml.Header + "<ListVersionsResult/>",
		"versions alone": xml.Header + "<ListVersionsResult><Version><Key>p/a</Key><VersionId>1</VersionId></Version></ListVersionsResult>",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sdk, _ := answering(t, 200, body)
			page, err := s3versions.New(sdk, "", time.Now).Page(t.Context(), bucket, "p/", retention.Marker{})
			if inbox.CategoryOf(err) != inbox.CategoryListingBroken || page.Versions != nil {
				t.Errorf("page %+v, error %v, want none and category %s", page, err, inbox.CategoryListingBroken)
			}
			// The trap: the SDK makes a page of it.
			if _, err := sdk.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: aws.String(bucket)}); err != nil {
				t.Errorf("the SDK: %v, want no error: that is the trap", err)
			}
		})
	}
}

// A version whose tags may not be read counts as gone only when a listing says so, and an empty answer says nothing.
func TestAVersionIsNotTakenForGoneByAnEmptyAnswer(t *testing.T) {
	t.Parallel()
	sdk := local(t, chain(
		refuse(http.StatusForbidden, "AccessDenied", reading("tagging")), refuse(http.StatusOK, "", reading("versions"))))
	vs := []retention.Version{{Key: "p/a", ID: put(t, sdk, "p/a")}}
	marks, err := s3versions.New(sdk, "", time.Now).Marks(t.Context(), bucket, vs, retention.Ask{Tags: true})
	if err == nil || marks != nil {
		t.Errorf("marks %+v, error %v, want an error", marks, err)
	}
}

func TestAPageHoldsNothingButWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	version := func(key string) string { return "<Version><Key>" + key + "</Key><VersionId>1</VersionId></Version>" }
	marker := func(key string) string {
		return "<DeleteMarker><Key>" + key + "</Key><VersionId>2</VersionId></DeleteMarker>"
	}
	const end, more = "<IsTruncated>false</IsTruncated>", "<IsTruncated>true</IsTruncated>"
	for sentence, test := range map[string]struct {
		inner string
		taken bool
	}{
		"the key of the marker and those behind it":     {version("p/k") + version("p/l") + marker("p/k") + marker("p/m") + end, true},
		"a key of another prefix":                       {version("p/k") + version("q/a") + end, false},
		"a delete marker of another prefix":             {marker("pq") + end, false},
		"a key before the marker":                       {version("p/j") + version("p/l") + end, false},
		"a key that comes up again behind another":      {version("p/k") + version("p/l") + version("p/k") + end, false},
		"delete markers out of order":                   {version("p/k") + marker("p/m") + marker("p/l") + end, false},
		"a next marker behind the last key":             {version("p/k") + version("p/l") + "<NextKeyMarker>p/m</NextKeyMarker>" + more, true},
		"a next marker before the last key that it has": {version("p/k") + version("p/m") + "<NextKeyMarker>p/l</NextKeyMarker>" + more, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			sdk, _ := answering(t, 200, xml.Header+"<ListVersionsResult>"+test.inner+"</ListVersionsResult>")
			_, err := s3versions.New(sdk, "", time.Now).Page(t.Context(), bucket, "p/", retention.Marker{Key: "p/k", VersionID: "3"})
			if (err == nil) != test.taken || err != nil && inbox.CategoryOf(err) != inbox.CategoryListingBroken {
				t.Errorf("error %v, taken should be %v", err, test.taken)
			}
		})
	}
}
