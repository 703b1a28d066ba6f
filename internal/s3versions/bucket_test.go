package s3versions_test

import (
	"context"
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

const account = "000000000000" // of the local engine

func TestABucketIsWhatItsConfigurationSays(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		make func(*testing.T, *record) *s3.Client
		want retention.Bucket
	}{
		"versioning alone": {
			func(t *testing.T, r *record) *s3.Client { return local(t, r.wrap) },
			retention.Bucket{Versioning: retention.VersioningEnabled}},
		"suspended": {
			func(t *testing.T, r *record) *s3.Client {
				c := local(t, r.wrap)
				versioning(t, c, types.BucketVersioningStatusSuspended)
				return c
			},
			retention.Bucket{Versioning: retention.VersioningSuspended}},
		"never enabled": {
			func(t *testing.T, r *record) *s3.Client { return never(t, r.wrap) },
			retention.Bucket{Versioning: retention.VersioningNever}},
		"Object Lock": {
			func(t *testing.T, r *record) *s3.Client { return lockable(t, locals3.Options{}, r.wrap) },
			retention.Bucket{Versioning: retention.VersioningEnabled, ObjectLock: true}},
		"MFA delete": {
			func(t *testing.T, r *record) *s3.Client {
				c := local(t, r.wrap)
				wantMFA(t, c)
				return c
			},
			retention.Bucket{Versioning: retention.VersioningEnabled, MFADelete: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := &record{}
			c := s3versions.New(tt.make(t, requests), account, time.Now)
			requests.forget()
			got, err := c.Bucket(t.Context(), bucket)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("bucket (-want +got):\n%s", diff)
			}
			if n := len(requests.seen()); n != 2 {
				t.Errorf("%d requests, want 2: versioning and Object Lock", n)
			}
			requests.forget()
			state, err := c.Versioning(t.Context(), bucket)
			if err != nil || state != tt.want.Versioning || len(requests.seen()) != 1 {
				t.Errorf("versioning %q, %v in %d requests, want %q in 1", state, err, len(requests.seen()), tt.want.Versioning)
			}
		})
	}
}

// wantMFA switches MFA delete on. The engine takes any token.
func wantMFA(t *testing.T, c *s3.Client) {
	t.Helper()
	_, err := c.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: aws.String(bucket), MFA: aws.String("device 123456"),
		VersioningConfiguration: &types.VersioningConfiguration{
			Status: types.BucketVersioningStatusEnabled, MFADelete: types.MFADeleteEnabled,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestABucketThatCannotBeReadHasACategory(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault       wrapper
		owner, name string
		want        inbox.Category
	}{
		"no such bucket":             {nil, account, "absent-bucket", inbox.CategoryNoSuchBucket},
		"another owner":              {nil, "111111111111", bucket, inbox.CategoryWrongOwner},
		"another owner, no bucket":   {nil, "111111111111", "absent-bucket", inbox.CategoryNoSuchBucket},
		"versioning may not be read": {refuse(403, "AccessDenied", reading("versioning")), account, bucket, inbox.CategoryAccessDenied},
		"versioning may not be read, and no owner is expected": {
			refuse(403, "AccessDenied", reading("versioning")), "", bucket, inbox.CategoryAccessDenied},
		"another owner, and versioning may not be read": {
			refuse(403, "AccessDenied", reading("versioning")), "111111111111", bucket, inbox.CategoryAccessDenied},
		"Object Lock may not be read":      {refuse(403, "AccessDenied", reading("object-lock")), account, bucket, inbox.CategoryAccessDenied},
		"Object Lock is throttled":         {refuse(503, "SlowDown", reading("object-lock")), account, bucket, inbox.CategoryThrottled},
		"Object Lock fails":                {refuse(500, "InternalError", reading("object-lock")), account, bucket, inbox.CategoryUnavailable},
		"Object Lock is answered by a 404": {refuse(404, "NoSuchBucket", reading("object-lock")), account, bucket, inbox.CategoryNoSuchBucket},
		"an empty 200 is no answer":        {refuse(200, "", reading("object-lock")), account, bucket, inbox.CategoryUnavailable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := s3versions.New(local(t, tt.fault), tt.owner, time.Now).Bucket(t.Context(), tt.name)
			if err == nil || inbox.CategoryOf(err) != tt.want {
				t.Errorf("category %s of %v, want %s", inbox.CategoryOf(err), err, tt.want)
			}
			if got != (retention.Bucket{}) {
				t.Errorf("bucket %+v beside an error", got)
			}
		})
	}
}

