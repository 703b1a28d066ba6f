package s3versions_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/retention"
	"custody/internal/s3versions"
)

// between runs do after each page but the last, and returns everything that was listed.
func between(t *testing.T, c *s3versions.Client, prefix string, do func(page int)) []retention.Version {
	t.Helper()
	var vs []retention.Version
	after := retention.Marker{}
	for n := 1; ; n++ {
		page, err := c.Page(t.Context(), bucket, prefix, after)
		if err != nil {
			t.Fatal(err)
		}
		vs = append(vs, page.Versions...)
		if after = page.Next; after == (retention.Marker{}) {
			return vs
		}
		do(n)
	}
}

func TestMoreThanAPageOfVersionsOfOneKeyAreAllListedByBothMarkers(t *testing.T) {
	t.Parallel()
	const key = "pod/a b+%2F"
	requests := &record{match: reading("versions")}
	sdk := local(t, requests.wrap)
	want := []string{}
	for range 1100 {
		want = append(want, key+" "+put(t, sdk, key))
	}
	got := names(all(t, s3versions.New(sdk, account, time.Now), "pod/"))
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	seen := requests.seen()
	if len(seen) != 2 {
		t.Fatalf("%d requests, want 2", len(seen))
	}
	for i, r := range seen {
		q := r.URL.Query()
		got := []any{q.Get("encoding-type"), q.Get("key-marker"), q.Get("version-id-marker") != ""}
		want := []any{"url", map[bool]string{true: key}[i > 0], i > 0} // the marker goes back decoded
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("request %d: encoding and markers (-want +got):\n%s", i+1, diff)
		}
	}
}

