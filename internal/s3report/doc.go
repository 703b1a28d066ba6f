// Package s3report keeps report objects in an S3 bucket: it writes each once, and reads back those of a run. Its
// errors have the inbox's categories and name the report bucket, since it is seldom the bucket of the run.
// Writing takes s3:PutObject alone, so that the function that deletes can neither read nor change the audit trail.
// It may import the pure domain, s3errors and the AWS SDK.
package s3report
