package s3report_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/s3report"
)

func get(t *testing.T, c *s3.Client, name string) (*s3.GetObjectOutput, []byte) {
	t.Helper()
	out, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(bucket), Key: &name})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	data, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	return out, data
}

func TestAnObjectIsWrittenForOthersToRead(t *testing.T) {
	t.Parallel()
	sdk, gate := world(t)
	o := object(t, "r-1", 1)
	if err := s3report.New(sdk, bucket, owner).Write(t.Context(), o.Name, o.Data); err != nil {
		t.Fatal(err)
	}
	sent := gate.requests()[0].Header
	got := []string{sent.Get("If-None-Match"), sent.Get("X-Amz-Expected-Bucket-Owner"), sent.Get("Content-Type")}
	if diff := cmp.Diff([]string{"*", owner, "text/plain; charset=utf-8"}, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	out, data := get(t, sdk, o.Name)
	if aws.ToString(out.ContentEncoding) != "gzip" || aws.ToString(out.ContentType) != "text/plain; charset=utf-8" || cmp.Diff(o.Data, data) != "" {
		t.Errorf("stored as %s, %s, %d bytes of %d", aws.ToString(out.ContentType), aws.ToString(out.ContentEncoding), len(data), len(o.Data))
	}
	unpacked, err := gzip.NewReader(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(unpacked); err != nil || !strings.HasPrefix(string(text), `{"format":1,`) {
		t.Errorf("text %q, error %v", text, err)
	}
}

func TestAnObjectIsNeverReplaced(t *testing.T) {
	t.Parallel()
	sdk, _ := world(t)
	c := s3report.New(sdk, bucket, owner)
	first, second := object(t, "r-1", 1), object(t, "r-1", 2)
	if err := c.Write(t.Context(), first.Name, first.Data); err != nil {
		t.Fatal(err)
	}
	err := c.Write(t.Context(), first.Name, second.Data)
	if !errors.Is(err, s3report.ErrExists) || inbox.CategoryOf(err).Permanent() || !strings.Contains(err.Error(), bucket) {
		t.Errorf("a second object of the same name: %v", err)
	}
	if _, data := get(t, sdk, first.Name); cmp.Diff(first.Data, data) != "" {
		t.Error("the first object was replaced")
	}
}

// Every way in which the first request may be done without this process hearing of it.
func TestAWriteWhoseAnswerWasLostIsAWrite(t *testing.T) {
	t.Parallel()
	for sentence, after := range map[string]func(int, http.ResponseWriter, *http.Request, *httptest.ResponseRecorder) bool{
		"the connection ends": func(n int, _ http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) bool {
			if n == 1 {
				hangUp()
			}
			return false
		},
		"a 500 comes behind the write": func(n int, w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) bool {
			return n == 1 && refuse(w, 500, "InternalError")
		},
		"a 503 comes twice": func(n int, w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) bool {
			return n <= 2 && refuse(w, 503, "ServiceUnavailable")
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			sdk, gate := world(t)
			gate.from(nil, after)
			o := object(t, "r-1", 1)
			if err := s3report.New(sdk, bucket, owner).Write(t.Context(), o.Name, o.Data); err != nil {
				t.Errorf("error %v", err)
			}
			if n := len(gate.requests()); n < 2 {
				t.Errorf("%d requests, want the write to be repeated", n)
			}
			gate.from(nil, nil)
			if _, data := get(t, sdk, o.Name); cmp.Diff(o.Data, data) != "" {
				t.Error("another object is stored")
			}
		})
	}
}

func TestARefusedRequestBeforeDoesNotExcuseAnObjectOfOthers(t *testing.T) {
	t.Parallel()
	sdk, gate := world(t)
	c := s3report.New(sdk, bucket, owner)
	first, second := object(t, "r-1", 1), object(t, "r-1", 2)
	if err := c.Write(t.Context(), first.Name, first.Data); err != nil {
		t.Fatal(err)
	}
	gate.from(func(n int, w http.ResponseWriter, _ *http.Request) bool {
		return n == 1 && refuse(w, 400, "RequestTimeout")
	}, nil)
	if err := c.Write(t.Context(), first.Name, second.Data); !errors.Is(err, s3report.ErrExists) {
		t.Errorf("error %v, want ErrExists", err)
	}
	if n := len(gate.requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestAWriteThatFailsHasACategoryAndNamesTheReportBucket(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		status int
		code   string
		want   inbox.Category
	}{
		"no such bucket":                   {404, "NoSuchBucket", inbox.CategoryReportUnwritable},
		"access denied, or another owner":  {403, "AccessDenied", inbox.CategoryReportUnwritable},
		"a 403 that nobody knows":          {403, "Surprise", inbox.CategoryReportUnwritable},
		"another region":                   {301, "PermanentRedirect", inbox.CategoryReportUnwritable},
		"a region that does not match":     {400, "AuthorizationHeaderMalformed", inbox.CategoryReportUnwritable},
		"an owner that is no account":      {400, "InvalidBucketOwnerAWSAccountID", inbox.CategoryReportUnwritable},
		"a name that no bucket can have":   {400, "InvalidBucketName", inbox.CategoryReportUnwritable},
		"a key that is disabled":           {400, "KMS.DisabledException", inbox.CategoryReportUnwritable},
		"a key that throttles":             {400, "KMS.ThrottlingException", inbox.CategoryThrottled},
		"slow down":                        {503, "SlowDown", inbox.CategoryThrottled},
		"too many requests":                {429, "", inbox.CategoryThrottled},
		"an internal error":                {500, "InternalError", inbox.CategoryUnavailable},
		"a 502 of something in between":    {502, "", inbox.CategoryUnavailable},
		"a write of the same name at once": {409, "ConditionalRequestConflict", inbox.CategoryUnavailable},
		"a credential that has run out":    {400, "ExpiredToken", inbox.CategoryUnavailable},
		"a clock that is off":              {403, "RequestTimeTooSkewed", inbox.CategoryUnavailable},
		"a condition that it cannot do":    {501, "NotImplemented", inbox.CategoryUnavailable},
		"an argument it does not like":     {400, "InvalidArgument", inbox.CategoryInternal},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			sdk := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				refuse(w, c.status, c.code)
			}))
			o := object(t, "r-1", 1)
			err := s3report.New(sdk, bucket, owner).Write(t.Context(), o.Name, o.Data)
			if got := inbox.CategoryOf(err); err == nil || got != c.want || !strings.Contains(err.Error(), "report bucket "+bucket) {
				t.Errorf("category %s, error %v, want %s and the bucket's name", got, err, c.want)
			}
		})
	}
}

