package s3versions

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// legible makes error documents readable that XML 1.0 does not allow. S3 names the key in some of them; where the key has a
// character that XML cannot carry, the SDK gives up on the whole document, and a version that is gone looks like a server
// that is broken.
func legible(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Deserialize.Insert(
			middleware.DeserializeMiddlewareFunc("LegibleErrors", readLegibly), "OperationDeserializer", middleware.After)
	})
}

// mostError bounds an error document: a key of 1,024 bytes, each escaped, twice, and some text.
const mostError = 64 << 10

func readLegibly(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	middleware.DeserializeOutput, middleware.Metadata, error,
) {
	out, metadata, err := next.HandleDeserialize(ctx, in)
	response, ok := out.RawResponse.(*smithyhttp.Response)
	if err != nil || !ok || response.StatusCode < http.StatusMultipleChoices {
		return out, metadata, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, mostError))
	if err != nil {
		return out, metadata, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(wellFormed(body)), response.Body}
	return out, metadata, nil
}

// reference is a numeric character reference.
var reference = regexp.MustCompile(`&#[0-9A-Za-z]+;`)

// wellFormed replaces each character that XML 1.0 does not have, and every reference by number, which may be to one. What it
// takes from a document that was well-formed is part of a key at most; nothing but the log reads that.
func wellFormed(document []byte) []byte {
	document = reference.ReplaceAll(document, []byte("\ufffd"))
	return bytes.Map(func(r rune) rune {
		if inXML(r) {
			return r
		}
		return '\ufffd'
	}, document)
}

// inXML: https://www.w3.org/TR/xml/#charsets
func inXML(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r < 0xd800 || r > 0xdfff && r < 0xfffe || r > 0xffff && r <= 0x10ffff
}
