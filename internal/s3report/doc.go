// Package s3report keeps report objects in an S3 bucket: it writes each once, and reads back those of a run. It turns S3's
// errors into the inbox's categories, with the report bucket named in every message, since it is seldom the bucket of the run.
// Writing takes s3:PutObject alone, so that the function that deletes can neither read nor change the audit trail.
// It may import the pure domain and the AWS SDK.
package s3report
