package lambda_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awslambda "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"

	"custody/internal/localaws/lambda"
	"custody/internal/localaws/steady"
)

// says answers each event in its own way.
type says func(event string) (lambda.Result, error)

func (s says) Invoke(_ context.Context, event []byte) (lambda.Result, error) { return s(string(event)) }

func TestEndpointSpeaksAsTheSDKHearsIt(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(lambda.Endpoint{"CleanupFunction": says(func(event string) (lambda.Result, error) {
		switch event {
		case `"fails"`:
			return lambda.Result{RequestID: "r", Payload: []byte(`{"errorMessage":"no"}`), FunctionError: lambda.Unhandled}, nil
		case `"busy"`:
			return lambda.Result{}, lambda.ErrThrottled
		case `"closed"`:
			return lambda.Result{}, lambda.ErrClosed
		}
		return lambda.Result{RequestID: "r", Payload: []byte("heard " + event)}, nil
	})})
	t.Cleanup(server.Close)
	client := awslambda.New(awslambda.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, HTTPClient: steady.Client{}, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	for _, test := range []struct {
		function, event string
		kind            types.InvocationType
		want            string
	}{
		{"CleanupFunction", `"hello"`, "", `heard "hello"`},
		{"CleanupFunction", `"hello"`, types.InvocationTypeRequestResponse, `heard "hello"`},
		{"CleanupFunction", `"fails"`, "", `Unhandled {"errorMessage":"no"}`},
		{"CleanupFunction", `"busy"`, "", "TooManyRequestsException"},
		{"CleanupFunction", `"closed"`, "", "ServiceException"},
		{"CleanupFunction", `"hello"`, types.InvocationTypeEvent, "NotImplemented"},
		{"OtherFunction", `"hello"`, "", "ResourceNotFoundException"},
	} {
		out, err := client.Invoke(t.Context(), &awslambda.InvokeInput{FunctionName: &test.function, Payload: []byte(test.event), InvocationType: test.kind})
		var got string
		if api, ok := errors.AsType[smithy.APIError](err); ok {
			got = api.ErrorCode()
		} else if err != nil {
			t.Fatal(err)
		} else if got = string(out.Payload); out.FunctionError != nil {
			got = aws.ToString(out.FunctionError) + " " + got
		}
		if got != test.want {
			t.Errorf("%s %s %s: %s, want %s", test.function, test.event, test.kind, got, test.want)
		}
	}
	if _, err := client.GetFunction(t.Context(), &awslambda.GetFunctionInput{FunctionName: aws.String("CleanupFunction")}); err == nil {
		t.Error("it answered GetFunction")
	}
}
