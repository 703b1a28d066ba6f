package nights_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/inbox"
	"custody/internal/localaws"
	"custody/internal/localaws/lambda"
)

// The report bucket that was deployed, whose it is, and the one that is meant.
const (
	wrongReports = "central-audit"
	stranger     = "210987654321"
	rightReports = "custody-reports"
)

// reportBucket: the parameter ReportBucket was set to a bucket that belongs to another account.
func reportBucket() night {
	gone, young := numbered("pod/wh-17/2026-05/", 9), numbered("pod/wh-17/2026-07/", 2)
	var deployed string // the file with the settings of the last deployment
	return night{
		settings: map[string]string{"CUSTODY_REPORT_BUCKET": wrongReports},
		functions: func(t *testing.T, _ *world) string {
			folder := t.TempDir()
			deployed = filepath.Join(folder, "deployed")
			deploysCleanup(t, folder, deployed)
			return folder
		},
		arrange: func(t *testing.T, w *world) {
			w.cloud.hasBuckets(t)
			w.belongsToAnother(t, wrongReports)
			w.put(t, "2026-05-10", gone...)
			w.put(t, "2026-07-20", young...)
			w.accepted(t, "d-1", "r-1", "2026-07-01T00:00:00Z")
			w.until(t, "r-1", "has failed", in(inbox.StateFailed))
		},
		events: map[string]func(*testing.T, *world){
			"ReportBucket is set right and deployed": func(t *testing.T, w *world) {
				w.left(t, slices.Concat(gone, young)...)
				if err := localaws.MakeBucket(t.Context(), w.stack.S3(), rightReports); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(deployed, []byte("export CUSTODY_REPORT_BUCKET="+rightReports+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				w.kill(t, "cleanup") // the next event gets an environment with the new settings
			},
			"the run is worked": func(t *testing.T, w *world) { w.until(t, "r-1", "is done", in(inbox.StateDone)) },
		},
		after: func(t *testing.T, w *world) {
			w.left(t, slices.Clone(young)...)
			theirs, err := w.as(stranger).ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: aws.String(wrongReports)})
			if err != nil || len(theirs.Versions) > 0 {
				t.Errorf("the bucket of the other account has %d objects, %v", len(theirs.Versions), err)
			}
		},
	}
}

// deploysCleanup fills a folder with the functions, whose cleanup starts with the settings of a file over its others.
func deploysCleanup(t *testing.T, folder, deployed string) {
	t.Helper()
	for _, name := range localaws.FunctionNames() {
		err := os.Mkdir(filepath.Join(folder, name), 0o700)
		path, function := filepath.Join(folder, name, "bootstrap"), filepath.Join(built(), name, "bootstrap")
		switch {
		case err != nil:
		case name == "cleanup":
			script := fmt.Sprintf("#!/bin/sh\n. '%s'\nexec '%s'\n", deployed, function)
			err = os.WriteFile(path, []byte(script), 0o700)
		default:
			err = os.Symlink(function, path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(deployed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// as is a client with a key of the account.
func (w *world) as(account string) *s3.Client {
	return s3.New(w.stack.S3().Options(), func(o *s3.Options) {
		o.Credentials = credentials.NewStaticCredentialsProvider(account, "local", "")
	})
}

// belongsToAnother makes a bucket that the local stack has made for itself that of another account.
func (w *world) belongsToAnother(t *testing.T, bucket string) {
	t.Helper()
	_, err := w.stack.S3().DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &bucket})
	if err == nil {
		_, err = w.as(stranger).CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// hasBuckets makes the cloud answer whose a bucket is, by what the local S3 says of it.
func (c *cloud) hasBuckets(t *testing.T) {
	t.Helper()
	c.outputs["ReportBucket"] = c.world.stack.Setting("CUSTODY_REPORT_BUCKET")
	c.answers["sts get-caller-identity"] = func([]string) (string, error) { return lambda.Account, nil }
	c.answers["s3api head-bucket"] = func(args []string) (string, error) {
		bucket, owner := flagOf(args, "--bucket"), flagOf(args, "--expected-bucket-owner")
		out, err := c.world.stack.S3().HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: &bucket, ExpectedBucketOwner: &owner})
		if err != nil {
			return "", fmt.Errorf("(403) when calling the HeadBucket operation: Forbidden")
		}
		return "BucketRegion: " + aws.ToString(out.BucketRegion), nil
	}
}
