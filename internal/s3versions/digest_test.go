package s3versions_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/retention"
	"custody/internal/s3versions"
)

// demanding is a store that refuses every DeleteObjects without a Content-MD5. The local engine compares the one that comes.
func demanding(status int, code, message string) wrapper {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if deletingTogether(r) && r.Header.Get("Content-Md5") == "" {
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(status)
				_, _ = w.Write([]byte("<Error><Code>" + code + "</Code><Message>" + message + "</Message></Error>"))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func TestS3GetsACRC32AndNoMD5WithEveryDelete(t *testing.T) {
	t.Parallel()
	requests := &record{match: deletingTogether}
	sdk := local(t, requests.wrap)
	c := s3versions.New(sdk, account, time.Now)
	for range 2 {
		if _, err := c.Delete(t.Context(), bucket, []retention.Version{{Key: "a", ID: put(t, sdk, "a")}}, later()); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range requests.seen() {
		if crc, md5 := r.Header.Get("X-Amz-Checksum-Crc32"), r.Header.Get("Content-Md5"); crc == "" || md5 != "" {
			t.Errorf("CRC32 %q and MD5 %q, want the first alone", crc, md5)
		}
	}
}

func TestAStoreThatAsksForContentMD5GetsItFromTheNextRequestOn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ code, message string }{
		"as S3 did before it took others": {"InvalidRequest", "Missing required header for this request: Content-MD5"},
		"as MinIO does":                   {"MissingContentMD5", "Missing required header for this request: Content-Md5."},
		"by its code alone":               {"MissingContentMD5", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := &record{match: func(r *http.Request) bool { return r.Method == http.MethodDelete || deletingTogether(r) }}
			sdk := local(t, chain(requests.wrap, demanding(http.StatusBadRequest, tt.code, tt.message)))
			vs := []retention.Version{{Key: "a", ID: put(t, sdk, "a")}, {Key: "b\x01", ID: put(t, sdk, "b\x01")}, {Key: "c", ID: put(t, sdk, "c")}}
			c := s3versions.New(sdk, account, time.Now)
			first, err := c.Delete(t.Context(), bucket, vs, later())
			again := retention.Fate{Kind: retention.FateTransient, Code: tt.code}
			if diff := cmp.Diff([]retention.Fate{again, {Kind: retention.FateDeleted}, again}, first); diff != "" || err != nil {
				t.Errorf("the first request: %v (-want +got):\n%s", err, diff)
			}
			if n := len(requests.seen()); n != 2 {
				t.Errorf("%d requests, want one for each key that goes alone and one for the others: none is repeated", n)
			}
			second, err := c.Delete(t.Context(), bucket, []retention.Version{vs[0], vs[2]}, later())
			gone := retention.Fate{Kind: retention.FateDeleted}
			if diff := cmp.Diff([]retention.Fate{gone, gone}, second); diff != "" || err != nil {
				t.Errorf("the second request: %v (-want +got):\n%s", err, diff)
			}
			if left := names(all(t, c, "")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestAStoreThatAsksForContentMD5AgainIsAnErrorAndNoLoop(t *testing.T) {
	t.Parallel()
	sdk := local(t, refuse(http.StatusBadRequest, "MissingContentMD5", deletingTogether))
	vs := []retention.Version{{Key: "a", ID: put(t, sdk, "a")}}
	c := s3versions.New(sdk, account, time.Now)
	if _, err := c.Delete(t.Context(), bucket, vs, later()); err != nil {
		t.Fatal(err)
	}
	fates, err := c.Delete(t.Context(), bucket, vs, later())
	if err == nil || inbox.CategoryOf(err) != inbox.CategoryInternal || fates != nil {
		t.Errorf("fates %+v, error %v, want an error that no category names", fates, err)
	}
}

func TestOtherRefusalsAreNotTakenForAMissingMD5(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status        int
		code, message string
	}{
		"a digest that is wrong":            {400, "BadDigest", "The Content-MD5 you specified did not match what we received."},
		"a digest that is none":             {400, "InvalidDigest", "The Content-MD5 you specified is not valid."},
		"a 503 that speaks of it":           {503, "ServiceUnavailable", "Content-MD5"},
		"a 403 that speaks of it":           {403, "AccessDenied", "Content-MD5"},
		"a bad request for another reason":  {400, "InvalidRequest", "Missing required header"},
		"a document that is not understood": {400, "MalformedXML", "m"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := &record{match: deletingTogether}
			sdk := local(t, chain(requests.wrap, demanding(tt.status, tt.code, tt.message)))
			c := s3versions.New(sdk, account, time.Now)
			for range 2 {
				if fates, err := c.Delete(t.Context(), bucket, []retention.Version{{Key: "a", ID: "1"}}, later()); err == nil {
					t.Errorf("fates %+v, want an error", fates)
				}
			}
			for _, r := range requests.seen() {
				if r.Header.Get("Content-Md5") != "" {
					t.Error("a Content-MD5 was sent")
				}
			}
		})
	}
}

// A process has many batches on their way when the store first asks.
func TestBatchesThatAreOnTheirWayTogetherAllGoAgain(t *testing.T) {
	t.Parallel()
	const batches = 4
	var arrived atomic.Int64
	all := make(chan struct{})
	sdk := local(t, func(next http.Handler) http.Handler {
		asks := demanding(http.StatusBadRequest, "MissingContentMD5", "m")(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if deletingTogether(r) && r.Header.Get("Content-Md5") == "" {
				if arrived.Add(1) == batches {
					close(all)
				}
				<-all
			}
			asks.ServeHTTP(w, r)
		})
	})
	c := s3versions.New(sdk, account, time.Now)
	vs := []retention.Version{{Key: "a", ID: put(t, sdk, "a")}}
	results := make(chan []retention.Fate, batches)
	for range batches {
		go func() {
			fates, err := c.Delete(t.Context(), bucket, vs, later())
			if err != nil {
				t.Error(err)
			}
			results <- fates
		}()
	}
	for range batches {
		if diff := cmp.Diff([]retention.Fate{{Kind: retention.FateTransient, Code: "MissingContentMD5"}}, <-results); diff != "" {
			t.Errorf("fates (-want +got):\n%s", diff)
		}
	}
	fates, err := c.Delete(t.Context(), bucket, vs, later())
	if diff := cmp.Diff([]retention.Fate{{Kind: retention.FateDeleted}}, fates); diff != "" || err != nil {
		t.Errorf("fates: %v (-want +got):\n%s", err, diff)
	}
}
