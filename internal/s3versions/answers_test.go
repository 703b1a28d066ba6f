package s3versions_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/report"
	"custody/internal/retention"
	"custody/internal/s3versions"
)

func deletes(r *http.Request) bool { return r.Method == http.MethodDelete || deletingTogether(r) }

func notMentioned() retention.Fate {
	return retention.Fate{Kind: retention.FateRefused, Code: report.CodeNotMentioned}
}

// lost lets the engine do what matches and answers in its place with what became of the answer on its way.
func lost(match func(*http.Request) bool, arrives func(w http.ResponseWriter, answer []byte)) wrapper {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !match(r) {
				next.ServeHTTP(w, r)
				return
			}
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			arrives(w, answer.Body.Bytes())
		})
	}
}

func TestADeleteThatHappenedAndWhoseAnswerIsLostIsFoundDoneTheNextTime(t *testing.T) {
	t.Parallel()
	tests := map[string]func(http.ResponseWriter, []byte){
		"the connection ends":              func(http.ResponseWriter, []byte) { panic(http.ErrAbortHandler) },
		"a 500 comes instead":              func(w http.ResponseWriter, _ []byte) { answer(w, 500, "InternalError") },
		"a 503 without a body":             func(w http.ResponseWriter, _ []byte) { answer(w, 503, "") },
		"a 200 with an error for its body": func(w http.ResponseWriter, _ []byte) { answer(w, 200, "InternalError") },
		"the answer is cut off on its way": func(w http.ResponseWriter, whole []byte) {
			w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
			_, _ = w.Write(whole[:len(whole)/2])
			panic(http.ErrAbortHandler)
		},
		"the document breaks off": func(w http.ResponseWriter, whole []byte) { _, _ = w.Write(whole[:len(whole)/2]) },
	}
	for name, arrives := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var healthy atomic.Bool
			requests := &record{match: deletes}
			sdk := local(t, chain(requests.wrap, lost(func(r *http.Request) bool { return deletingTogether(r) && !healthy.Load() }, arrives)))
			vs := []retention.Version{{Key: "a", ID: put(t, sdk, "a")}, {Key: "b", ID: put(t, sdk, "b")}}
			kept := put(t, sdk, "b")
			c := s3versions.New(sdk, account, time.Now)

			fates, err := c.Delete(t.Context(), bucket, vs, later())
			if inbox.CategoryOf(err) != inbox.CategoryUnavailable || fates != nil {
				t.Errorf("fates %+v, error %v, want none and category %s: nobody knows", fates, err, inbox.CategoryUnavailable)
			}
			if n := len(requests.seen()); n != 1 {
				t.Errorf("%d requests, want 1: another would rest on holds that were read long ago", n)
			}
			healthy.Store(true)
			fates, err = c.Delete(t.Context(), bucket, vs, later())
			gone := retention.Fate{Kind: retention.FateDeleted} // S3 says so for what is absent
			if diff := cmp.Diff([]retention.Fate{gone, gone}, fates); diff != "" || err != nil {
				t.Errorf("the next time: %v (-want +got):\n%s", err, diff)
			}
			if diff := cmp.Diff([]string{"b " + kept}, names(all(t, c, ""))); diff != "" {
				t.Errorf("left behind (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAnAnswerThatEndsAnywhereConfirmsNoMoreThanItNames cuts S3's answer behind each byte, as a document that came whole.
func TestAnAnswerThatEndsAnywhereConfirmsNoMoreThanItNames(t *testing.T) {
	t.Parallel()
	sent := []retention.Version{{Key: "a", ID: "1"}, {Key: "b", ID: "2"}, {Key: "c", ID: "3"}}
	whole := xml.Header + "<DeleteResult><Deleted><Key>a</Key><VersionId>1</VersionId></Deleted>" +
		"<Error><Key>b</Key><VersionId>2</VersionId><Code>SlowDown</Code><Message>m</Message></Error>" +
		"<Deleted><Key>c</Key><VersionId>3</VersionId></Deleted></DeleteResult>"
	end := map[string]int{"a": strings.Index(whole, "<Error>"), "b": strings.LastIndex(whole, "<Deleted>"), "c": strings.Index(whole, "</DeleteResult>")}
	var cut atomic.Int64
	sdk := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(whole[:cut.Load()])) }))
	c := s3versions.New(sdk, "", time.Now)
	for n := range len(whole) + 1 {
		cut.Store(int64(n))
		fates, err := c.Delete(t.Context(), bucket, sent, later())
		if err != nil {
			if fates != nil || inbox.CategoryOf(err) != inbox.CategoryUnavailable {
				t.Errorf("cut at %d: fates %+v beside %v", n, fates, err)
			}
			continue
		}
		for i, v := range sent {
			if fates[i] != notMentioned() && n < end[v.Key] {
				t.Errorf("cut at %d: fate %+v of %s, which the answer does not name", n, fates[i], v.Key)
			}
		}
	}
	if fates, err := c.Delete(t.Context(), bucket, sent, later()); err != nil || fates[0].Kind != retention.FateDeleted {
		t.Errorf("the whole answer: fates %+v, %v", fates, err)
	}
}

