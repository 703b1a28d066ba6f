package s3

import (
	"net/http"
	"strings"
)

// admit looks at who asks. The signature itself is not verified: what the engine guards is memory.
func (e *Engine) admit(c *call) error {
	key, region, err := credential(c)
	if err != nil {
		return err
	}
	if key == "" {
		return accessDenied("Access Denied")
	}
	if e.accessKey != "" && key != e.accessKey {
		return fail(http.StatusForbidden, "InvalidAccessKeyId",
			"The AWS Access Key Id you provided does not exist in our records.").with("AWSAccessKeyId", key)
	}
	c.region, c.caller = region, e.accountOf(key)
	return nil
}

// accountOf is whose access key id it is: one of twelve digits is a key of the account of that number, any other one of the
// engine's own.
func (e *Engine) accountOf(key string) string {
	if isAccount(key) {
		return key
	}
	return e.account
}

// credential is the access key id of a request and the region it was signed for, from the header or
// from a presigned URL, in signature version 4 or 2; empty when the request is anonymous.
func credential(c *call) (key, region string, err error) {
	header := c.header("Authorization")
	switch {
	case header == "" && c.query.Get("X-Amz-Credential") != "":
		return scope(c.query.Get("X-Amz-Credential"))
	case header == "":
		return c.query.Get("AWSAccessKeyId"), "", nil
	case strings.HasPrefix(header, "AWS "):
		key, _, _ = strings.Cut(strings.TrimPrefix(header, "AWS "), ":")
		return key, "", nil
	}
	_, rest, found := strings.Cut(header, "Credential=")
	if !strings.HasPrefix(header, "AWS4-") || !found {
		return "", "", fail(http.StatusBadRequest, "InvalidArgument", "Unsupported Authorization Type")
	}
	value, _, _ := strings.Cut(rest, ",")
	return scope(strings.TrimSpace(value))
}

// scope splits KEY/DATE/REGION/s3/aws4_request.
func scope(credential string) (key, region string, err error) {
	parts := strings.Split(credential, "/")
	if len(parts) != 5 {
		return "", "", fail(http.StatusBadRequest, "AuthorizationHeaderMalformed",
			"The authorization header is malformed; the Credential is mal-formed; expecting \"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request\".")
	}
	return parts[0], parts[2], nil
}

// checkOwner compares x-amz-expected-bucket-owner, and who asks, with the bucket's owner. Without policies nobody is let into the
// bucket of another account, and the answer is the same for both.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-owner-condition.html
func (b *bucket) checkOwner(c *call) error {
	want := c.header("X-Amz-Expected-Bucket-Owner")
	switch {
	case c.caller == b.owner && (want == "" || want == b.owner):
		return nil
	case want != "" && !isAccount(want):
		return fail(http.StatusBadRequest, "InvalidBucketOwnerAWSAccountID",
			"The value of the expected bucket owner parameter must be an AWS Account ID")
	}
	return accessDenied("Access Denied")
}

func isAccount(s string) bool {
	return len(s) == 12 && strings.Trim(s, "0123456789") == ""
}

// checkRegion answers as S3 does when a bucket lives in another region than the request was signed
// for. A bucket made without a location answers everywhere, so that local work needs no region.
func (b *bucket) checkRegion(c *call) error {
	if b.location == "" || c.region == "" || c.region == b.location || c.op.selector == "location" {
		return nil
	}
	return fail(http.StatusMovedPermanently, "PermanentRedirect",
		"The bucket you are attempting to access must be addressed using the specified endpoint. Please send all future requests to this endpoint.").
		with("Endpoint", b.name+".s3."+b.location+".amazonaws.com").
		with("Bucket", b.name).
		carrying("X-Amz-Bucket-Region", b.location)
}
