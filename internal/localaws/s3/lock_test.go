package s3_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// lockable makes a bucket with Object Lock.
func (s *store) lockable(t testing.TB) string {
	t.Helper()
	name := bucketName(t, int(buckets.Add(1)))
	_, err := s.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: &name, ObjectLockEnabledForBucket: aws.Bool(true)})
	must(t, "create bucket", err)
	return name
}

func (s *store) hold(t testing.TB, bucket, key, id string, status types.ObjectLockLegalHoldStatus) error {
	t.Helper()
	_, err := s.PutObjectLegalHold(t.Context(), &sdk.PutObjectLegalHoldInput{
		Bucket: &bucket, Key: &key, VersionId: &id, LegalHold: &types.ObjectLockLegalHold{Status: status},
	})
	return err
}

func (s *store) retain(t testing.TB, bucket, key, id string, mode types.ObjectLockRetentionMode, until time.Time, bypass bool) error {
	t.Helper()
	_, err := s.PutObjectRetention(t.Context(), &sdk.PutObjectRetentionInput{
		Bucket: &bucket, Key: &key, VersionId: &id, BypassGovernanceRetention: aws.Bool(bypass),
		Retention: &types.ObjectLockRetention{Mode: mode, RetainUntilDate: &until},
	})
	return err
}

// marksErrors are what reading the marks of one version is answered; an empty id is the current version.
func (s *store) marksErrors(t testing.TB, bucket, key, id string, owner *string) (e struct{ tags, hold, retention error }) {
	t.Helper()
	var version *string
	if id != "" {
		version = &id
	}
	_, e.tags = s.GetObjectTagging(t.Context(), &sdk.GetObjectTaggingInput{Bucket: &bucket, Key: &key, VersionId: version, ExpectedBucketOwner: owner})
	_, e.hold = s.GetObjectLegalHold(t.Context(), &sdk.GetObjectLegalHoldInput{Bucket: &bucket, Key: &key, VersionId: version, ExpectedBucketOwner: owner})
	_, e.retention = s.GetObjectRetention(t.Context(), &sdk.GetObjectRetentionInput{Bucket: &bucket, Key: &key, VersionId: version, ExpectedBucketOwner: owner})
	return e
}

// removeBypassing deletes one version with the governance bypass.
func (s *store) removeBypassing(t testing.TB, bucket, key, id string) error {
	t.Helper()
	_, err := s.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: &bucket, Key: &key, VersionId: &id, BypassGovernanceRetention: aws.Bool(true)})
	return err
}

// try deletes one version.
func (s *store) try(t testing.TB, bucket, key, id string) error {
	t.Helper()
	_, err := s.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: &bucket, Key: &key, VersionId: &id})
	return err
}

// tomorrow is a day from now on the engine's clock.
func (s *store) tomorrow() time.Time {
	if s.clock != nil {
		return s.clock.Now().Add(24 * time.Hour)
	}
	return time.Now().Add(24 * time.Hour).Truncate(time.Second)
}

const (
	governance = types.ObjectLockRetentionModeGovernance
	compliance = types.ObjectLockRetentionModeCompliance
)

func lockPromises() []promise {
	return slices.Concat(lockBucketPromises(), holdPromises(), retentionPromises())
}

func lockBucketPromises() []promise {
	return []promise{
		{sentence: "Object Lock brings versioning, which cannot be suspended then", kept: func(t testing.TB, s *store) error {
			b := s.lockable(t)
			_, err := s.PutBucketVersioning(t.Context(), &sdk.PutBucketVersioningInput{
				Bucket: &b, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusSuspended},
			})
			return first(differ("status", types.BucketVersioningStatusEnabled, s.versioning(t, b).Status), refused(t, "suspending", "InvalidBucketState", err))
		}},
		{sentence: "a bucket says whether it has Object Lock", kept: func(t testing.TB, s *store) error {
			b, plain := s.lockable(t), s.versioned(t)
			out, err := s.GetObjectLockConfiguration(t.Context(), &sdk.GetObjectLockConfigurationInput{Bucket: &b})
			must(t, "get", err)
			_, none := s.GetObjectLockConfiguration(t.Context(), &sdk.GetObjectLockConfigurationInput{Bucket: &plain})
			return first(differ("with", types.ObjectLockEnabledEnabled, out.ObjectLockConfiguration.ObjectLockEnabled),
				refused(t, "without", "ObjectLockConfigurationNotFoundError", none))
		}},
		{sentence: "a default retention protects what is written", clock: true, kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			_, err := s.PutObjectLockConfiguration(t.Context(), &sdk.PutObjectLockConfigurationInput{Bucket: &b, ObjectLockConfiguration: &types.ObjectLockConfiguration{
				ObjectLockEnabled: types.ObjectLockEnabledEnabled,
				Rule:              &types.ObjectLockRule{DefaultRetention: &types.DefaultRetention{Mode: compliance, Days: aws.Int32(3)}},
			}})
			must(t, "put lock configuration", err)
			id := s.put(t, b, "k", "")
			early := s.try(t, b, "k", id)
			s.clock.move(3 * 24 * time.Hour)
			return first(refused(t, "within", "AccessDenied", early), refused(t, "after", "", s.try(t, b, "k", id)))
		}},
		{sentence: "locks on a bucket without Object Lock are refused", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			id := s.put(t, b, "k", "")
			_, err := s.GetObjectLegalHold(t.Context(), &sdk.GetObjectLegalHoldInput{Bucket: &b, Key: aws.String("k")})
			return first(
				refused(t, "a hold", "InvalidRequest", s.hold(t, b, "k", id, types.ObjectLockLegalHoldStatusOn)),
				refused(t, "a retention", "InvalidRequest", s.retain(t, b, "k", id, governance, s.tomorrow(), false)),
				refused(t, "reading a hold", "InvalidRequest", err))
		}},
	}
}

