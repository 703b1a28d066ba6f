package s3versions_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	locals3 "custody/internal/localaws/s3"
	"custody/internal/retention"
	"custody/internal/s3versions"
)

// never is the local engine with one bucket whose versioning was never enabled.
func never(t *testing.T, wrap wrapper) *s3.Client {
	t.Helper()
	c := clientOf(t, wrap(locals3.New(locals3.Options{})))
	if _, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(bucket)}); err != nil {
		t.Fatal(err)
	}
	return c
}

// Null versions are listed and deleted by their name in each state that a bucket can come to have them in; whether they may be
// deleted there is for retention to say.
func TestANullVersionIsListedAndDeletedByItsNameAndNothingElseGoes(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]types.BucketVersioningStatus{
		"versioning enabled over it": types.BucketVersioningStatusEnabled, "suspended": types.BucketVersioningStatusSuspended,
	} {
		for _, odd := range []string{"", "\x01"} {
			t.Run(name+odd, func(t *testing.T) {
				t.Parallel()
				requests := &record{match: deletes}
				sdk := never(t, requests.wrap)
				key, other := "k"+odd, "other"+odd
				put(t, sdk, key) // the null version
				put(t, sdk, other)
				versioning(t, sdk, types.BucketVersioningStatusEnabled)
				newer := put(t, sdk, key)
				versioning(t, sdk, status)
				c := s3versions.New(sdk, account, time.Now)
				vs := all(t, c, key)
				if diff := cmp.Diff([]string{key + " " + newer, key + " null"}, names(vs)); diff != "" {
					t.Fatalf("listed (-want +got):\n%s", diff)
				}
				for range 2 { // the second time it is absent, which is success
					fates, err := c.Delete(t.Context(), bucket, []retention.Version{vs[1]}, later())
					if diff := cmp.Diff([]retention.Fate{{Kind: retention.FateDeleted}}, fates); diff != "" || err != nil {
						t.Errorf("fates: %v (-want +got):\n%s", err, diff)
					}
				}
				want := []string{key + " " + newer, other + " null"}
				if diff := cmp.Diff(want, names(all(t, c, ""))); diff != "" {
					t.Errorf("left behind (-want +got):\n%s", diff)
				}
				for _, r := range requests.seen() {
					if deletingTogether(r) == (odd != "") {
						t.Errorf("%s %s", r.Method, r.URL)
					}
				}
			})
		}
	}
}

// TestWhileABucketIsSuspendedTheNameNullPassesToWhatIsWrittenNext is why a null version is deleted only where versioning is
// Enabled: the same name stands for another object by the time the request arrives.
func TestWhileABucketIsSuspendedTheNameNullPassesToWhatIsWrittenNext(t *testing.T) {
	t.Parallel()
	sdk := local(t, nil)
	versioning(t, sdk, types.BucketVersioningStatusSuspended)
	put(t, sdk, "k")
	c := s3versions.New(sdk, account, time.Now)
	listed := all(t, c, "k")
	if _, err := sdk.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("k")}); err != nil { // young
		t.Fatal(err)
	}
	if diff := cmp.Diff(names(listed), names(all(t, c, "k"))); diff != "" {
		t.Errorf("the young object under its name (-before +now):\n%s", diff)
	}
	if _, err := c.Delete(t.Context(), bucket, listed, later()); err != nil {
		t.Fatal(err)
	}
	if left := all(t, c, "k"); len(left) > 0 {
		t.Errorf("%q are left: the young object has survived, and the rule could go", names(left))
	}
}

func TestAVersionWithoutAnIDIsNeverSentBeOneOfManyOrAlone(t *testing.T) {
	t.Parallel()
	requests := &record{}
	sdk := local(t, requests.wrap)
	requests.forget()
	c := s3versions.New(sdk, account, time.Now)
	for _, keys := range [][]string{{"a"}, {"a\x01"}, {"a", "b"}, {"a", "b\x01"}} {
		vs := []retention.Version{}
		for _, key := range keys {
			vs = append(vs, retention.Version{Key: key, ID: "null"})
		}
		for i := range vs {
			sent := slices.Clone(vs)
			sent[i].ID = ""
			if fates, err := c.Delete(t.Context(), bucket, sent, later()); err == nil || fates != nil {
				t.Errorf("%q without the id of %q: fates %+v, error %v", keys, keys[i], fates, err)
			}
		}
	}
	if n := len(requests.seen()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}
