package cleanup_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

// tag sets a tag on one version.
func (w *world) tag(key, id, name, value string) {
	w.t.Helper()
	_, err := w.direct.PutObjectTagging(context.WithoutCancel(w.t.Context()), &s3.PutObjectTaggingInput{
		Bucket: aws.String(bucket), Key: &key, VersionId: &id,
		Tagging: &types.Tagging{TagSet: []types.Tag{{Key: &name, Value: &value}}},
	})
	w.must(err)
}

// lockable replaces the bucket by one with Object Lock.
func (w *world) lockable() {
	w.t.Helper()
	ctx := w.t.Context()
	_, err := w.direct.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: aws.String(bucket)})
	w.must(err)
	_, err = w.direct.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket), ObjectLockEnabledForBucket: aws.Bool(true)})
	w.must(err)
}

// retain sets a retention in governance mode, which a role with the right could bypass.
func (w *world) retain(key, id string, until time.Time) {
	w.t.Helper()
	_, err := w.direct.PutObjectRetention(context.WithoutCancel(w.t.Context()), &s3.PutObjectRetentionInput{
		Bucket: aws.String(bucket), Key: &key, VersionId: &id,
		Retention: &types.ObjectLockRetention{Mode: types.ObjectLockRetentionModeGovernance, RetainUntilDate: &until},
	})
	w.must(err)
}

func (w *world) legalHold(key, id string) {
	w.t.Helper()
	_, err := w.direct.PutObjectLegalHold(context.WithoutCancel(w.t.Context()), &s3.PutObjectLegalHoldInput{
		Bucket: aws.String(bucket), Key: &key, VersionId: &id, LegalHold: &types.ObjectLockLegalHold{Status: types.ObjectLockLegalHoldStatusOn},
	})
	w.must(err)
}

// sorted is what the bucket holds, whatever the order within a key.
func (w *world) sorted() []string {
	left := w.left()
	slices.Sort(left)
	return left
}

func versionsLeft(vs ...string) []string {
	slices.Sort(vs)
	return vs
}

func TestATagKeepsItsVersionAndWhatIsCurrentOverIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set.CheckTags = true
	tagged := w.put("pod/wh-17/a")
	w.put("pod/wh-17/a")
	over := w.put("pod/wh-17/a")
	lifted := w.put("pod/wh-17/b")
	other := w.put("pod/wh-17/c")
	w.tag("pod/wh-17/a", tagged, "custody-hold", "case 4")
	w.tag("pod/wh-17/b", lifted, "custody-hold", "false")
	w.tag("pod/wh-17/c", other, "Custody-Hold", "true")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted {
		t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	if diff := cmp.Diff(versionsLeft("pod/wh-17/a "+tagged, "pod/wh-17/a "+over), w.sorted()); diff != "" {
		t.Errorf("left in the bucket (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"tag": 1, "current_over_kept": 1}, w.run().Place.Retained); diff != "" {
		t.Errorf("retained (-want +got):\n%s", diff)
	}
}

func TestTagsAreNotAskedForWhereTheStackDoesNotCheckThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.put("pod/wh-17/a")
	w.tag("pod/wh-17/a", id, "custody-hold", "true")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("tagging") {
			t.Error("tags were asked for")
		}
		w.objects.ServeHTTP(rw, r)
	})
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted || got.Deleted != 1 {
		t.Errorf("the slice ended as %s with %d deleted: %s", got.Outcome, got.Deleted, got.Problem)
	}
}

func TestObjectLockKeepsItsVersionsAndGovernanceIsNeverBypassed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lockable()
	held := w.put("pod/wh-17/a")
	over := w.put("pod/wh-17/a")
	retained := w.put("pod/wh-17/b")
	w.put("pod/wh-17/c")
	w.legalHold("pod/wh-17/a", held)
	w.retain("pod/wh-17/b", retained, later.Add(time.Hour))
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Bypass-Governance-Retention") != "" {
			t.Error("a request asks for a bypass")
		}
		w.objects.ServeHTTP(rw, r)
	})
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted {
		t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	if diff := cmp.Diff(versionsLeft("pod/wh-17/a "+held, "pod/wh-17/a "+over, "pod/wh-17/b "+retained), w.sorted()); diff != "" {
		t.Errorf("left in the bucket (-want +got):\n%s", diff)
	}
	want := map[string]int64{"lock_legal_hold": 1, "lock_retention": 1, "current_over_kept": 1}
	if diff := cmp.Diff(want, w.run().Place.Retained); diff != "" {
		t.Errorf("retained (-want +got):\n%s", diff)
	}
}

func TestALockThatComesBetweenReadAndDeleteRetainsTheVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lockable()
	late := w.put("pod/wh-17/a")
	over := w.put("pod/wh-17/a")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.before("delete", once(func() { w.legalHold("pod/wh-17/a", late) }))
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted || got.Refused != 0 {
		t.Fatalf("the slice ended as %s with %d refused: %s", got.Outcome, got.Refused, got.Problem)
	}
	if diff := cmp.Diff(versionsLeft("pod/wh-17/a "+late, "pod/wh-17/a "+over), w.sorted()); diff != "" {
		t.Errorf("left in the bucket (-want +got):\n%s", diff)
	}
}

func TestWithoutReadableMarksNothingIsDeleted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		code   string
		end    inbox.SliceOutcome
		why    inbox.Category
	}{
		"a passing error parks":       {503, "SlowDown", inbox.SliceParked, inbox.CategoryThrottled},
		"a refusal that stays, fails": {403, "AccessDenied", inbox.SliceFailed, inbox.CategoryAccessDenied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.set.CheckTags = true
			w.put("pod/wh-17/a")
			before := w.left()
			wake := w.claim(cutoff, "pod/wh-17/")
			w.at(later)
			w.answer(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("tagging") {
					rw.WriteHeader(tt.status)
					_, _ = strings.NewReader("<Error><Code>" + tt.code + "</Code><Message>m</Message></Error>").WriteTo(rw)
					return
				}
				w.objects.ServeHTTP(rw, r)
			})
			got := w.deliver(t.Context(), "rec-1", wake)
			if got.Outcome != tt.end || got.Category != tt.why {
				t.Errorf("the slice ended as %s %s: %s", got.Outcome, got.Category, got.Problem)
			}
			if diff := cmp.Diff(before, w.left()); diff != "" || w.asked("POST delete") > 0 {
				t.Errorf("%d delete requests; left in the bucket (-want +got):\n%s", w.asked("POST delete"), diff)
			}
		})
	}
}

func TestAVersionThatVanishesBeforeItsTagsAreReadIsNoError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set.CheckTags = true
	id := w.put("pod/wh-17/a")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	gone := once(func() { w.remove("pod/wh-17/a", id) })
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("tagging") {
			gone()
		}
		w.objects.ServeHTTP(rw, r)
	})
	got := w.deliver(t.Context(), "rec-1", wake)
	if got.Outcome != inbox.SliceCompleted || got.Absent != 1 || w.asked("POST delete") != 0 {
		t.Errorf("the slice ended as %s with %d absent and %d delete requests: %s", got.Outcome, got.Absent, w.asked("POST delete"), got.Problem)
	}
}