func TestVersionsOfOneKeyOnManyPagesAreListedOnceWithTheMarkerOnTheFirst(t *testing.T) {
	t.Parallel()
	for _, size := range []string{"1", "2", "3"} {
		t.Run(size, func(t *testing.T) {
			t.Parallel()
			sdk := local(t, pagesOf(size))
			want := map[string]bool{}
			for _, key := range []string{"a", "a+b", "a b", "a%20b", "z/"} {
				for range 3 {
					want[key+" "+put(t, sdk, key)] = false
				}
				want[key+" "+unmake(t, sdk, key)] = true
			}
			got := map[string]bool{}
			for _, v := range all(t, s3versions.New(sdk, account, time.Now), "") {
				if _, twice := got[v.Key+" "+v.ID]; twice {
					t.Errorf("%s %s was listed twice", v.Key, v.ID)
				}
				got[v.Key+" "+v.ID] = v.DeleteMarker && v.Currency == retention.Current
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("versions, and whether each is a current delete marker (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPageOfDeleteMarkersAloneIsNotTheEnd(t *testing.T) {
	t.Parallel()
	sdk := local(t, pagesOf("3"))
	put(t, sdk, "a")
	for range 5 {
		unmake(t, sdk, "a")
	}
	put(t, sdk, "b")
	c := s3versions.New(sdk, account, time.Now)
	first, err := c.Page(t.Context(), bucket, "", retention.Marker{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range first.Versions {
		if !v.DeleteMarker {
			t.Errorf("%+v on the first page, want delete markers alone", v)
		}
	}
	if n := len(all(t, c, "")); len(first.Versions) != 3 || first.Next == (retention.Marker{}) || n != 7 {
		t.Errorf("%d on the first page, then from %+v: %d in all, want 3 and 7", len(first.Versions), first.Next, n)
	}
}

func TestAListingGoesOnWhenWhatItStoodAtIsDeletedOrWritten(t *testing.T) {
	t.Parallel()
	sdk := local(t, pagesOf("2"))
	ids := map[string][]string{}
	for _, key := range []string{"b", "d", "f"} {
		for range 3 {
			ids[key] = append([]string{put(t, sdk, key)}, ids[key]...) // newest first
		}
	}
	c := s3versions.New(sdk, account, time.Now)
	var behind string
	got := names(between(t, c, "", func(page int) {
		switch page {
		case 1: // the page ended within b, at its second version
			remove(t, sdk, "b", ids["b"][1])
			put(t, sdk, "a")                 // before the marker: the next scan's
			put(t, sdk, "b")                 // newer than the marker: the next scan's
			behind = "c " + put(t, sdk, "c") // behind the marker
		case 3: // d goes altogether, the marker with it
			for _, id := range ids["d"] {
				remove(t, sdk, "d", id)
			}
		}
	}))
	for _, want := range []string{"b " + ids["b"][2], behind, "f " + ids["f"][0], "f " + ids["f"][1], "f " + ids["f"][2]} {
		if n := len(slices.DeleteFunc(slices.Clone(got), func(v string) bool { return v != want })); n != 1 {
			t.Errorf("%s was listed %d times, want once, in %q", want, n, got)
		}
	}
	for _, v := range got {
		if v[0] == 'a' {
			t.Errorf("%s lies before the marker", v)
		}
	}
}

// TestWithoutAnEncodingTheSDKReadsAnotherKeyOrNone is why every listing asks for EncodingType=url.
func TestWithoutAnEncodingTheSDKReadsAnotherKeyOrNone(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		inXML string
		read  string // "" when the whole listing cannot be read
	}{
		"a carriage return becomes a newline": {"a\rb", "a\nb"},
		"CR and LF become a newline":          {"a\r\nb", "a\nb"},
		"U+0001 breaks the listing":           {"a\x01b", ""},
		"U+0001 as a reference breaks it too": {"a&#1;b", ""},
		"U+FFFE breaks the listing":           {"a\ufffeb", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sdk, _ := answering(t, 200, xml.Header+"<ListVersionsResult><Version><Key>good</Key></Version><Version><Key>"+tt.inXML+
				"</Key></Version></ListVersionsResult>")
			out, err := sdk.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: aws.String(bucket)})
			if (err != nil) != (tt.read == "") {
				t.Fatalf("error %v", err)
			}
			if err == nil && aws.ToString(out.Versions[1].Key) != tt.read {
				t.Errorf("read %q, want %q", aws.ToString(out.Versions[1].Key), tt.read)
			}
		})
	}
	requests := &record{match: reading("versions")}
	sdk := local(t, requests.wrap)
	want := []string{"a\x01b", "a\nb", "a\r\nb", "a\rb", "a\ufffeb"}
	for _, key := range want {
		put(t, sdk, key)
	}
	got := []string{}
	for _, v := range all(t, s3versions.New(sdk, account, time.Now), "") {
		got = append(got, v.Key)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys with the encoding (-want +got):\n%s", diff)
	}
	for _, r := range requests.seen() {
		if r.URL.Query().Get("encoding-type") != "url" {
			t.Errorf("%s asks for no encoding", r.URL)
		}
	}
}

// TestTheSDKsPaginatorIsNotUsable is why Page has a loop of its own: what the paginator is told twice, it asks for ever, and it
// sends a marker back as it was encoded.
func TestTheSDKsPaginatorIsNotUsable(t *testing.T) {
	t.Parallel()
	requests := &record{}
	sdk := clientOf(t, requests.wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, xml.Header, "<ListVersionsResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>",
			"<NextKeyMarker>a+b</NextKeyMarker><NextVersionIdMarker>1</NextVersionIdMarker></ListVersionsResult>")
	})))
	pages := s3.NewListObjectVersionsPaginator(sdk, &s3.ListObjectVersionsInput{Bucket: aws.String(bucket), EncodingType: types.EncodingTypeUrl})
	for n := range 5 {
		if !pages.HasMorePages() {
			t.Fatalf("the paginator ended after %d pages: it can be used now", n)
		}
		if _, err := pages.NextPage(t.Context()); err != nil {
			t.Fatalf("the paginator has seen it: %v", err)
		}
	}
	for _, r := range requests.seen()[1:] {
		if diff := cmp.Diff("a+b", r.URL.Query().Get("key-marker")); diff != "" {
			t.Errorf("the marker that goes back (-encoded +got):\n%s", diff)
		}
	}
	c := s3versions.New(sdk, "", time.Now)
	first, err := c.Page(t.Context(), bucket, "", retention.Marker{})
	if diff := cmp.Diff(retention.Marker{Key: "a b", VersionID: "1"}, first.Next); diff != "" || err != nil {
		t.Errorf("our next marker: %v (-want +got):\n%s", err, diff)
	}
	if _, err := c.Page(t.Context(), bucket, "", first.Next); err == nil {
		t.Error("the same marker again is no error")
	}
}