func holdPromises() []promise {
	const on, off = types.ObjectLockLegalHoldStatusOn, types.ObjectLockLegalHoldStatusOff
	return []promise{
		{sentence: "a version that never had a lock has none to show", kept: func(t testing.TB, s *store) error {
			b := s.lockable(t)
			s.put(t, b, "k", "")
			_, hold := s.GetObjectLegalHold(t.Context(), &sdk.GetObjectLegalHoldInput{Bucket: &b, Key: aws.String("k")})
			_, retention := s.GetObjectRetention(t.Context(), &sdk.GetObjectRetentionInput{Bucket: &b, Key: aws.String("k")})
			return first(refused(t, "hold", "NoSuchObjectLockConfiguration", hold), refused(t, "retention", "NoSuchObjectLockConfiguration", retention))
		}},
		{sentence: "a hold is that of its version alone, and is shown when it is off", kept: func(t testing.TB, s *store) error {
			b := s.lockable(t)
			old, newer := s.put(t, b, "k", "1"), s.put(t, b, "k", "2")
			must(t, "hold", s.hold(t, b, "k", old, on))
			must(t, "no hold", s.hold(t, b, "k", newer, off))
			a, err := s.GetObjectLegalHold(t.Context(), &sdk.GetObjectLegalHoldInput{Bucket: &b, Key: aws.String("k"), VersionId: &old})
			must(t, "get hold", err)
			c, err := s.GetObjectLegalHold(t.Context(), &sdk.GetObjectLegalHoldInput{Bucket: &b, Key: aws.String("k"), VersionId: &newer})
			must(t, "get the other", err)
			return first(differ("old", on, a.LegalHold.Status), differ("newer", off, c.LegalHold.Status))
		}},
		{sentence: "the locks of a delete marker are MethodNotAllowed", kept: func(t testing.TB, s *store) error {
			b := s.lockable(t)
			marker := s.marksErrors(t, b, "m", s.mark(t, b, "m"), nil)
			return first(refused(t, "hold", "MethodNotAllowed", marker.hold), refused(t, "retention", "MethodNotAllowed", marker.retention))
		}},
		{sentence: "locks of an absent version are NoSuchVersion, of an absent key NoSuchKey", kept: func(t testing.TB, s *store) error {
			b := s.lockable(t)
			version := s.marksErrors(t, b, "k", s.gone(t, b, "k"), nil)
			key := s.marksErrors(t, b, "k", "", nil)
			return first(
				refused(t, "hold of a version", "NoSuchVersion", version.hold), refused(t, "retention of a version", "NoSuchVersion", version.retention),
				refused(t, "hold of a key", "NoSuchKey", key.hold), refused(t, "retention of a key", "NoSuchKey", key.retention))
		}},
		{sentence: "a legal hold keeps one version until it is off, bypass or not", kept: func(t testing.TB, s *store) error {
			b := s.lockable(t)
			held, free := s.put(t, b, "k", "1"), s.put(t, b, "k", "2")
			must(t, "hold", s.hold(t, b, "k", held, on))
			out, err := s.GetObjectLegalHold(t.Context(), &sdk.GetObjectLegalHoldInput{Bucket: &b, Key: aws.String("k"), VersionId: &held})
			must(t, "get hold", err)
			plain, bypassed, other := s.try(t, b, "k", held), s.removeBypassing(t, b, "k", held), s.try(t, b, "k", free)
			must(t, "hold off", s.hold(t, b, "k", held, off))
			return first(differ("status", on, out.LegalHold.Status), refused(t, "it", "AccessDenied", plain), refused(t, "it with bypass", "AccessDenied", bypassed),
				refused(t, "the other", "", other), refused(t, "it when off", "", s.try(t, b, "k", held)))
		}},
		{sentence: "DeleteObjects refuses the locked versions by name and deletes the others", kept: func(t testing.TB, s *store) error {
			b := s.lockable(t)
			held, retained, free := s.put(t, b, "a", ""), s.put(t, b, "b", ""), s.put(t, b, "c", "")
			must(t, "hold", s.hold(t, b, "a", held, on))
			must(t, "retain", s.retain(t, b, "b", retained, governance, s.tomorrow(), false))
			out, err := s.removeAll(t, b, false, item{Key: "a", ID: held}, item{Key: "b", ID: retained}, item{Key: "c", ID: free})
			must(t, "delete", err)
			want := []fate{{Key: "c", ID: free}, {Key: "a", ID: held, Code: "AccessDenied"}, {Key: "b", ID: retained, Code: "AccessDenied"}}
			left := []item{{"a", held, false, true}, {"b", retained, false, true}}
			return first(differ("fates", want, fatesOf(out)), differ("remaining", contentsOf(left), s.everything(t, b)))
		}},
		{sentence: "a lock does not stop a delete marker, and a delete marker has no lock", kept: func(t testing.TB, s *store) error {
			b := s.lockable(t)
			must(t, "hold", s.hold(t, b, "k", s.put(t, b, "k", ""), on))
			id := s.mark(t, b, "k")
			return first(refused(t, "a hold on the marker", "MethodNotAllowed", s.hold(t, b, "k", id, on)), refused(t, "deleting the marker", "", s.try(t, b, "k", id)))
		}},
	}
}