func TestAnEmpty200IsNoSuccess(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"no body": "", "an empty document": xml.Header + "<DeleteResult/>"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sdk, _ := answering(t, 200, body)
			sent := []retention.Version{{Key: "a", ID: "1"}, {Key: "b", ID: "2"}}
			fates, err := s3versions.New(sdk, "", time.Now).Delete(t.Context(), bucket, sent, later())
			if diff := cmp.Diff([]retention.Fate{notMentioned(), notMentioned()}, fates); diff != "" || err != nil {
				t.Errorf("fates: %v (-want +got):\n%s", err, diff)
			}
			// The trap: with Quiet, this is what the SDK makes of success.
			out, err := sdk.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: aws.String(bucket), Delete: &types.Delete{
				Quiet: aws.Bool(true), Objects: []types.ObjectIdentifier{{Key: aws.String("a"), VersionId: aws.String("1")}}}})
			if err != nil || len(out.Errors) != 0 {
				t.Errorf("the SDK in quiet mode: %+v, %v, want no error: that is the trap", out, err)
			}
		})
	}
}

func TestDeletesAreNeverQuiet(t *testing.T) {
	t.Parallel()
	var quiet atomic.Bool
	sdk := local(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if deletingTogether(r) && readBatch(t, r).Quiet {
				quiet.Store(true)
			}
			next.ServeHTTP(w, r)
		})
	})
	vs := []retention.Version{{Key: "a", ID: put(t, sdk, "a")}}
	if _, err := s3versions.New(sdk, "", time.Now).Delete(t.Context(), bucket, vs, later()); err != nil || quiet.Load() {
		t.Errorf("quiet: %v, error %v", quiet.Load(), err)
	}
}

// The SDK takes such an answer for a 500 with the code, so that the code counts where it is one for good.
func TestAnErrorForTheBodyOfA200SettlesNothing(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]inbox.Category{
		"InternalError": inbox.CategoryUnavailable, "ServiceUnavailable": inbox.CategoryUnavailable, "SlowDown": inbox.CategoryThrottled,
		"AccessDenied": inbox.CategoryAccessDenied, "NoSuchBucket": inbox.CategoryNoSuchBucket, "Surprise": inbox.CategoryUnavailable,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			sdk, n := answering(t, 200, xml.Header+"<Error><Code>"+code+"</Code><Message>m</Message></Error>")
			fates, err := s3versions.New(sdk, "", time.Now).Delete(t.Context(), bucket, []retention.Version{{Key: "a", ID: "1"}}, later())
			if err == nil || inbox.CategoryOf(err) != want || fates != nil || n.Load() != 1 {
				t.Errorf("fates %+v, error %v, %d requests, want one and category %s", fates, err, n.Load(), want)
			}
		})
	}
}

