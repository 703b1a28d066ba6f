package webhook

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/signature"
)

// checkRoute is method, path and content encoding, in this order.
func (h *Handler) checkRoute(req events.LambdaFunctionURLRequest) error {
	if req.RequestContext.HTTP.Method != methodPost {
		return reject(statusMethodNotAllowed, "method must be POST")
	}
	if req.RawPath != h.Settings.Path {
		return reject(statusNotFound, "path must be "+h.Settings.Path)
	}
	for name, value := range req.Headers {
		// The signature covers what was sent, and nothing is ever inflated. Every casing of the header is looked at here,
		// since two of them are refused only behind the size.
		if strings.EqualFold(name, "Content-Encoding") && !strings.EqualFold(strings.TrimSpace(value), "identity") {
			return reject(statusUnsupportedMediaType, "Content-Encoding must be identity")
		}
	}
	return nil
}

const methodPost = "POST"

// body gives the exact bytes that were sent. The size is judged before anything is decoded.
func (h *Handler) body(req events.LambdaFunctionURLRequest) ([]byte, error) {
	if sentBytes(req) > h.Settings.MaxBodyBytes {
		return nil, reject(statusTooLarge, fmt.Sprintf("body must have at most %d bytes", h.Settings.MaxBodyBytes))
	}
	if req.Body == "" {
		return nil, reject(statusBadRequest, "body must not be empty")
	}
	if !req.IsBase64Encoded {
		return []byte(req.Body), nil
	}
	// Go's decoder skips line breaks even in strict mode; two texts for the same bytes are one too many.
	if strings.ContainsAny(req.Body, "\r\n") {
		return nil, reject(statusBadRequest, "body must be base64 without line breaks")
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(req.Body)
	if err != nil {
		return nil, reject(statusBadRequest, "body must be padded standard base64")
	}
	return decoded, nil
}

// sentBytes is the size of the body as it was sent, told from the length of its base64 form where it has one.
func sentBytes(req events.LambdaFunctionURLRequest) int {
	if !req.IsBase64Encoded {
		return len(req.Body)
	}
	padding := len(req.Body) - len(strings.TrimRight(req.Body, "="))
	return base64.StdEncoding.DecodedLen(len(req.Body)) - min(padding, 2)
}

// headerIndex looks headers up in any case. Lambda hands them over in lower case, once; two casings of one name in an event
// come from elsewhere, and whichever of them won, somebody would have read the other.
func headerIndex(headers map[string]string) (signature.Headers, error) {
	index := headers
	if !allLower(headers) {
		index = make(map[string]string, len(headers))
		for name, value := range headers {
			lower := strings.ToLower(name)
			if _, twice := index[lower]; twice {
				return nil, &signature.Error{
					Reason: signature.ReasonMalformed, Class: signature.ClassBadRequest, Detail: "a header must not come in two casings",
				}
			}
			index[lower] = value
		}
	}
	return func(name string) (string, bool) {
		value, present := index[strings.ToLower(name)]
		return value, present
	}, nil
}

func allLower(headers map[string]string) bool {
	for name := range headers {
		if name != strings.ToLower(name) {
			return false
		}
	}
	return true
}
