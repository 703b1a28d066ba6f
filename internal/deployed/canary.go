package deployed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"custody/internal/inbox"
)

// Canary puts canaries into the stack's bucket and has its cleanup function delete them.
type Canary struct {
	Objects  *s3.Client
	Bucket   string
	Lambda   *lambda.Client
	Function string
}

// canaryVersions is how many versions a canary has below its delete marker: two show that more than the newest goes.
const canaryVersions = 2

// Put puts a canary: two versions, and a delete marker over them. It returns their version ids, the marker's last. With an error
// they are those that were put.
func (c Canary) Put(ctx context.Context, key string) ([]string, error) {
	var ids []string
	for n := range canaryVersions {
		id, err := c.putVersion(ctx, key, n)
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	id, err := c.putMarker(ctx, key)
	if err != nil {
		return ids, err
	}
	return append(ids, id), nil
}

func (c Canary) putVersion(ctx context.Context, key string, n int) (string, error) {
	body := fmt.Sprintf("canary of custody check, version %d: the cleanup function deletes it at once\n", n+1)
	out, err := c.Objects.PutObject(ctx, &s3.PutObjectInput{Bucket: &c.Bucket, Key: &key, Body: strings.NewReader(body)})
	if err != nil {
		return "", failed(ctx, "put "+key, "s3:PutObject", err)
	}
	return versionID(key, out.VersionId)
}

// putMarker is the one request to delete without a version id in all of Custody's programs for a deployed stack. It deletes
// nothing: in a bucket with versioning it writes a delete marker, over versions of the key that Put has just made itself. The
// functions have neither such a request nor the permission for it.
func (c Canary) putMarker(ctx context.Context, key string) (string, error) {
	if !strings.HasPrefix(key, inbox.CanaryFolder) {
		return "", fmt.Errorf("put a delete marker: %q is not below %s", key, inbox.CanaryFolder)
	}
	out, err := c.Objects.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &c.Bucket, Key: &key})
	if err != nil {
		return "", failed(ctx, "put a delete marker over "+key, "s3:DeleteObject", err)
	}
	if !aws.ToBool(out.DeleteMarker) {
		return "", fmt.Errorf("put a delete marker over %s: S3 does not say that it made one", key)
	}
	return versionID(key, out.VersionId)
}

// versionID: without one there was no versioning, and nothing that can be deleted by version id.
func versionID(key string, id *string) (string, error) {
	if aws.ToString(id) == "" || aws.ToString(id) == "null" {
		return "", fmt.Errorf("put %s: S3 gave no version id; the bucket's versioning is not enabled", key)
	}
	return *id, nil
}

// FunctionError is a function that ran and failed, or did not come to run. It has answered nothing about its work.
type FunctionError struct{ Function, Kind, Message string }

func (e *FunctionError) Error() string {
	return fmt.Sprintf("function %s failed (%s): %s", e.Function, e.Kind, e.Message)
}

// Invoke has the function delete the canary, and returns what it says of it.
func (c Canary) Invoke(ctx context.Context, key string) (inbox.Canary, error) {
	event, err := json.Marshal(map[string]any{"canary": map[string]string{"key": key}})
	if err != nil {
		return inbox.Canary{}, fmt.Errorf("ask for %s: %w", key, err)
	}
	out, err := c.Lambda.Invoke(ctx, &lambda.InvokeInput{FunctionName: &c.Function, Payload: event})
	if err != nil {
		return inbox.Canary{}, failed(ctx, "invoke function "+c.Function, "lambda:InvokeFunction", err)
	}
	if kind := aws.ToString(out.FunctionError); kind != "" {
		var says struct {
			Message string `json:"errorMessage"`
		}
		_ = json.Unmarshal(out.Payload, &says) // another form has no message to show
		return inbox.Canary{}, &FunctionError{Function: c.Function, Kind: kind, Message: says.Message}
	}
	var answer inbox.Canary
	if err := json.Unmarshal(out.Payload, &answer); err != nil {
		return inbox.Canary{}, fmt.Errorf("function %s answers no JSON: %w", c.Function, err)
	}
	if answer.Key != key || answer.Outcome == "" {
		return inbox.Canary{}, fmt.Errorf("function %s says nothing of the canary: is it of a version before this tool's?", c.Function)
	}
	return answer, nil
}

// Left lists the version ids that the key still has.
func (c Canary) Left(ctx context.Context, key string) ([]string, error) {
	out, err := c.Objects.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: &c.Bucket, Prefix: &key})
	if err != nil {
		return nil, failed(ctx, "list the versions of "+key, "s3:ListBucketVersions", err)
	}
	left := []string{}
	for _, v := range out.Versions {
		if aws.ToString(v.Key) == key {
			left = append(left, aws.ToString(v.VersionId))
		}
	}
	for _, m := range out.DeleteMarkers {
		if aws.ToString(m.Key) == key {
			left = append(left, aws.ToString(m.VersionId))
		}
	}
	return left, nil
}

// DefaultRetention says in words how long the bucket's Object Lock keeps every new version; "" where it keeps none. A canary
// could not be deleted there, by nobody.
func (c Canary) DefaultRetention(ctx context.Context) (string, error) {
	out, err := c.Objects.GetObjectLockConfiguration(ctx, &s3.GetObjectLockConfigurationInput{Bucket: &c.Bucket})
	if api, answered := errors.AsType[smithy.APIError](err); answered && api.ErrorCode() == "ObjectLockConfigurationNotFoundError" {
		return "", nil
	}
	if err != nil {
		return "", failed(ctx, "read the Object Lock configuration of "+c.Bucket, "s3:GetBucketObjectLockConfiguration", err)
	}
	if out.ObjectLockConfiguration == nil || out.ObjectLockConfiguration.Rule == nil {
		return "", nil
	}
	return retentionWords(out.ObjectLockConfiguration.Rule.DefaultRetention), nil
}

func retentionWords(r *types.DefaultRetention) string {
	switch {
	case r == nil:
		return ""
	case aws.ToInt32(r.Years) > 0:
		return fmt.Sprintf("%d years in %s mode", *r.Years, r.Mode)
	case aws.ToInt32(r.Days) > 0:
		return fmt.Sprintf("%d days in %s mode", *r.Days, r.Mode)
	}
	return ""
}
