// Package s3versions lists and deletes versions of S3 buckets, with every version accounted for. It deletes by version id only:
// no request without one can be built here. Its errors have the inbox's categories.
// It may import the pure domain, s3errors and the AWS SDK.
//
// The SDK sends a CRC32 with DeleteObjects. A store that asks for Content-MD5 instead (case: VictoriaMetrics#10907) gets it when
// the SDK client is made with the option
//
//	o.APIOptions = append(o.APIOptions, smithyhttp.AddContentChecksumMiddleware)
//
// of smithy-go/transport/http; the CRC32 goes along. S3 itself takes either, so nothing here sets it.
package s3versions
