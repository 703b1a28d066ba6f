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
	table        // its name: like a table's, it comes from a flag, a variable or the stack
	kind  string // "report bucket"
	mayDo string // the permissions that the command needs

	owner     string // account id, "" for any
	ownerFrom string // in words
}

// bucketKind is one of the buckets of a stack.
type bucketKind struct{ kind, flag, variable, output, mayDo string }

// bucketFlags name a bucket and its owner.
type bucketFlags struct {
	bucketKind
	given, owner string
}

func (f *bucketFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.given, f.flag, "", "`NAME` of the "+f.kind+" (default: the stack's, else "+f.variable+")")
	cmd.Flags().StringVar(&f.owner, f.flag+"-owner", "", "`ACCOUNT` that it must belong to\n(default: the stack's, else "+f.variable+"_OWNER, else any)")
}

// bucket is the bucket with its name, which must be there. Where a stack is named, that has to be read before.
func (f *bucketFlags) bucket(tables *tableFlags) (bucketName, error) {
	owner := f.variable + "_OWNER"
	b := bucketName{kind: f.kind, mayDo: f.mayDo, owner: firstOf(f.owner, tables.stack.setting(owner)),
		ownerFrom: "--" + f.flag + "-owner, " + owner + " or the stack names that account"}
	var err error
	if b.table, err = tables.named(f.given, "--"+f.flag, f.variable, f.output); err != nil {
		return b, err
	}
	if b.name == "" {
		return b, usagef("which %s? Give --stack or %s, or set %s; a local stack's env file does: . ./local.env", b.kind, b.flag, b.variable)
	}
	if err := config.Check(f.variable, b.name); err != nil {
		return b, usagef("%s: %w", b.flag, err)
	}
	if err := config.Check(owner, b.owner); err != nil {
		return b, usagef("%s-owner: %w", b.flag, err)
	}
	return b, nil
}

// setting is what the stack or the environment says of a setting, "" where neither does. As elsewhere, the stack goes first where
// the command line names it, with an empty one too.
func (f *stackFlag) setting(variable string) string {
	setting, _ := config.Lookup(variable)
	of, known := f.parameter(setting.Parameter())
	if value := os.Getenv(variable); value != "" && (f.given == "" || !known) {
		return value
	}
	return of
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
		return fmt.Sprintf("there is no bucket %s; %s", b.name, b.from)
	case inbox.CategoryAccessDenied:
		hint := fmt.Sprintf("the AWS credentials may not do this with bucket %s: it takes %s; AWS_PROFILE chooses others", b.name, b.mayDo)
		if b.owner != "" {
			hint += fmt.Sprintf(". Or it does not belong to account %s; %s", b.owner, b.ownerFrom)
		}
		return hint
	case inbox.CategoryWrongOwner:
		return fmt.Sprintf("bucket %s does not belong to account %s; %s", b.name, b.owner, b.ownerFrom)
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
