package deployed_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/deployed"
	"custody/internal/localaws/steady"
)

const key = "custody-check/canary-1"

// over is a canary whose S3 and Lambda are one handler.
func over(t *testing.T, answer http.HandlerFunc) deployed.Canary {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	who := credentials.NewStaticCredentialsProvider("test", "test", "")
	return deployed.Canary{
		Bucket: "objects", Function: "cleanup",
		Objects: s3.New(s3.Options{Region: "us-east-1", BaseEndpoint: &server.URL, UsePathStyle: true, Credentials: who, HTTPClient: steady.Client{}, RetryMaxAttempts: 1}),
		Lambda:  lambda.New(lambda.Options{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: who, HTTPClient: steady.Client{}, RetryMaxAttempts: 1}),
	}
}

func TestPutTellsWhatWasPutBeforeItWentWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		key    string
		answer http.HandlerFunc
		put    int
		want   string
	}{
		"a bucket without versioning": {key, func(http.ResponseWriter, *http.Request) {}, 0, "S3 gave no version id; the bucket's versioning is not enabled"},
		"a bucket whose versioning is suspended": {key, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Amz-Version-Id", "null") }, 0,
			"the bucket's versioning is not enabled"},
		"a store that makes no marker": {key, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Amz-Version-Id", "v") }, 2,
			"S3 does not say that it made one"},
		"no permission to put": {key, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, 0,
			"put custody-check/canary-1: the AWS credentials lack the permission s3:PutObject"},
		"no permission for the marker": {key, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Amz-Version-Id", "v")
			if r.Method == http.MethodDelete {
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, "<Error><Code>AccessDenied</Code></Error>")
			}
		}, 2, "put a delete marker over custody-check/canary-1: the AWS credentials lack the permission s3:DeleteObject (AccessDenied)"},
		"a key of somebody else": {"pod/wh-17/a", func(w http.ResponseWriter, r *http.Request) {
			if w.Header().Set("X-Amz-Version-Id", "v"); r.Method == http.MethodDelete {
				t.Error("the delete was sent")
			}
		}, 2, `"pod/wh-17/a" is not below custody-check/`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ids, err := over(t, test.answer).Put(t.Context(), test.key)
			if err == nil || !strings.Contains(err.Error(), test.want) || len(ids) != test.put {
				t.Errorf("put %v, error %v", ids, err)
			}
		})
	}
}

// What is no answer about the canary is none, however successful it looks.
func TestInvokeTakesNoOtherAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failed, payload string
		want            string
	}{
		"a function of an earlier version": {"", `{"batchItemFailures":null}`, "function cleanup says nothing of the canary"},
		"an answer about another key":      {"", `{"key":"custody-check/other","outcome":"done"}`, "says nothing of the canary"},
		"no JSON":                          {"", `done`, "function cleanup answers no JSON"},
		"a function that failed":           {"Unhandled", `{"errorMessage":"out of memory"}`, "function cleanup failed (Unhandled): out of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := over(t, func(w http.ResponseWriter, _ *http.Request) {
				if test.failed != "" {
					w.Header().Set("X-Amz-Function-Error", test.failed)
				}
				fmt.Fprint(w, test.payload)
			}).Invoke(t.Context(), key)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
			if _, failed := errors.AsType[*deployed.FunctionError](err); failed != (test.failed != "") {
				t.Errorf("error %T", err)
			}
		})
	}
}