func retentionPromises() []promise {
	return []promise{
		{sentence: "a governance retention yields to the bypass and to nothing else", kept: func(t testing.TB, s *store) error {
			b := s.lockable(t)
			id := s.put(t, b, "k", "")
			until := s.tomorrow()
			must(t, "retain", s.retain(t, b, "k", id, governance, until, false))
			out, err := s.GetObjectRetention(t.Context(), &sdk.GetObjectRetentionInput{Bucket: &b, Key: aws.String("k"), VersionId: &id})
			must(t, "get", err)
			if out.Retention == nil {
				return errors.New("the answer has no retention")
			}
			return first(differ("mode", governance, out.Retention.Mode), differ("until", until.Unix(), aws.ToTime(out.Retention.RetainUntilDate).Unix()),
				refused(t, "plain", "AccessDenied", s.try(t, b, "k", id)), refused(t, "bypassed", "", s.removeBypassing(t, b, "k", id)))
		}},
		{sentence: "a compliance retention yields to nothing until its time is over", clock: true, kept: func(t testing.TB, s *store) error {
			b := s.lockable(t)
			id := s.put(t, b, "k", "")
			until := s.tomorrow()
			must(t, "retain", s.retain(t, b, "k", id, compliance, until, false))
			bypassed := s.removeBypassing(t, b, "k", id)
			s.clock.move(24*time.Hour - time.Second)
			early := s.try(t, b, "k", id)
			s.clock.move(time.Second)
			return first(refused(t, "bypassed", "AccessDenied", bypassed), refused(t, "a second early", "AccessDenied", early), refused(t, "at its end", "", s.try(t, b, "k", id)))
		}},
		{sentence: "a compliance retention can only become longer", kept: func(t testing.TB, s *store) error {
			b := s.lockable(t)
			id := s.put(t, b, "k", "")
			until := s.tomorrow()
			must(t, "retain", s.retain(t, b, "k", id, compliance, until, false))
			return first(
				refused(t, "shorter", "AccessDenied", s.retain(t, b, "k", id, compliance, until.Add(-time.Hour), true)),
				refused(t, "to governance", "AccessDenied", s.retain(t, b, "k", id, governance, until, true)),
				refused(t, "longer", "", s.retain(t, b, "k", id, compliance, until.Add(time.Hour), false)))
		}},
		{sentence: "a governance retention becomes shorter only with the bypass", kept: func(t testing.TB, s *store) error {
			b := s.lockable(t)
			id := s.put(t, b, "k", "")
			until := s.tomorrow()
			must(t, "retain", s.retain(t, b, "k", id, governance, until, false))
			return first(
				refused(t, "shorter", "AccessDenied", s.retain(t, b, "k", id, governance, until.Add(-time.Hour), false)),
				refused(t, "shorter, bypassed", "", s.retain(t, b, "k", id, governance, until.Add(-time.Hour), true)))
		}},
		{sentence: "a retention that ends in the past is refused", kept: func(t testing.TB, s *store) error {
			b := s.lockable(t)
			id := s.put(t, b, "k", "")
			return refused(t, "it", "InvalidArgument", s.retain(t, b, "k", id, governance, s.tomorrow().Add(-48*time.Hour), false))
		}},
		{sentence: "an object can be written with its locks", kept: func(t testing.TB, s *store) error {
			b := s.lockable(t)
			out, err := s.PutObject(t.Context(), &sdk.PutObjectInput{
				Bucket: &b, Key: aws.String("k"), Body: strings.NewReader("1"), ObjectLockMode: types.ObjectLockModeGovernance, ObjectLockRetainUntilDate: aws.Time(s.tomorrow()),
				ObjectLockLegalHoldStatus: types.ObjectLockLegalHoldStatusOn,
			})
			must(t, "put", err)
			head, err := s.HeadObject(t.Context(), &sdk.HeadObjectInput{Bucket: &b, Key: aws.String("k")})
			must(t, "head", err)
			return first(differ("mode", types.ObjectLockModeGovernance, head.ObjectLockMode), differ("hold", types.ObjectLockLegalHoldStatusOn, head.ObjectLockLegalHoldStatus),
				refused(t, "deleting it", "AccessDenied", s.removeBypassing(t, b, "k", aws.ToString(out.VersionId))))
		}},
	}
}
