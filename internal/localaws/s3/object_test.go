package s3_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/transport/http"
)

// answer is the HTTP answer behind an error.
func answer(t testing.TB, err error) *http.Response {
	t.Helper()
	response, ok := errors.AsType[*http.ResponseError](err)
	if !ok {
		t.Fatalf("no HTTP answer: %v", err)
	}
	return response.Response
}

// onlyOneWrite lets writers race. S3 answers the losers 412, or 409 ConditionalRequestConflict while the winner is on its way
// (userguide, conditional-writes).
func onlyOneWrite(t testing.TB, s *store) error {
	t.Helper()
	b := s.versioned(t)
	const writers = 8
	errs := make([]error, writers)
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			_, errs[i] = s.PutObject(t.Context(), &sdk.PutObjectInput{
				Bucket: &b, Key: aws.String("k"), IfNoneMatch: aws.String("*"), Body: strings.NewReader(fmt.Sprint(i)),
			})
		})
	}
	group.Wait()
	var stored []string
	for i, err := range errs {
		if c := code(t, err); c == "" {
			stored = append(stored, fmt.Sprint(i))
		} else if c != "PreconditionFailed" && c != "ConditionalRequestConflict" {
			return fmt.Errorf("writer %d: %w", i, err)
		}
	}
	return first(differ("stored", []string{s.current(t, b, "k")}, stored), differ("versions", 1, len(s.everything(t, b).Versions)))
}

func objectPromises() []promise {
	return []promise{
		{sentence: "an object comes back with its type, metadata, tag count, checksum and version id", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			put, err := s.PutObject(t.Context(), &sdk.PutObjectInput{
				Bucket: &b, Key: aws.String("k"), Body: strings.NewReader("hello"), ContentType: aws.String("image/png"),
				Metadata: map[string]string{"driver": "d-7"}, Tagging: aws.String("a=1&b=2"), ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
			})
			must(t, "put", err)
			out, err := s.GetObject(t.Context(), &sdk.GetObjectInput{Bucket: &b, Key: aws.String("k"), ChecksumMode: types.ChecksumModeEnabled})
			must(t, "get", err)
			data, err := io.ReadAll(out.Body)
			must(t, "read", err)
			return first(
				differ("body", "hello", string(data)), differ("type", "image/png", aws.ToString(out.ContentType)),
				differ("metadata", map[string]string{"driver": "d-7"}, out.Metadata), differ("tags", int32(2), aws.ToInt32(out.TagCount)),
				differ("version id", aws.ToString(put.VersionId), aws.ToString(out.VersionId)),
				differ("checksum", aws.ToString(put.ChecksumSHA256), aws.ToString(out.ChecksumSHA256)),
				differ("etag", `"5d41402abc4b2a76b9719d911017c592"`, aws.ToString(out.ETag)))
		}},
		{sentence: "a range is cut out, one behind the end is refused", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			s.put(t, b, "k", "0123456789")
			got := map[string]string{}
			for _, r := range []string{"bytes=2-4", "bytes=7-", "bytes=-3", "bytes=0-99"} {
				out, err := s.GetObject(t.Context(), &sdk.GetObjectInput{Bucket: &b, Key: aws.String("k"), Range: &r})
				must(t, r, err)
				data, err := io.ReadAll(out.Body)
				must(t, r, err)
				got[r] = string(data) + " " + aws.ToString(out.ContentRange)
			}
			_, err := s.GetObject(t.Context(), &sdk.GetObjectInput{Bucket: &b, Key: aws.String("k"), Range: aws.String("bytes=10-")})
			return first(refused(t, "bytes=10-", "InvalidRange", err), differ("ranges", map[string]string{
				"bytes=2-4": "234 bytes 2-4/10", "bytes=7-": "789 bytes 7-9/10", "bytes=-3": "789 bytes 7-9/10", "bytes=0-99": "0123456789 bytes 0-9/10",
			}, got))
		}},
		{sentence: "a key under a delete marker is NoSuchKey and the answer says why", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			s.put(t, b, "k", "1")
			id := s.mark(t, b, "k")
			_, err := s.GetObject(t.Context(), &sdk.GetObjectInput{Bucket: &b, Key: aws.String("k")})
			header := answer(t, err).Header
			return first(refused(t, "get", "NoSuchKey", err), differ("x-amz-delete-marker", "true", header.Get("X-Amz-Delete-Marker")),
				differ("x-amz-version-id", id, header.Get("X-Amz-Version-Id")))
		}},
		{sentence: "a delete marker read by its id is MethodNotAllowed", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			id := s.mark(t, b, "k")
			_, get := s.GetObject(t.Context(), &sdk.GetObjectInput{Bucket: &b, Key: aws.String("k"), VersionId: &id})
			_, head := s.HeadObject(t.Context(), &sdk.HeadObjectInput{Bucket: &b, Key: aws.String("k"), VersionId: &id})
			return first(refused(t, "get", "MethodNotAllowed", get),
				differ("x-amz-delete-marker", "true", answer(t, get).Header.Get("X-Amz-Delete-Marker")),
				differ("status of HEAD", 405, answer(t, head).StatusCode))
		}},
		{sentence: "an absent key is NoSuchKey, an absent version NoSuchVersion, a bad version id InvalidArgument", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			id := s.gone(t, b, "k")
			_, key := s.body(t.Context(), b, "k", "")
			_, version := s.body(t.Context(), b, "k", id)
			_, bad := s.body(t.Context(), b, "k", "not-a-version-id")
			_, head := s.HeadObject(t.Context(), &sdk.HeadObjectInput{Bucket: &b, Key: aws.String("k")})
			return first(refused(t, "key", "NoSuchKey", key), refused(t, "version", "NoSuchVersion", version),
				refused(t, "bad id", "InvalidArgument", bad), refused(t, "HEAD", "NotFound", head))
		}},
		{sentence: "a content encoding comes back, and the bytes as they were stored", kept: func(t testing.TB, s *store) error {
			b, packed := s.versioned(t), "\x1f\x8b no gzip at all"
			_, err := s.PutObject(t.Context(), &sdk.PutObjectInput{
				Bucket: &b, Key: aws.String("k"), Body: strings.NewReader(packed), IfNoneMatch: aws.String("*"),
				ContentType: aws.String("text/plain; charset=utf-8"), ContentEncoding: aws.String("gzip"),
			})
			must(t, "put", err)
			out, err := s.GetObject(t.Context(), &sdk.GetObjectInput{Bucket: &b, Key: aws.String("k")})
			must(t, "get", err)
			data, err := io.ReadAll(out.Body)
			must(t, "read", err)
			return first(differ("encoding", "gzip", aws.ToString(out.ContentEncoding)), differ("body", packed, string(data)),
				differ("type", "text/plain; charset=utf-8", aws.ToString(out.ContentType)))
		}},
		{sentence: "of writes of one key with If-None-Match: * at once one is stored, and the others are refused", kept: onlyOneWrite},
		{sentence: "If-None-Match: * writes only where nothing current is", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			put := func() error {
				_, err := s.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: &b, Key: aws.String("k"), IfNoneMatch: aws.String("*")})
				return err
			}
			absent, present := put(), put()
			s.mark(t, b, "k")
			return first(refused(t, "absent", "", absent), refused(t, "present", "PreconditionFailed", present), refused(t, "marked", "", put()))
		}},
	}
}
