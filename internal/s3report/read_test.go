package s3report_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/report"
	"custody/internal/s3report"
)

func write(t *testing.T, c *s3report.Client, o report.Stored) {
	t.Helper()
	if err := c.Write(t.Context(), o.Name, o.Data); err != nil {
		t.Fatal(err)
	}
}

// all reads what there is of a run; the errors by the name they stand beside.
func all(t *testing.T, c *s3report.Client, runKey string) (objects []report.Stored, failures map[string]error) {
	t.Helper()
	failures = map[string]error{}
	for o, err := range c.Read(t.Context(), "cleanup.run", runKey) {
		if err != nil {
			failures[o.Name] = err
			continue
		}
		objects = append(objects, o)
	}
	return objects, failures
}

func TestARunsObjectsComeBackInTheOrderOfTheirNames(t *testing.T) {
	t.Parallel()
	sdk, gate := world(t)
	c := s3report.New(sdk, bucket, owner)
	write(t, c, object(t, "r-10", 1)) // another run
	var want []report.Stored
	for n := range 30 {
		o := object(t, "r-1", n)
		want = append(want, o)
		write(t, c, o)
	}
	gate.from(func(n int, _ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("list-type") { // pages of seven, which the engine makes where it is asked to
			q := r.URL.Query()
			q.Set("max-keys", "7")
			r.URL.RawQuery = q.Encode()
		}
		return false
	}, nil)
	got, failures := all(t, c, "r-1")
	if diff := cmp.Diff(want, got); diff != "" || len(failures) > 0 {
		t.Errorf("errors %v, objects (-want +got):\n%s", failures, diff)
	}
	for _, r := range gate.requests() {
		if r.Header.Get("X-Amz-Expected-Bucket-Owner") != owner {
			t.Errorf("%s %s without the owner as a condition", r.Method, r.URL)
		}
	}
	h := report.NewHistory("cleanup.run", "r-1", nil)
	for _, o := range got {
		if err := h.Add(o.Name, o.Data); err != nil {
			t.Error(err)
		}
	}
	if h.Len() != 30 {
		t.Errorf("%d versions, want 30", h.Len())
	}
	if none, failures := all(t, c, "r-2"); len(none) > 0 || len(failures) > 0 {
		t.Errorf("a run without a report: %d objects, errors %v", len(none), failures)
	}
}

func TestWhatCannotBeReadIsNamedAndTheOthersFollow(t *testing.T) {
	t.Parallel()
	sdk, gate := world(t)
	c := s3report.New(sdk, bucket, owner)
	var stored []report.Stored
	for n := range 12 {
		stored = append(stored, object(t, "r-1", n))
		write(t, c, stored[n])
	}
	for _, foreign := range []string{"custody/cleanup.run/r-1/", "custody/cleanup.run/r-1/note +\x01.txt"} {
		if _, err := sdk.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &foreign, Body: strings.NewReader("x")}); err != nil {
			t.Fatal(err)
		}
	}
	denied, gone := stored[3].Name, stored[5].Name
	gate.from(func(_ int, w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, denied):
			return refuse(w, 403, "AccessDenied")
		case strings.HasSuffix(r.URL.Path, gone):
			return refuse(w, 404, "NoSuchKey")
		}
		return false
	}, nil)
	objects, failures := all(t, c, "r-1")
	if len(objects) != 10 || len(failures) != 4 {
		t.Errorf("%d objects and errors %v, want 10 and 4", len(objects), failures)
	}
	if err := failures[denied]; inbox.CategoryOf(err) != inbox.CategoryAccessDenied || !strings.Contains(err.Error(), bucket) {
		t.Errorf("denied: %v", err)
	}
	if failures[gone] == nil {
		t.Error("the object that is gone is not named")
	}
	for _, foreign := range []string{"custody/cleanup.run/r-1/", "custody/cleanup.run/r-1/note +\x01.txt"} {
		if !errors.Is(failures[foreign], report.ErrForeign) {
			t.Errorf("%q: %v", foreign, failures[foreign])
		}
	}
	for _, r := range gate.requests() {
		if strings.Contains(r.URL.Path, "note") {
			t.Error("a foreign object was fetched")
		}
	}
}

