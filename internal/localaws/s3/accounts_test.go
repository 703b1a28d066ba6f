package s3_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
)

// of is a client with a key of the account.
func (s *store) of(account string) *sdk.Client {
	o := s.Options()
	o.Credentials = credentials.NewStaticCredentialsProvider(account, "test", "")
	return sdk.New(o)
}

// Which key is whose is a rule of this engine; what follows from it is S3's.
func TestABucketIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	s := serveLocal(t)
	theirs, ctx := s.of(stranger), t.Context()
	b, key, nobody := aws.String("audit-of-another"), aws.String("k"), aws.String("222222222222")
	_, err := theirs.CreateBucket(ctx, &sdk.CreateBucketInput{Bucket: b})
	must(t, "create the other account's bucket", err)
	put := func(client *sdk.Client, expected *string) error {
		_, err := client.PutObject(ctx, &sdk.PutObjectInput{Bucket: b, Key: key, Body: strings.NewReader("x"), ExpectedBucketOwner: expected})
		return err
	}
	names := func(client *sdk.Client) []string {
		out, err := client.ListBuckets(ctx, &sdk.ListBucketsInput{})
		must(t, "list buckets", err)
		var all []string
		for _, bucket := range out.Buckets {
			all = append(all, aws.ToString(bucket.Name))
		}
		return all
	}
	_, taken := s.CreateBucket(ctx, &sdk.CreateBucketInput{Bucket: b})
	_, twice := theirs.CreateBucket(ctx, &sdk.CreateBucketInput{Bucket: b})
	_, emptied := s.DeleteBucket(ctx, &sdk.DeleteBucketInput{Bucket: b})
	for _, problem := range []error{
		refused(t, "making it again", "BucketAlreadyExists", taken),
		refused(t, "its owner making it again", "BucketAlreadyOwnedByYou", twice),
		refused(t, "putting there", "AccessDenied", put(s.Client, nil)),
		refused(t, "putting there with one's own account expected", "AccessDenied", put(s.Client, aws.String(owner))),
		refused(t, "putting there with its owner expected", "AccessDenied", put(s.Client, aws.String(stranger))),
		refused(t, "deleting it", "AccessDenied", emptied),
		refused(t, "its owner putting there", "", put(theirs, aws.String(stranger))),
		refused(t, "its owner putting there with a third account expected", "AccessDenied", put(theirs, nobody)),
		differ("whose it is lists it", []string{*b}, names(theirs)),
		differ("nobody else does", []string(nil), names(s.Client)),
	} {
		if problem != nil {
			t.Error(problem)
		}
	}
}