// One key that a policy names stays, whichever way it is sent, and the others go.
func TestOneKeyThatMayNotBeDeletedDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]string{"together with the others": "", "alone": "\x01"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sdk := local(t, denyOne(t, "b"+odd))
			vs, want := []retention.Version{}, []retention.Fate{}
			for _, key := range []string{"a" + odd, "b" + odd, "c" + odd, "d"} {
				vs, want = append(vs, retention.Version{Key: key, ID: put(t, sdk, key)}), append(want, retention.Fate{Kind: retention.FateDeleted})
			}
			want[1] = refused()
			c := s3versions.New(sdk, account, time.Now)
			got, err := c.Delete(t.Context(), bucket, vs, later())
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("fates: %v (-want +got):\n%s", err, diff)
			}
			if diff := cmp.Diff([]string{"b" + odd + " " + vs[1].ID}, names(all(t, c, ""))); diff != "" {
				t.Errorf("left behind (-want +got):\n%s", diff)
			}
		})
	}
}

// denyOne is a bucket policy that denies s3:DeleteObjectVersion for one key.
func denyOne(t *testing.T, key string) wrapper {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete && r.URL.Path == "/"+bucket+"/"+key {
				answer(w, http.StatusForbidden, denied)
				return
			}
			if !deletingTogether(r) {
				next.ServeHTTP(w, r)
				return
			}
			if err := withoutOne(t, r, key); err == "" {
				next.ServeHTTP(w, r)
			} else {
				whole := httptest.NewRecorder()
				next.ServeHTTP(whole, r)
				_, _ = w.Write([]byte(strings.Replace(whole.Body.String(), "</DeleteResult>", err+"</DeleteResult>", 1)))
			}
		})
	}
}

// A storm: every other version of every answer is told to slow down, and every third request is refused as a whole. What is sent
// again is what was not confirmed, and in the end everything is gone.
func TestASlowDownStormLosesNoVersionAndRepeatsNoneThatIsGone(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	sdk := local(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !deletingTogether(r) {
				next.ServeHTTP(w, r)
				return
			}
			if requests.Add(1)%3 == 0 {
				answer(w, http.StatusServiceUnavailable, "SlowDown")
				return
			}
			slow := ""
			for i, o := range readBatch(t, r).Objects {
				if i%2 == 1 {
					slow += withoutOne(t, r, o.Key)
				}
			}
			whole := httptest.NewRecorder()
			next.ServeHTTP(whole, r)
			_, _ = w.Write([]byte(strings.Replace(whole.Body.String(), "</DeleteResult>", strings.ReplaceAll(slow, denied, "SlowDown")+"</DeleteResult>", 1)))
		})
	})
	left := []retention.Version{}
	for i := range 64 {
		key := fmt.Sprintf("k%02d", i)
		left = append(left, retention.Version{Key: key, ID: put(t, sdk, key)})
	}
	c := s3versions.New(sdk, account, time.Now)
	for round := 0; len(left) > 0; round++ {
		if round > 20 {
			t.Fatalf("%d versions are left after 20 rounds", len(left))
		}
		fates, err := c.Delete(t.Context(), bucket, left, later())
		if err != nil {
			if inbox.CategoryOf(err) != inbox.CategoryThrottled || fates != nil {
				t.Fatalf("fates %+v, error %v, want category %s", fates, err, inbox.CategoryThrottled)
			}
			continue
		}
		var again []retention.Version
		for i, f := range fates {
			switch f {
			case retention.Fate{Kind: retention.FateTransient, Code: "SlowDown"}:
				again = append(again, left[i])
			case retention.Fate{Kind: retention.FateDeleted}:
			default:
				t.Fatalf("fate %+v of %s", f, left[i].Key)
			}
		}
		if diff := cmp.Diff(names(again), names(all(t, c, ""))); diff != "" {
			t.Fatalf("told to come again, and there (-told +there):\n%s", diff)
		}
		left = again
	}
}
