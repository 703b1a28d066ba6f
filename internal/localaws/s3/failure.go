package s3

import (
	"fmt"
	"maps"
	"net/http"
)

// failure is an S3 error: HTTP status, code, message, and the elements that S3 adds for this code.
// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
type failure struct {
	status        int
	code, message string
	elements      []element
	header        http.Header
}

// element is one child of the error document.
type element struct{ name, value string }

func (f *failure) Error() string { return f.code + ": " + f.message }

func fail(status int, code, message string) *failure {
	return &failure{status: status, code: code, message: message}
}

// with adds an element to the error document.
func (f *failure) with(name, value string) *failure {
	f.elements = append(f.elements, element{name, value})
	return f
}

// carrying adds a header to the error answer.
func (f *failure) carrying(name, value string) *failure {
	if f.header == nil {
		f.header = http.Header{}
	}
	f.header.Set(name, value)
	return f
}

func (f *failure) reply(resource, requestID string) reply {
	header := http.Header{}
	maps.Copy(header, f.header)
	if f.status == http.StatusNotModified {
		return reply{status: f.status, header: header}
	}
	header.Set("Content-Type", "application/xml")
	d := newDocument()
	d.open("Error")
	d.text("Code", f.code)
	d.text("Message", f.message)
	for _, e := range f.elements {
		d.text(e.name, e.value)
	}
	d.text("Resource", resource)
	d.text("RequestId", requestID)
	d.text("HostId", "local/"+requestID)
	d.close("Error")
	return reply{status: f.status, header: header, body: d.bytes()}
}

// notImplemented names what the engine was asked for and does not have.
func notImplemented(format string, args ...any) *failure {
	return fail(http.StatusNotImplemented, "NotImplemented", "the local S3 does not implement "+fmt.Sprintf(format, args...))
}

// invalidArgument has the argument's name and value as elements of their own, as S3 has.
func invalidArgument(name, value, message string) *failure {
	return fail(http.StatusBadRequest, "InvalidArgument", message).with("ArgumentName", name).with("ArgumentValue", value)
}

func invalidRequest(message string) *failure {
	return fail(http.StatusBadRequest, "InvalidRequest", message)
}

func malformedXML() *failure {
	return fail(http.StatusBadRequest, "MalformedXML",
		"The XML you provided was not well-formed or did not validate against our published schema")
}

func accessDenied(message string) *failure {
	return fail(http.StatusForbidden, "AccessDenied", message)
}

func noSuchBucket(name string) *failure {
	return fail(http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist").with("BucketName", name)
}

func noSuchKey(key string) *failure {
	return fail(http.StatusNotFound, "NoSuchKey", "The specified key does not exist.").with("Key", key)
}

func noSuchVersion(key, id string) *failure {
	return fail(http.StatusNotFound, "NoSuchVersion", "The specified version does not exist.").with("Key", key).with("VersionId", id)
}

// methodNotAllowed is S3's answer to reading a delete marker by its version id.
func methodNotAllowed(v *version) *failure {
	return fail(http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource.").
		with("ResourceType", "DeleteMarker").
		carrying("X-Amz-Delete-Marker", "true").
		carrying("X-Amz-Version-Id", v.id).
		carrying("Last-Modified", v.modified.UTC().Format(http.TimeFormat)).
		carrying("Allow", http.MethodDelete)
}
