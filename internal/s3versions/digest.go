package s3versions

import (
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"custody/internal/s3errors"
)

// wantsMD5 reports that a store asks for a Content-MD5, and so has deleted nothing. S3 asks for any digest, and the SDK sends a
// CRC32; other stores, and older versions of them, take nothing but an MD5 (VictoriaMetrics#10907, aws-sdk-go-v2#3258). Their codes
// are InvalidRequest, MissingContentMD5 and more, so that only the text tells. A digest that was sent and is wrong is another thing.
func wantsMD5(err error) bool {
	code := s3errors.Code(err)
	return s3errors.Status(err) == http.StatusBadRequest && code != "BadDigest" && code != "InvalidDigest" &&
		strings.Contains(strings.ToLower(err.Error()), "md5")
}

// withMD5 sends a Content-MD5 beside the CRC32. It is not sent until a store asks: S3 does not need it, and where Go is held to
// FIPS 140 MD5 cannot be computed.
func withMD5(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, smithyhttp.AddContentChecksumMiddleware)
}
