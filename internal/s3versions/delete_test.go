package s3versions_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	locals3 "custody/internal/localaws/s3"
	"custody/internal/retention"
	"custody/internal/s3versions"
)

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

// answering gives every delete the same answer and counts them. Versions have no locks, and there is no MFA delete.
func answering(t *testing.T, status int, body string) (*s3.Client, *atomic.Int64) {
	t.Helper()
	n := new(atomic.Int64)
	return clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case reading("legal-hold")(r):
			answer(w, http.StatusBadRequest, "InvalidRequest")
			return
		case reading("versioning")(r):
			_, _ = io.WriteString(w, xml.Header+"<VersioningConfiguration/>")
			return
		}
		n.Add(1)
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
		"the same version twice is one":              {deleted + deleted, kinds(retention.FateDeleted, retention.FateRefused)},
		"a repeated error is one":                    {deleted + failed("Surprise") + failed("Surprise"), kinds(retention.FateDeleted, retention.FateRefused)},
		"the order of the answer is its own":         {failed("SlowDown") + deleted, kinds(retention.FateDeleted, retention.FateTransient)},
		"SlowDown is sent again":                     {deleted + failed("SlowDown"), kinds(retention.FateDeleted, retention.FateTransient)},
		"InternalError is sent again":                {deleted + failed("InternalError"), kinds(retention.FateDeleted, retention.FateTransient)},
		"ServiceUnavailable is sent again":           {deleted + failed("ServiceUnavailable"), kinds(retention.FateDeleted, retention.FateTransient)},
		"AccessDenied is refused":                    {deleted + failed("AccessDenied"), kinds(retention.FateDeleted, retention.FateRefused)},
		"a code nobody knows is refused":             {deleted + failed("Surprise"), kinds(retention.FateDeleted, retention.FateRefused)},
		"a version that is absent is success":        {deleted + failed("NoSuchVersion"), kinds(retention.FateDeleted, retention.FateAbsent)},
		"an error after a success of the same version counts": {
			deleted + "<Deleted><Key>b</Key><VersionId>2</VersionId></Deleted>" + failed("SlowDown"),
			kinds(retention.FateDeleted, retention.FateTransient)},
		"of two errors, the one that can be asked again counts": {
			deleted + failed("SlowDown") + failed("NoSuchVersion") + failed("Surprise"), kinds(retention.FateDeleted, retention.FateTransient)},
		"a refusal outweighs absence": {
			deleted + failed("Surprise") + failed("NoSuchVersion"), kinds(retention.FateDeleted, retention.FateRefused)},
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
			if n.Load() != 1 {
				t.Errorf("%d requests were sent, want 1: a repeated one would rest on old holds", n.Load())
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
			if n.Load() != 1 {
				t.Errorf("%d requests were sent, want 1", n.Load())
			}
		})
	}
}

// The SDK as functions use it sends again by itself what may pass. A delete that it sent again would rest on holds that were read
// for the first try.
func TestAClientThatRepeatsItsRequestsRepeatsNoDelete(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"together with others": "a", "alone": "a\x01"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			once, n := answering(t, 503, xml.Header+"<Error><Code>SlowDown</Code><Message>m</Message></Error>")
			sdk := s3.New(once.Options(), func(o *s3.Options) {
				o.RetryMaxAttempts = 3
				o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
					r.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
				})
			})
			c := s3versions.New(sdk, "", time.Now)
			_, _ = c.Delete(t.Context(), bucket, []retention.Version{{Key: key, ID: "1"}}, later())
			if sent := n.Swap(0); sent != 1 {
				t.Errorf("%d delete requests were sent, want 1", sent)
			}
			// Without that the test would show nothing: its other requests are sent again.
			if _, err := c.Page(t.Context(), bucket, "", retention.Marker{}); err == nil || n.Load() != 3 {
				t.Errorf("%d listings were sent, error %v, want 3 and an error", n.Load(), err)
			}
		})
	}
}

func TestAnAnswerThatNamesWhatWasNotSentSettlesNothing(t *testing.T) {
	t.Parallel()
	deleted := func(key, id string) string {
		return "<Deleted><Key>" + key + "</Key><VersionId>" + id + "</VersionId></Deleted>"
	}
	tests := map[string]string{
		"another version":             deleted("a", "1") + deleted("b", "9"),
		"another key":                 deleted("a", "1") + deleted("c", "2"),
		"one more than was sent":      deleted("a", "1") + deleted("b", "2") + deleted("c", "3"),
		"a version without its id":    deleted("a", "1") + "<Deleted><Key>b</Key></Deleted>",
		"an entry without anything":   deleted("a", "1") + deleted("b", "2") + "<Deleted/>",
		"an error that names no key":  deleted("a", "1") + "<Error><Code>InternalError</Code></Error>",
		"an error of another version": deleted("a", "1") + "<Error><Key>b</Key><VersionId>9</VersionId><Code>AccessDenied</Code></Error>",
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sdk, _ := answering(t, 200, xml.Header+"<DeleteResult>"+body+"</DeleteResult>")
			fates, err := s3versions.New(sdk, "", time.Now).
				Delete(t.Context(), bucket, []retention.Version{{Key: "a", ID: "1"}, {Key: "b", ID: "2"}}, later())
			if err == nil || inbox.CategoryOf(err) != inbox.CategoryInternal {
				t.Errorf("category %s of %v, want %s", inbox.CategoryOf(err), err, inbox.CategoryInternal)
			}
			if fates != nil {
				t.Errorf("fates %+v beside an error", fates)
			}
		})
	}
}

func TestABatchOfEveryKindOfVersionIsAccountedForAsAWhole(t *testing.T) {
	t.Parallel()
	sdk := lockable(t, locals3.Options{}, nil)
	vs, want := []retention.Version{}, []retention.FateKind{}
	for i := range 20 {
		for _, key := range []string{fmt.Sprintf("plain-%d", i), fmt.Sprintf("odd-%d\x01", i)} {
			locked := putWith(t, sdk, key, func(in *s3.PutObjectInput) { in.ObjectLockLegalHoldStatus = types.ObjectLockLegalHoldStatusOn })
			gone := put(t, sdk, key)
			remove(t, sdk, key, gone)
			for _, v := range []struct {
				id   string
				kind retention.FateKind
			}{
				{put(t, sdk, key), retention.FateDeleted}, {unmake(t, sdk, key), retention.FateDeleted},
				{locked, retention.FateLocked}, {gone, retention.FateDeleted}, // S3 says deleted for what is absent
			} {
				vs, want = append(vs, retention.Version{Key: key, ID: v.id}), append(want, v.kind)
			}
		}
	}
	fates, err := s3versions.New(sdk, "", time.Now).Delete(t.Context(), bucket, vs, later())
	if err != nil {
		t.Fatal(err)
	}
	got := []retention.FateKind{}
	for _, f := range fates {
		got = append(got, f.Kind)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fates (-want +got):\n%s", diff)
	}
}

func TestMoreVersionsThanS3TakesAreRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	sdk, n := answering(t, 200, xml.Header+"<DeleteResult/>")
	vs := make([]retention.Version, s3versions.MaxDelete+1)
	for i := range vs {
		vs[i] = retention.Version{Key: fmt.Sprint(i), ID: "1"}
	}
	if fates, err := s3versions.New(sdk, "", time.Now).Delete(t.Context(), bucket, vs, later()); err == nil || fates != nil || n.Load() > 0 {
		t.Errorf("fates %v, error %v, %d requests: want an error before any", fates, err, n.Load())
	}
}
