// Package s3errors gives S3's errors the inbox's categories, for the adapters that talk to S3. It owns what S3's codes mean
// wherever they come up; what follows from one is each adapter's own: a 403 may be a version that is gone, a missing second
// factor, or a report that cannot be written. It may import inbox and the AWS SDK, and only those adapters may import it.
package s3errors
