package invariants

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// answer is what an engine said; it is its own http.ResponseWriter.
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func newAnswer() *answer { return &answer{status: http.StatusOK, header: http.Header{}} }

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

func (a *answer) ok() bool { return a.status < http.StatusMultipleChoices }

// response is the answer as the SDK's HTTP client would have read it.
func (a *answer) response(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body.Bytes())), ContentLength: int64(a.body.Len()), Request: r,
	}
}

// serve lets the handler answer the request with the given body. The context of the caller stays behind: what has left it is
// not called back.
func serve(h http.Handler, r *http.Request, body []byte) *answer {
	sent := r.Clone(context.WithoutCancel(r.Context()))
	sent.Body, sent.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	a := newAnswer()
	h.ServeHTTP(a, sent)
	return a
}
