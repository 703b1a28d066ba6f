package cleanup_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

func TestABucketThatCannotBeWorkedFailsTheRunAtOnce(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer func(w *world) http.HandlerFunc
		want   inbox.Category
	}{
		"versioning was never enabled": {func(w *world) http.HandlerFunc {
			return respond(w, "versioning", 200, "<VersioningConfiguration/>")
		}, inbox.CategoryVersioningOff},
		"MFA delete": {func(w *world) http.HandlerFunc {
			return respond(w, "versioning", 200, "<VersioningConfiguration><Status>Enabled</Status><MfaDelete>Enabled</MfaDelete></VersioningConfiguration>")
		}, inbox.CategoryMFADelete},
		"no such bucket": {func(w *world) http.HandlerFunc { return fail(w, "versioning", 404, "NoSuchBucket") }, inbox.CategoryNoSuchBucket},
		"access denied at the delete": {func(w *world) http.HandlerFunc {
			return fail(w, "delete", 403, "AccessDenied")
		}, inbox.CategoryAccessDenied},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put("pod/wh-17/a")
			wake := w.claim(cutoff, "pod/wh-17/")
			w.at(later)
			w.answer(tt.answer(w))
			got := w.deliver(t.Context(), "rec-1", wake)
			if got.Outcome != inbox.SliceFailed || got.Category != tt.want {
				t.Errorf("the slice ended as %s %s: %s", got.Outcome, got.Category, got.Problem)
			}
			if run := w.run(); run.State != inbox.StateFailed || run.LastError.Category != tt.want {
				t.Errorf("the run is %s with %+v", run.State, run.LastError)
			}
		})
	}
}

// respond answers each request of the operation with a body.
func respond(w *world, op string, status int, body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if operation(r) != op {
			w.objects.ServeHTTP(rw, r)
			return
		}
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, body)
	}
}

func TestNullVersionsStayWhileVersioningIsSuspended(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("pod/wh-17/a")
	w.versioning(types.BucketVersioningStatusSuspended)
	w.put("pod/wh-17/a")
	w.put("pod/wh-17/b")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	got := w.deliver(t.Context(), "rec-1", wake)
	if got.Outcome != inbox.SliceCompleted {
		t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	if diff := cmp.Diff([]string{"pod/wh-17/a null", "pod/wh-17/b null"}, w.left()); diff != "" {
		t.Errorf("left in the bucket (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"null_version": 2}, w.run().Place.Retained); diff != "" {
		t.Errorf("retained (-want +got):\n%s", diff)
	}
}
