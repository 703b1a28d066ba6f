package s3versions

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

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
var reference = regexp.MustCompile(`&#(x[0-9A-Fa-f]+|[0-9]+);`)

// wellFormed replaces each character that XML 1.0 does not have, written out or as a reference.
func wellFormed(document []byte) []byte {
	document = reference.ReplaceAllFunc(document, func(ref []byte) []byte {
		digits, base := string(ref[2:len(ref)-1]), 10
		if hex, is := strings.CutPrefix(digits, "x"); is {
			digits, base = hex, 16
		}
		if n, err := strconv.ParseInt(digits, base, 32); err == nil && inXML(rune(n)) {
			return ref
		}
		return []byte("\ufffd")
	})
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
