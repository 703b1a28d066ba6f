package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"

	"custody/internal/config"
	"custody/internal/inbox"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/spf13/cobra"
)

// bucketName is one bucket, whose it is, and how both were given.
type bucketName struct {
	table        // its name; like a table's, it comes from a flag or a variable
	kind  string // "report bucket"
	owner table  // account id, "" for any
	mayDo string // the permissions that the command needs
}

// bucketFlags name a bucket and its owner.
type bucketFlags struct{ name, owner string }

func (f *bucketFlags) add(cmd *cobra.Command, prefix, what, variable string) {
	cmd.Flags().StringVar(&f.name, prefix, "", "`NAME` of the "+what+" (default: "+variable+")")
	cmd.Flags().StringVar(&f.owner, prefix+"-owner", "", "`ACCOUNT` that it must belong to (default: "+variable+"_OWNER, else any)")
}

func (f *bucketFlags) bucket(kind, prefix, variable, mayDo string) bucketName {
	return bucketName{
		table: named(f.name, "--"+prefix, variable), kind: kind, mayDo: mayDo,
		owner: named(f.owner, "--"+prefix+"-owner", variable+"_OWNER"),
	}
}

// check refuses a bucket without a name, or with one that S3 could not have given.
func (b bucketName) check() error {
	if b.name == "" {
		return usagef("which %s? Give %s, or set %s; a local stack's env file does: . ./local.env", b.kind, b.flag, b.variable)
	}
	for _, given := range []table{b.table, b.owner} {
		if err := config.Check(given.variable, given.name); err != nil {
			return usagef("%s: %w", given.flag, err)
		}
	}
	return nil
}

// sideBySide is how many requests about single versions are on their way, and a few more; the SDK keeps 10 connections.
const sideBySide = 48

// objects is a client of S3. An endpoint of one's own rarely has a host name for each bucket.
func (c *connection) objects() *s3.Client {
	return s3.NewFromConfig(c.aws, func(o *s3.Options) {
		o.UsePathStyle = o.BaseEndpoint != nil
		o.DisableLogOutputChecksumValidationSkipped = true // a line on stderr for each object of a store that keeps no checksums
		if whole, ok := o.HTTPClient.(wholeBodies); ok {
			if sdk, ok := whole.HTTPClient.(*awshttp.BuildableClient); ok {
				o.HTTPClient = wholeBodies{sdk.WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = sideBySide })}
			}
		}
	})
}

// failed reports whether the last call of some table failed.
func (c *connection) failed() bool {
	return slices.ContainsFunc(c.tables, func(w *watched) bool { return w.failure() != nil })
}

// explainBucket adds to an error of a bucket what to set or to look at.
func (c *connection) explainBucket(b bucketName, err error) error {
	if hint := c.bucketHint(b, err); hint != "" {
		return fmt.Errorf("%s: %w", hint, err)
	}
	return err
}

func (c *connection) bucketHint(b bucketName, err error) string {
	if err == nil || errors.Is(err, errInterrupted) || !isA[*inbox.Failure](err) {
		return ""
	}
	switch inbox.CategoryOf(err) {
	case inbox.CategoryNoSuchBucket:
		return fmt.Sprintf("there is no bucket %s; %s or %s names the %s", b.name, b.flag, b.variable, b.kind)
	case inbox.CategoryAccessDenied:
		hint := fmt.Sprintf("the AWS credentials may not do this with bucket %s: it takes %s; AWS_PROFILE chooses others", b.name, b.mayDo)
		if b.owner.name != "" {
			hint += fmt.Sprintf(". Or it does not belong to account %s, which %s or %s names", b.owner.name, b.owner.flag, b.owner.variable)
		}
		return hint
	case inbox.CategoryWrongOwner:
		return fmt.Sprintf("bucket %s does not belong to account %s, which %s or %s names", b.name, b.owner.name, b.owner.flag, b.owner.variable)
	case inbox.CategoryWrongRegion:
		return fmt.Sprintf("bucket %s is not in region %s, which AWS_REGION or AWS_PROFILE names", b.name, c.aws.Region)
	case inbox.CategoryUnavailable, inbox.CategoryThrottled:
		return c.silentS3()
	default:
		return ""
	}
}

func (c *connection) silentS3() string {
	if endpoint := os.Getenv("AWS_ENDPOINT_URL_S3"); endpoint != "" {
		return fmt.Sprintf("no answer from S3 at %s, which AWS_ENDPOINT_URL_S3 names; is that stack still there?", endpoint)
	}
	return fmt.Sprintf("S3 in region %s, which AWS_REGION or AWS_PROFILE names, does not answer, or says that it cannot now", c.aws.Region)
}