func TestABucketOfAnotherOwnerOrNoneIsUnwritable(t *testing.T) {
	t.Parallel()
	sdk, _ := world(t)
	o := object(t, "r-1", 1)
	err := s3report.New(sdk, bucket, "111111111111").Write(t.Context(), o.Name, o.Data)
	if inbox.CategoryOf(err) != inbox.CategoryReportUnwritable || !strings.Contains(err.Error(), "111111111111") {
		t.Errorf("another owner: %v", err)
	}
	err = s3report.New(sdk, "absent-bucket", owner).Write(t.Context(), o.Name, o.Data)
	if inbox.CategoryOf(err) != inbox.CategoryReportUnwritable || !strings.Contains(err.Error(), "absent-bucket") {
		t.Errorf("no bucket: %v", err)
	}
	if err := s3report.New(sdk, bucket, "").Write(t.Context(), o.Name, o.Data); err != nil {
		t.Errorf("without an owner: %v", err)
	}
}

func TestAWriteThatIsCutOffIsUnavailableAndSaysWhy(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("out of time")
	sdk := clientOf(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that the client has gone
		cancel(why)
		<-r.Context().Done()
	}))
	o := object(t, "r-1", 1)
	err := s3report.New(sdk, bucket, owner).Write(ctx, o.Name, o.Data)
	if inbox.CategoryOf(err) != inbox.CategoryUnavailable || !errors.Is(err, why) || !strings.Contains(err.Error(), bucket) {
		t.Errorf("error %v, want unavailable because of %v", err, why)
	}
}
