package s3versions_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	locals3 "custody/internal/localaws/s3"
)

// wrapper stands between the SDK and the local engine.
type wrapper = func(http.Handler) http.Handler

// refuse answers what matches with an error document, or with an empty body when there is no code.
func refuse(status int, code string, match func(*http.Request) bool) wrapper {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !match(r) {
				next.ServeHTTP(w, r)
				return
			}
			answer(w, status, code)
		})
	}
}

func answer(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	if code != "" {
		_, _ = io.WriteString(w, xml.Header+"<Error><Code>"+code+"</Code><Message>m</Message></Error>")
	}
}

// reading matches the reads of a subresource: tagging, legal-hold, retention, versioning, object-lock, versions.
func reading(selector string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.Query().Has(selector) }
}

// deletingTogether matches DeleteObjects.
func deletingTogether(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Query().Has("delete")
}

// record notes every request that matches.
type record struct {
	mu       sync.Mutex
	match    func(*http.Request) bool
	requests []*http.Request
}

func (c *record) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.match == nil || c.match(r) {
			c.mu.Lock()
			c.requests = append(c.requests, r)
			c.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

func (c *record) seen() []*http.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

// forget drops what was noted, such as how a test set up its bucket.
func (c *record) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = nil
}

// chain puts the wrappers around the engine, the first one outermost.
func chain(ws ...wrapper) wrapper {
	return func(h http.Handler) http.Handler {
		for i := len(ws) - 1; i >= 0; i-- {
			h = ws[i](h)
		}
		return h
	}
}

// pagesOf makes every listing stop after n entries, so that a key has pages without having thousands of versions.
func pagesOf(n string) wrapper {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query(); q.Has("versions") {
				q.Set("max-keys", n)
				r.URL.RawQuery = q.Encode()
			}
			next.ServeHTTP(w, r)
		})
	}
}

// batch is what a DeleteObjects names, as S3 reads it.
type batch struct {
	Quiet   bool
	Objects []struct {
		Key string
		ID  string `xml:"VersionId"`
	} `xml:"Object"`
}

func readBatch(t *testing.T, r *http.Request) batch {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var b batch
	if err := xml.Unmarshal(body, &b); err != nil {
		t.Errorf("%v in %q", err, body)
	}
	return b
}

// withoutOne takes a key out of a DeleteObjects before the engine sees it, and returns the error that belongs into the answer in its
// place; "" when the key is not in it.
func withoutOne(t *testing.T, r *http.Request, key string) string {
	t.Helper()
	type object struct {
		Key string
		ID  string `xml:"VersionId"`
	}
	out := struct {
		XMLName xml.Name `xml:"Delete"`
		Objects []object `xml:"Object"`
	}{}
	refusal := ""
	for _, o := range readBatch(t, r).Objects {
		if o.Key != key {
			out.Objects = append(out.Objects, object(o))
			continue
		}
		refusal += "<Error><Key>" + o.Key + "</Key><VersionId>" + o.ID + "</VersionId><Code>" + denied + "</Code></Error>"
	}
	body, err := xml.Marshal(out)
	if err != nil {
		t.Error(err)
	}
	sum := make([]byte, 4)
	binary.BigEndian.PutUint32(sum, crc32.ChecksumIEEE(body))
	r.Header.Set("X-Amz-Checksum-Crc32", base64.StdEncoding.EncodeToString(sum))
	r.Header.Del("X-Amz-Content-Sha256")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return refusal
}

// denyAll is a bucket policy that lets nobody delete a version: S3 refuses each version by itself.
func denyAll(t *testing.T) wrapper {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case deletingTogether(r):
				out := xml.Header + "<DeleteResult>"
				for _, o := range readBatch(t, r).Objects {
					out += "<Error><Key>" + o.Key + "</Key><VersionId>" + o.ID + "</VersionId><Code>AccessDenied</Code></Error>"
				}
				_, _ = io.WriteString(w, out+"</DeleteResult>")
			case r.Method == http.MethodDelete:
				answer(w, http.StatusForbidden, "AccessDenied")
			default:
				next.ServeHTTP(w, r)
			}
		})
	}
}

// lockable is the local engine with one bucket that has Object Lock.
func lockable(t *testing.T, o locals3.Options, wrap wrapper) *s3.Client {
	t.Helper()
	var h http.Handler = locals3.New(o)
	if wrap != nil {
		h = wrap(h)
	}
	c := clientOf(t, h)
	_, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(bucket), ObjectLockEnabledForBucket: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// putWith puts an object with what the change sets, and returns its version id.
func putWith(t *testing.T, c *s3.Client, key string, change func(*s3.PutObjectInput)) string {
	t.Helper()
	in := &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &key, Body: strings.NewReader(key)}
	in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32 // S3 asks for one where a lock comes along
	change(in)
	out, err := c.PutObject(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(out.VersionId)
}

// unmake writes a delete marker over the key, and returns its version id.
func unmake(t *testing.T, c *s3.Client, key string) string {
	t.Helper()
	out, err := c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(out.VersionId)
}

func remove(t *testing.T, c *s3.Client, key, id string) {
	t.Helper()
	if _, err := c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: &key, VersionId: &id}); err != nil {
		t.Fatal(err)
	}
}