// page is a listing's answer with the given names.
func page(inner string, names ...string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><ListBucketResult><EncodingType>url</EncodingType>` + inner)
	for _, name := range names {
		fmt.Fprintf(&b, "<Contents><Key>%s</Key><Size>1</Size></Contents>", name)
	}
	b.WriteString("</ListBucketResult>")
	return b.String()
}

func TestAListingThatBreaksOffIsTheLastWord(t *testing.T) {
	t.Parallel()
	o := object(t, "r-1", 1)
	more := "<IsTruncated>true</IsTruncated>"
	for sentence, c := range map[string]struct {
		pages []string // "" for a 500; the last one for ever
		want  inbox.Category
		read  int
	}{
		"at its first page":                        {[]string{""}, inbox.CategoryUnavailable, 0},
		"at its second":                            {[]string{page(more+"<NextContinuationToken>a</NextContinuationToken>", o.Name), ""}, inbox.CategoryUnavailable, 1},
		"truncated without a token":                {[]string{page(more, o.Name)}, inbox.CategoryListingBroken, 0},
		"truncated with the token that was sent":   {[]string{page(more+"<NextContinuationToken>a</NextContinuationToken>", o.Name)}, inbox.CategoryListingBroken, 1},
		"truncated without a token, at its second": {[]string{page(more+"<NextContinuationToken>a</NextContinuationToken>", o.Name), page(more, o.Name)}, inbox.CategoryListingBroken, 1},
		"with a name that does not decode":         {[]string{page("", o.Name, "%zz")}, inbox.CategoryListingBroken, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			lists := 0
			sdk := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !r.URL.Query().Has("list-type") {
					_, _ = w.Write([]byte("x"))
					return
				}
				answer := c.pages[min(lists, len(c.pages)-1)]
				if lists++; answer == "" {
					refuse(w, 500, "InternalError")
					return
				}
				w.Header().Set("Content-Type", "application/xml")
				_, _ = w.Write([]byte(answer))
			}))
			objects, failures := all(t, s3report.New(sdk, bucket, owner), "r-1")
			err := failures[""]
			if len(objects) != c.read || len(failures) != 1 || inbox.CategoryOf(err) != c.want || !strings.Contains(fmt.Sprint(err), bucket) {
				t.Errorf("%d objects, errors %v, want %d and one of %s", len(objects), failures, c.read, c.want)
			}
		})
	}
}

func TestAnObjectThatIsTooLargeIsNotTaken(t *testing.T) {
	t.Parallel()
	o := object(t, "r-1", 1)
	listing := strings.Replace(page("", o.Name), "<Size>1<", fmt.Sprintf("<Size>%d<", report.MaxObjectBytes+1), 1)
	for sentence, size := range map[string]string{"as it was listed": listing, "as it comes": page("", o.Name)} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			fetched := false
			sdk := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("list-type") {
					w.Header().Set("Content-Type", "application/xml")
					_, _ = w.Write([]byte(size))
					return
				}
				fetched = true
				_, _ = w.Write(make([]byte, report.MaxObjectBytes+1))
			}))
			_, failures := all(t, s3report.New(sdk, bucket, owner), "r-1")
			if !errors.Is(failures[o.Name], s3report.ErrTooLarge) {
				t.Errorf("errors %v, want ErrTooLarge", failures)
			}
			if fetched != (size != listing) {
				t.Errorf("fetched: %v", fetched)
			}
		})
	}
}

func TestReadingAheadIsBoundedAndEndsWithTheReader(t *testing.T) {
	t.Parallel()
	sdk, gate := world(t)
	c := s3report.New(sdk, bucket, owner)
	for n := range 40 {
		write(t, c, object(t, "r-1", n))
	}
	gate.from(nil, nil)
	for _, err := range c.Read(t.Context(), "cleanup.run", "r-1") {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if n := len(gate.requests()); n > 9 {
		t.Errorf("%d requests for one object, want at most the listing and eight", n)
	}
	gate.from(nil, nil)
	if objects, failures := all(t, c, "r-1"); len(objects) != 40 || len(failures) > 0 {
		t.Errorf("%d objects, errors %v", len(objects), failures)
	}
	gate.mu.Lock()
	defer gate.mu.Unlock()
	if gate.most > 8 {
		t.Errorf("%d requests at once, want at most 8", gate.most)
	}
}

func TestAReadThatIsCutOffSaysWhy(t *testing.T) {
	t.Parallel()
	sdk, gate := world(t)
	c := s3report.New(sdk, bucket, owner)
	write(t, c, object(t, "r-1", 1))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("out of time")
	gate.from(nil, func(n int, _ http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) bool {
		if n > 1 {
			cancel(why)
			<-r.Context().Done()
			return true
		}
		return false
	})
	for o, err := range c.Read(ctx, "cleanup.run", "r-1") {
		if !errors.Is(err, why) || o.Name == "" {
			t.Errorf("object %q, error %v, want one because of %v", o.Name, err, why)
		}
	}
}

func TestARunThatCannotBeNamedIsAnError(t *testing.T) {
	t.Parallel()
	sdk, gate := world(t)
	if objects, failures := all(t, s3report.New(sdk, bucket, owner), "../r-2"); len(objects) > 0 || failures[""] == nil {
		t.Errorf("%d objects, errors %v", len(objects), failures)
	}
	if n := len(gate.requests()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}