// everything is every request that a slice makes, by name.
func everything(c *s3versions.Client) map[string]func(context.Context) error {
	v := []retention.Version{{Key: "a", ID: "null"}}
	return map[string]func(context.Context) error{
		"bucket": func(ctx context.Context) error { _, err := c.Bucket(ctx, bucket); return err },
		"page":   func(ctx context.Context) error { _, err := c.Page(ctx, bucket, "", retention.Marker{}); return err },
		"marks": func(ctx context.Context) error {
			_, err := c.Marks(ctx, bucket, v, retention.Ask{Tags: true, Locks: true})
			return err
		},
		"delete": func(ctx context.Context) error { _, err := c.Delete(ctx, bucket, v, later()); return err },
	}
}

func TestABucketThatIsNotThereOrNotOursIsNamedByEveryRequest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		client func(*testing.T) *s3.Client
		owner  string
		want   inbox.Category
	}{
		"no such bucket": {func(t *testing.T) *s3.Client { return clientOf(t, locals3.New(locals3.Options{})) }, account, inbox.CategoryNoSuchBucket},
		"another owner":  {func(t *testing.T) *s3.Client { return local(t, nil) }, "111111111111", inbox.CategoryWrongOwner},
		"another owner, and versioning may not be read": {
			func(t *testing.T) *s3.Client { return local(t, refuse(403, denied, reading("versioning"))) }, "111111111111", inbox.CategoryAccessDenied},
		"access denied to everything": {
			func(t *testing.T) *s3.Client {
				return local(t, refuse(403, denied, func(r *http.Request) bool { return r.Method != http.MethodPut }))
			}, account, inbox.CategoryAccessDenied},
		"access denied to everything but the versioning": {
			func(t *testing.T) *s3.Client {
				return local(t, refuse(403, denied, func(r *http.Request) bool { return r.Method != http.MethodPut && !reading("versioning")(r) }))
			}, account, inbox.CategoryAccessDenied},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for request, do := range everything(s3versions.New(tt.client(t), tt.owner, time.Now)) {
				if err := do(t.Context()); err == nil || inbox.CategoryOf(err) != tt.want {
					t.Errorf("%s: category %s of %v, want %s", request, inbox.CategoryOf(err), err, tt.want)
				}
			}
		})
	}
}

func TestABucketInAnotherRegionIsNamedAsSuch(t *testing.T) {
	t.Parallel()
	abroad := func(t *testing.T) *s3.Client { // the engine's own answer to a client that signs for us-east-1
		c := clientOf(t, locals3.New(locals3.Options{}))
		_, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{
			Bucket:                    aws.String(bucket),
			CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraintEuCentral1},
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	saying := func(status int, code string) func(*testing.T) *s3.Client {
		return func(t *testing.T) *s3.Client {
			return local(t, refuse(status, code, func(r *http.Request) bool { return r.Method != http.MethodPut }))
		}
	}
	tests := map[string]func(*testing.T) *s3.Client{
		"the local engine's bucket with a location": abroad,
		"301 PermanentRedirect":                     saying(301, "PermanentRedirect"),
		"301 without a body":                        saying(301, ""),
		"400 AuthorizationHeaderMalformed":          saying(400, "AuthorizationHeaderMalformed"),
		"400 IllegalLocationConstraintException":    saying(400, "IllegalLocationConstraintException"),
	}
	for name, client := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for request, do := range everything(s3versions.New(client(t), account, time.Now)) {
				if err := do(t.Context()); err == nil || inbox.CategoryOf(err) != inbox.CategoryWrongRegion {
					t.Errorf("%s: category %s of %v, want %s", request, inbox.CategoryOf(err), err, inbox.CategoryWrongRegion)
				}
			}
		})
	}
}
