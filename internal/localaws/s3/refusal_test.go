package s3_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

const (
	owner    = "000000000000"
	stranger = "111111111111"
	token    = "arn:aws:iam::000000000000:mfa/root 123456"
)

func refusalPromises() []promise {
	return []promise{
		{sentence: "another owner than expected is AccessDenied for every operation, and changes nothing", kept: wrongOwner},
		{sentence: "the expected owner is let in", kept: func(t testing.TB, s *store) error {
			if s.clock == nil {
				t.Skip("the account of this engine is not known")
			}
			b := s.versioned(t)
			_, err := s.ListObjectVersions(t.Context(), &sdk.ListObjectVersionsInput{Bucket: &b, ExpectedBucketOwner: aws.String(owner)})
			return refused(t, "listing", "", err)
		}},
		{sentence: "MFA delete keeps versions from everyone without a token", kept: mfaDelete},
		{sentence: "MFA delete is not shown until it was set, then Enabled, then Disabled", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			got := []types.MFADeleteStatus{s.versioning(t, b).MFADelete}
			for _, status := range []types.MFADelete{types.MFADeleteEnabled, types.MFADeleteDisabled} {
				_, err := s.PutBucketVersioning(t.Context(), withMFA(b, status, aws.String(token)))
				must(t, "set MFA delete", err)
				got = append(got, s.versioning(t, b).MFADelete)
			}
			return first(differ("MFADelete", []types.MFADeleteStatus{"", types.MFADeleteStatusEnabled, types.MFADeleteStatusDisabled}, got),
				differ("status", types.BucketVersioningStatusEnabled, s.versioning(t, b).Status))
		}},
		{sentence: "MFA delete can be set only with a token", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			_, err := s.PutBucketVersioning(t.Context(), withMFA(b, types.MFADeleteEnabled, nil))
			return refused(t, "setting it", "AccessDenied", err)
		}},
	}
}

func wrongOwner(t testing.TB, s *store) error {
	t.Helper()
	b, ctx, who := s.versioned(t), t.Context(), aws.String(stranger)
	key, id := aws.String("k"), aws.String(s.put(t, b, "k", "1"))
	_, list := s.ListObjectVersions(ctx, &sdk.ListObjectVersionsInput{Bucket: &b, ExpectedBucketOwner: who})
	_, batch := s.DeleteObjects(ctx, &sdk.DeleteObjectsInput{Bucket: &b, ExpectedBucketOwner: who,
		Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: key, VersionId: id}}}})
	_, del := s.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &b, Key: key, VersionId: id, ExpectedBucketOwner: who})
	_, put := s.PutObject(ctx, &sdk.PutObjectInput{Bucket: &b, Key: key, ExpectedBucketOwner: who})
	_, get := s.GetObject(ctx, &sdk.GetObjectInput{Bucket: &b, Key: key, ExpectedBucketOwner: who})
	_, versioning := s.GetBucketVersioning(ctx, &sdk.GetBucketVersioningInput{Bucket: &b, ExpectedBucketOwner: who})
	_, report := s.PutObject(ctx, &sdk.PutObjectInput{Bucket: &b, Key: aws.String("new"), IfNoneMatch: aws.String("*"), ExpectedBucketOwner: who})
	_, list2 := s.ListObjectsV2(ctx, &sdk.ListObjectsV2Input{Bucket: &b, ExpectedBucketOwner: who})
	marks := s.marksErrors(t, b, *key, *id, who)
	_, lock := s.GetObjectLockConfiguration(ctx, &sdk.GetObjectLockConfigurationInput{Bucket: &b, ExpectedBucketOwner: who})
	const want = "AccessDenied"
	return first(
		refused(t, "ListObjectVersions", want, list), refused(t, "DeleteObjects", want, batch), refused(t, "DeleteObject", want, del),
		refused(t, "PutObject", want, put), refused(t, "GetObject", want, get), refused(t, "GetBucketVersioning", want, versioning),
		refused(t, "PutObject If-None-Match", want, report), refused(t, "ListObjectsV2", want, list2), refused(t, "GetObjectLockConfiguration", want, lock),
		refused(t, "GetObjectTagging", want, marks.tags), refused(t, "GetObjectLegalHold", want, marks.hold), refused(t, "GetObjectRetention", want, marks.retention),
		differ("listing", contentsOf([]item{{"k", *id, false, true}}), s.everything(t, b)))
}

func withMFA(bucket string, status types.MFADelete, mfa *string) *sdk.PutBucketVersioningInput {
	return &sdk.PutBucketVersioningInput{Bucket: &bucket, MFA: mfa, VersioningConfiguration: &types.VersioningConfiguration{
		Status: types.BucketVersioningStatusEnabled, MFADelete: status,
	}}
}

func mfaDelete(t testing.TB, s *store) error {
	t.Helper()
	b, ctx := s.versioned(t), t.Context()
	id := s.put(t, b, "k", "1")
	_, err := s.PutBucketVersioning(ctx, withMFA(b, types.MFADeleteEnabled, aws.String(token)))
	must(t, "enable MFA delete", err)
	one := s.try(t, b, "k", id)
	_, batch := s.removeAll(t, b, false, item{Key: "k", ID: id})
	_, marked := s.removeAll(t, b, false, item{Key: "m"})
	_, off := s.PutBucketVersioning(ctx, withMFA(b, types.MFADeleteDisabled, nil))
	status := s.versioning(t, b).MFADelete
	_, with := s.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &b, Key: aws.String("k"), VersionId: &id, MFA: aws.String(token)})
	return first(
		differ("MFADelete", types.MFADeleteStatusEnabled, status),
		refused(t, "DeleteObject", "AccessDenied", one), refused(t, "DeleteObjects", "AccessDenied", batch),
		refused(t, "a delete marker", "", marked), refused(t, "turning it off", "AccessDenied", off), refused(t, "with a token", "", with))
}
