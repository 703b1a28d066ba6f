// Package s3versions lists and deletes versions of S3 buckets, with every version accounted for. It deletes by version id only:
// no request without one can be built here. Its errors have the inbox's categories.
// It may import the pure domain, s3errors and the AWS SDK.
package s3versions
