package s3versions_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	locals3 "custody/internal/localaws/s3"
	"custody/internal/retention"
	"custody/internal/s3versions"
)

const denied = "AccessDenied"

func locked(r retention.Reason) retention.Fate {
	return retention.Fate{Kind: retention.FateLocked, Code: denied, Reason: r}
}

func refused() retention.Fate { return retention.Fate{Kind: retention.FateRefused, Code: denied} }

func TestALockedVersionIsToldFromARefusedOneAndNeverBypassed(t *testing.T) {
	t.Parallel()
	requests := &record{}
	sdk := lockable(t, locals3.Options{}, requests.wrap)
	until := time.Now().Add(time.Hour)
	vs, want := []retention.Version{}, []retention.Fate{}
	for _, odd := range []string{"", "\x01"} { // together with others, and alone
		for name, lock := range map[string]func(*s3.PutObjectInput){
			"hold": func(in *s3.PutObjectInput) { in.ObjectLockLegalHoldStatus = types.ObjectLockLegalHoldStatusOn },
			"governance": func(in *s3.PutObjectInput) {
				in.ObjectLockMode, in.ObjectLockRetainUntilDate = types.ObjectLockModeGovernance, &until
			},
			"compliance": func(in *s3.PutObjectInput) {
				in.ObjectLockMode, in.ObjectLockRetainUntilDate = types.ObjectLockModeCompliance, &until
			},
		} {
			vs = append(vs, retention.Version{Key: name + odd, ID: putWith(t, sdk, name+odd, lock)})
			reason := retention.ReasonLockRetention
			if name == "hold" {
				reason = retention.ReasonLockLegalHold
			}
			want = append(want, locked(reason))
		}
		vs = append(vs, retention.Version{Key: "free" + odd, ID: put(t, sdk, "free"+odd)})
		want = append(want, retention.Fate{Kind: retention.FateDeleted})
	}
	requests.forget()
	got, err := s3versions.New(sdk, account, time.Now).Delete(t.Context(), bucket, vs, later())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("fates: %v (-want +got):\n%s", err, diff)
	}
	for _, r := range requests.seen() {
		if r.Header.Get("X-Amz-Bypass-Governance-Retention") != "" {
			t.Errorf("%s %s asks for a bypass", r.Method, r.URL)
		}
		if questions(r) && (r.URL.Path == "/objects/free" || r.URL.Path == "/objects/free\x01") {
			t.Errorf("%s asks for the lock of what was not refused", r.URL)
		}
	}
}

