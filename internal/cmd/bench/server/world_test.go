package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"custody/internal/cmd/bench/server"
	"custody/internal/localaws/steady"
)

// serving is a server in the test's own process, until the test ends.
func serving(t *testing.T) *server.Server {
	t.Helper()
	in, stop := io.Pipe()
	out, said := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(context.WithoutCancel(t.Context()), in, said) }()
	t.Cleanup(func() {
		stop.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	must(t, err)
	var e server.Endpoints
	must(t, json.Unmarshal(line, &e))
	return server.At(e)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// client is one as contenders have it. It repeats nothing.
func client(endpoint string) *s3.Client {
	return s3.New(s3.Options{Region: server.Region, BaseEndpoint: &endpoint, UsePathStyle: true, RetryMaxAttempts: 1, HTTPClient: steady.Client{},
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, "")})
}

const bucket = "bench-objects"

// below lists what stands below a prefix.
func below(t *testing.T, c *s3.Client, prefix string) (all []types.ObjectIdentifier) {
	t.Helper()
	pages := s3.NewListObjectVersionsPaginator(c, &s3.ListObjectVersionsInput{Bucket: aws.String(bucket), Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		must(t, err)
		for _, v := range page.Versions {
			all = append(all, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}
		for _, m := range page.DeleteMarkers {
			all = append(all, types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
		}
	}
	return all
}

func remove(t *testing.T, c *s3.Client, all []types.ObjectIdentifier) {
	t.Helper()
	out, err := c.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: aws.String(bucket), Delete: &types.Delete{Objects: all}})
	must(t, err)
	if len(out.Errors) > 0 {
		t.Fatalf("%d refused, %s", len(out.Errors), *out.Errors[0].Code)
	}
}
