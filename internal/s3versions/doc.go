// Package s3versions lists and deletes versions of S3 buckets, with every version accounted for, and turns S3's errors into
// the inbox's categories. It deletes by version id only: no request without one can be built here.
// It may import the pure domain and the AWS SDK.
package s3versions
