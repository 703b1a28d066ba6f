package check_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// direct answers requests of the SDK from a handler in the same goroutine: everything that the SDK does is done, and no network
// stands in between, so that a time that stands still stays exact (testing/synctest).
type direct struct {
	handler http.Handler
	takes   func(*http.Request) time.Duration // of a request; nil: none
}

// Do sends the request.
func (d direct) Do(r *http.Request) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{}) // who bounds the time until then would otherwise cut it off
	}
	if d.takes != nil {
		if err := pause(r.Context(), d.takes(r)); err != nil {
			return nil, err
		}
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	answer := answer{header: http.Header{}, status: http.StatusOK}
	d.handler.ServeHTTP(&answer, r)
	return &http.Response{
		StatusCode: answer.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: answer.header,
		Body: io.NopCloser(bytes.NewReader(answer.body.Bytes())), ContentLength: int64(answer.body.Len()), Request: r,
	}, nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// answer is an http.ResponseWriter.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

func someone() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("test", "test", "")
}

func s3Over(client s3.HTTPClient, endpoint string) *s3.Client {
	return s3.New(s3.Options{Region: "us-east-1", BaseEndpoint: &endpoint, UsePathStyle: true, Credentials: someone(), HTTPClient: client})
}

func dynamoDBOver(client dynamodb.HTTPClient, endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: someone(), HTTPClient: client})
}
