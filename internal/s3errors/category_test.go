package s3errors_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/localaws/steady"
	"custody/internal/s3errors"
)

// failing is the SDK's error for an answer, made by the SDK itself.
func failing(t *testing.T, answer http.HandlerFunc) error {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(func() { _ = server.Config.Close() })
	client := s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, UsePathStyle: true, RetryMaxAttempts: 1, HTTPClient: steady.Client{},
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	bucket := "objects"
	_, err := client.GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: &bucket})
	if err == nil {
		t.Fatal("the SDK took the answer for success")
	}
	return err
}

// saying answers with a status and, unless it is empty, an error document with the code.
func saying(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		if code != "" {
			_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>the text</Message></Error>")
		}
	}
}

func TestEveryAnswerHasACategory(t *testing.T) {
	t.Parallel()
	tests := map[inbox.Category]map[string]int{ // code, or what a status without one is called here, to status
		inbox.CategoryThrottled: {
			"SlowDown": 503, "Throttling": 400, "ThrottlingException": 400, "RequestLimitExceeded": 503,
			"TooManyRequestsException": 400, "KMS.ThrottlingException": 400, "": 429,
		},
		inbox.CategoryNoSuchBucket: {"NoSuchBucket": 404, "InvalidBucketName": 400},
		inbox.CategoryWrongOwner:   {"InvalidBucketOwnerAWSAccountID": 400},
		inbox.CategoryAccessDenied: {
			"AccessDenied": 403, "AllAccessDisabled": 403, "AccountProblem": 403, "InvalidAccessKeyId": 403,
			"SignatureDoesNotMatch": 403, "KMS.DisabledException": 400, "Surprise": 403, "": 403,
		},
		inbox.CategoryWrongRegion: {
			"PermanentRedirect": 301, "IllegalLocationConstraintException": 400, "AuthorizationHeaderMalformed": 400,
			"IncorrectEndpoint": 400, "Surprise": 301, "": 301,
		},
		inbox.CategoryUnavailable: {
			"InternalError": 500, "ServiceUnavailable": 503, "RequestTimeout": 400, "OperationAborted": 409,
			"ConditionalRequestConflict": 409, "RequestTimeTooSkewed": 403, "ExpiredToken": 400,
			"NotImplemented": 501, "Surprise": 500, "": 502,
		},
		inbox.CategoryInternal: {"MalformedXML": 400, "InvalidArgument": 400, "Surprise": 409, "NoSuchKey": 404},
	}
	for want, answers := range tests {
		for code, status := range answers {
			t.Run(fmt.Sprint(status, " ", code), func(t *testing.T) {
				t.Parallel()
				err := failing(t, saying(status, code))
				if got := s3errors.Category(err); got != want || s3errors.Status(err) != status {
					t.Errorf("category %s, status %d of %v, want %s and %d", got, s3errors.Status(err), err, want, status)
				}
				failure := s3errors.Translate(t.Context(), err)
				if code != "" && s3errors.Code(failure) != code || s3errors.Status(failure) != status {
					t.Errorf("code %q and status %d of the translated error", s3errors.Code(failure), s3errors.Status(failure))
				}
				if failure.Category != want || !strings.Contains(failure.Error(), code) {
					t.Errorf("translated: %v, want category %s and the code in the text", failure, want)
				}
			})
		}
	}
}

func TestWhatIsNoAnswerOfS3IsUnavailable(t *testing.T) {
	t.Parallel()
	tests := map[string]http.HandlerFunc{
		"the connection ends":              func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a document that breaks off":       func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<VersioningConfigura") },
		"a 200 with an error for its body": saying(http.StatusOK, "InternalError"),
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := failing(t, answer); s3errors.Category(err) != inbox.CategoryUnavailable {
				t.Errorf("category %s of %v, want %s", s3errors.Category(err), err, inbox.CategoryUnavailable)
			}
		})
	}
}

func TestTheVendorsTypesEndHere(t *testing.T) {
	t.Parallel()
	err := error(s3errors.Translate(t.Context(), failing(t, saying(404, "NoSuchKey"))))
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		t.Errorf("the SDK's %T is still there", api)
	}
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		t.Errorf("the SDK's %T is still there", response)
	}
	again := fmt.Errorf("read: %w", err)
	got := []string{s3errors.Code(again), s3errors.Code(errors.New("not of S3"))}
	if diff := cmp.Diff([]string{"NoSuchKey", ""}, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

func TestAnErrorBehindAnEndedContextIsThatOfItsCause(t *testing.T) {
	t.Parallel()
	why := errors.New("out of time")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	failure := s3errors.Translate(ctx, failing(t, saying(403, "AccessDenied")))
	if !errors.Is(failure, why) || failure.Category != inbox.CategoryUnavailable || s3errors.Code(failure) != "AccessDenied" {
		t.Errorf("error %v with code %q, want unavailable because of %v", failure, s3errors.Code(failure), why)
	}
}