func TestARefusalWithoutALockStaysARefusal(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		make func(*testing.T, wrapper) *s3.Client
		more wrapper
		want retention.Fate
	}{
		"Object Lock, and the version has none": {lockableBy(time.Now), nil, refused()},
		"no Object Lock":                        {local, nil, refused()},
		"a store that does not know locks":      {local, refuse(501, "NotImplemented", reading("legal-hold")), refused()},
		"a role that may not read the lock":     {lockableBy(time.Now), refuse(403, denied, reading("retention")), refused()},
		"the version is gone meanwhile": {
			lockableBy(time.Now), refuse(404, "NoSuchVersion", reading("legal-hold")), retention.Fate{Kind: retention.FateAbsent}},
		"the lock is throttled, so it is decided again": {
			lockableBy(time.Now), refuse(503, "SlowDown", reading("legal-hold")), retention.Fate{Kind: retention.FateTransient, Code: denied}},
		"the lock has no answer, so it is decided again": {
			lockableBy(time.Now), refuse(200, "", reading("retention")), retention.Fate{Kind: retention.FateTransient, Code: denied}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ws := []wrapper{denyAll(t)}
			if tt.more != nil {
				ws = append(ws, tt.more)
			}
			sdk := tt.make(t, chain(ws...))
			got, err := s3versions.New(sdk, "", time.Now).Delete(t.Context(), bucket, []retention.Version{
				{Key: "a", ID: put(t, sdk, "a")}, {Key: "marker", ID: "m", DeleteMarker: true},
			}, later())
			if diff := cmp.Diff([]retention.Fate{tt.want, refused()}, got); diff != "" || err != nil {
				t.Errorf("fates: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestARefusalForAnotherReasonIsNotExplainedByALock(t *testing.T) {
	t.Parallel()
	requests := &record{match: questions}
	sdk := lockable(t, locals3.Options{}, chain(refuse(400, "InvalidArgument", func(r *http.Request) bool { return r.Method == http.MethodDelete }), requests.wrap))
	id := putWith(t, sdk, "a\x01", func(in *s3.PutObjectInput) { in.ObjectLockLegalHoldStatus = types.ObjectLockLegalHoldStatusOn })
	got, err := s3versions.New(sdk, "", time.Now).Delete(t.Context(), bucket, []retention.Version{{Key: "a\x01", ID: id}}, later())
	if diff := cmp.Diff([]retention.Fate{{Kind: retention.FateRefused, Code: "InvalidArgument"}}, got); diff != "" || err != nil {
		t.Errorf("fates: %v (-want +got):\n%s", err, diff)
	}
	if n := len(requests.seen()); n > 0 {
		t.Errorf("%d locks were read, want none", n)
	}
}

func lockableBy(now func() time.Time) func(*testing.T, wrapper) *s3.Client {
	return func(t *testing.T, w wrapper) *s3.Client { return lockable(t, locals3.Options{Now: now}, w) }
}

func TestABucketWithoutObjectLockIsNotAskedForEachRefusedVersion(t *testing.T) {
	t.Parallel()
	requests := &record{match: questions}
	sdk := local(t, chain(denyAll(t), requests.wrap))
	vs, want := []retention.Version{}, []retention.Fate{}
	id := put(t, sdk, "a")
	for range s3versions.MaxDelete {
		vs, want = append(vs, retention.Version{Key: "a", ID: id}), append(want, refused())
	}
	got, err := s3versions.New(sdk, "", time.Now).Delete(t.Context(), bucket, vs, later())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("fates: %v (-want +got):\n%s", err, diff)
	}
	if n := len(requests.seen()); n == 0 || n > s3versions.MaxDelete/2 {
		t.Errorf("%d locks were read, want a few: the first answer says it for all", n)
	}
}

func TestARetentionThatHasJustEndedByOurClockExplainsARefusal(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 8, 30, 12, 0, 0, 0, time.UTC)
	end := start.Add(time.Hour)
	for name, tt := range map[string]struct {
		ours time.Time
		want retention.Fate
	}{
		"our clock is behind":              {end.Add(-time.Second), locked(retention.ReasonLockRetention)},
		"our clock is at the end":          {end, locked(retention.ReasonLockRetention)},
		"our clock is 59 s ahead":          {end.Add(59 * time.Second), locked(retention.ReasonLockRetention)},
		"the retention ended a minute ago": {end.Add(time.Minute), refused()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sdk := lockable(t, locals3.Options{Now: func() time.Time { return start }}, denyAll(t))
			id := putWith(t, sdk, "a", func(in *s3.PutObjectInput) {
				in.ObjectLockMode, in.ObjectLockRetainUntilDate = types.ObjectLockModeGovernance, &end
			})
			got, err := s3versions.New(sdk, "", func() time.Time { return tt.ours }).
				Delete(t.Context(), bucket, []retention.Version{{Key: "a", ID: id}}, tt.ours.Add(time.Second))
			if diff := cmp.Diff([]retention.Fate{tt.want}, got); diff != "" || err != nil {
				t.Errorf("fates: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestWhatWasDeletedIsToldAlsoWhenTimeEndsOverTheLocks(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	sdk := lockable(t, locals3.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if reading("legal-hold")(r) {
				cancel()
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	vs := []retention.Version{{Key: "free", ID: put(t, sdk, "free")}}
	want := []retention.Fate{{Kind: retention.FateDeleted}}
	for i := range 100 { // more than are asked at once
		key := fmt.Sprint(i)
		vs = append(vs, retention.Version{Key: key, ID: putWith(t, sdk, key, func(in *s3.PutObjectInput) {
			in.ObjectLockLegalHoldStatus = types.ObjectLockLegalHoldStatusOn
		})})
		want = append(want, retention.Fate{Kind: retention.FateTransient, Code: denied})
	}
	got, err := s3versions.New(sdk, "", time.Now).Delete(ctx, bucket, vs, later())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("fates: %v (-want +got):\n%s", err, diff)
	}
}

func TestMFADeleteIsNamed(t *testing.T) {
	t.Parallel()
	sdk := local(t, nil)
	plain := []retention.Version{{Key: "a", ID: put(t, sdk, "a")}}
	alone := []retention.Version{{Key: "a\x01", ID: put(t, sdk, "a\x01")}}
	wantMFA(t, sdk)
	c := s3versions.New(sdk, account, time.Now)
	if _, err := c.Delete(t.Context(), bucket, plain, later()); inbox.CategoryOf(err) != inbox.CategoryMFADelete {
		t.Errorf("a refused request: %v, want category %s", err, inbox.CategoryMFADelete)
	}
	got, err := c.Delete(t.Context(), bucket, alone, later())
	if diff := cmp.Diff([]retention.Fate{refused()}, got); diff != "" || err != nil {
		t.Errorf("a refused version: %v (-want +got):\n%s", err, diff)
	}
	if _, err := sdk.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String(bucket), Key: aws.String("a")}); err != nil {
		t.Errorf("the version is gone: %v", err)
	}
	listing := local(t, refuse(403, denied, reading("versions")))
	wantMFA(t, listing)
	if _, err := s3versions.New(listing, "", time.Now).Page(t.Context(), bucket, "", retention.Marker{}); inbox.CategoryOf(err) != inbox.CategoryAccessDenied {
		t.Errorf("a refused listing: %v, want category %s, for it needs no second factor", err, inbox.CategoryAccessDenied)
	}
	denying := local(t, refuse(403, denied, func(r *http.Request) bool { return deletingTogether(r) || reading("versioning")(r) }))
	if _, err := s3versions.New(denying, "", time.Now).Delete(t.Context(), bucket, plain, later()); inbox.CategoryOf(err) != inbox.CategoryAccessDenied {
		t.Errorf("nothing may be asked: %v, want category %s", err, inbox.CategoryAccessDenied)
	}
}

func TestADeleteOfItsOwnThatFailsIsSortedByItsCode(t *testing.T) {
	t.Parallel()
	alone := func(r *http.Request) bool { return r.Method == http.MethodDelete }
	settled := map[string]struct {
		status int
		code   string
		want   retention.Fate
	}{
		"SlowDown":        {503, "SlowDown", retention.Fate{Kind: retention.FateTransient, Code: "SlowDown"}},
		"InternalError":   {500, "InternalError", retention.Fate{Kind: retention.FateTransient, Code: "InternalError"}},
		"NoSuchVersion":   {404, "NoSuchVersion", retention.Fate{Kind: retention.FateAbsent}},
		"NoSuchKey":       {404, "NoSuchKey", retention.Fate{Kind: retention.FateAbsent}},
		"InvalidArgument": {400, "InvalidArgument", retention.Fate{Kind: retention.FateRefused, Code: "InvalidArgument"}},
	}
	vs := []retention.Version{{Key: "a\x01", ID: "1"}}
	for name, tt := range settled {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := s3versions.New(local(t, refuse(tt.status, tt.code, alone)), "", time.Now).Delete(t.Context(), bucket, vs, later())
			if diff := cmp.Diff([]retention.Fate{tt.want}, got); diff != "" || err != nil {
				t.Errorf("fates: %v (-want +got):\n%s", err, diff)
			}
		})
	}
	for code, f := range map[string]struct {
		status int
		want   inbox.Category
	}{
		"NoSuchBucket": {404, inbox.CategoryNoSuchBucket}, "PermanentRedirect": {301, inbox.CategoryWrongRegion},
		"InvalidAccessKeyId": {403, inbox.CategoryAccessDenied},
	} {
		fates, err := s3versions.New(local(t, refuse(f.status, code, alone)), "", time.Now).Delete(t.Context(), bucket, vs, later())
		if inbox.CategoryOf(err) != f.want || fates != nil {
			t.Errorf("%s is not about the version: fates %v, error %v, want category %s", code, fates, err, f.want)
		}
	}
	hangUp := local(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if alone(r) {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
	})
	fates, err := s3versions.New(hangUp, "", time.Now).Delete(t.Context(), bucket, vs, later())
	if inbox.CategoryOf(err) != inbox.CategoryUnavailable || fates != nil {
		t.Errorf("no answer: fates %v, error %v, want category %s", fates, err, inbox.CategoryUnavailable)
	}
}
