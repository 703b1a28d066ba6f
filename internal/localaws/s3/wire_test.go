package s3_test

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"custody/internal/localaws/s3"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
)

// authorization is what the engine asks of a request; it verifies no signature.
const authorization = "AWS4-HMAC-SHA256 Credential=test/20301231/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=00"

// exchange is one raw answer.
type exchange struct {
	status  int
	header  http.Header
	body    string
	Code    string
	Message string
}

// send makes a raw request; headers are "Name: value".
func send(t testing.TB, h http.Handler, method, target, body string, headers ...string) exchange {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	r.Header.Set("Authorization", authorization)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		if value == "" {
			r.Header.Del(name)
			continue
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	out := exchange{status: w.Code, header: w.Header(), body: w.Body.String()}
	if w.Code >= 300 {
		_ = xml.Unmarshal(w.Body.Bytes(), &out) // what is no error document has no code
	}
	return out
}

// local is an engine with the versioned bucket "bucket".
func local(t testing.TB, o s3.Options) *s3.Engine {
	t.Helper()
	e := s3.New(o)
	if out := send(t, e, "PUT", "/bucket", ""); out.status != 200 {
		t.Fatalf("create bucket: %+v", out)
	}
	on := `<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Enabled</Status></VersioningConfiguration>`
	if out := send(t, e, "PUT", "/bucket?versioning", on); out.status != 200 {
		t.Fatalf("enable versioning: %+v", out)
	}
	return e
}

func TestRefusalsNameWhatTheyRefuse(t *testing.T) {
	t.Parallel()
	md5 := "Content-Md5: 1B2M2Y8AsgTpgAmY7PhCfg==" // of the empty body
	for sentence, c := range map[string]struct {
		method, target, body string
		headers              []string
		status               int
		code, names          string
	}{
		"an anonymous request":                 {method: "GET", target: "/bucket?versions", headers: []string{"Authorization: "}, status: 403, code: "AccessDenied"},
		"another authorization scheme":         {method: "GET", target: "/bucket?versions", headers: []string{"Authorization: Bearer x"}, status: 400, code: "InvalidArgument", names: "Authorization"},
		"a credential without a scope":         {method: "GET", target: "/", headers: []string{"Authorization: AWS4-HMAC-SHA256 Credential=test, Signature=0"}, status: 400, code: "AuthorizationHeaderMalformed"},
		"an ACL":                               {method: "GET", target: "/bucket/key?acl", status: 501, code: "NotImplemented", names: "acl"},
		"a bucket policy":                      {method: "GET", target: "/bucket?policy", status: 501, code: "NotImplemented", names: "policy"},
		"a lifecycle":                          {method: "PUT", target: "/bucket?lifecycle", status: 501, code: "NotImplemented", names: "lifecycle"},
		"a multipart upload":                   {method: "POST", target: "/bucket/key?uploads", status: 501, code: "NotImplemented", names: "uploads"},
		"a part":                               {method: "PUT", target: "/bucket/key?partNumber=1&uploadId=x", status: 501, code: "NotImplemented", names: "uploadId"},
		"a copy":                               {method: "PUT", target: "/bucket/key", headers: []string{"X-Amz-Copy-Source: /bucket/other"}, status: 501, code: "NotImplemented", names: "x-amz-copy-source"},
		"an unknown parameter of a listing":    {method: "GET", target: "/bucket?versions&marker=x", status: 501, code: "NotImplemented", names: `"marker"`},
		"the old list of objects":              {method: "GET", target: "/bucket?marker=x", status: 501, code: "NotImplemented", names: "marker"},
		"a version id where a put has none":    {method: "PUT", target: "/bucket/key?versionId=null", status: 501, code: "NotImplemented", names: "versionId"},
		"a parameter given twice":              {method: "GET", target: "/bucket?versions&prefix=a&prefix=b", status: 400, code: "InvalidArgument", names: "prefix"},
		"a conditional delete":                 {method: "DELETE", target: "/bucket/key", headers: []string{`If-Match: "x"`}, status: 501, code: "NotImplemented", names: "if-match"},
		"a write that must match":              {method: "PUT", target: "/bucket/key", headers: []string{`If-None-Match: "x"`}, status: 501, code: "NotImplemented", names: "If-None-Match"},
		"a storage class":                      {method: "PUT", target: "/bucket/key", headers: []string{"X-Amz-Storage-Class: GLACIER"}, status: 501, code: "NotImplemented", names: "GLACIER"},
		"a public ACL":                         {method: "PUT", target: "/bucket/key", headers: []string{"X-Amz-Acl: public-read"}, status: 501, code: "NotImplemented", names: "public-read"},
		"an unknown checksum":                  {method: "PUT", target: "/bucket/key", headers: []string{"X-Amz-Checksum-Xxhash64: AAAAAAAAAAA="}, status: 501, code: "NotImplemented", names: "xxhash64"},
		"an element that DeleteObjects lacks":  {method: "POST", target: "/bucket?delete", body: "<Delete><Object><Key>k</Key><ETag>x</ETag></Object></Delete>", headers: []string{"Content-Md5: bQIJ+8zk3kSYklOAoL1DaQ=="}, status: 501, code: "NotImplemented", names: "ETag"},
		"DeleteObjects without any digest":     {method: "POST", target: "/bucket?delete", body: "<Delete><Object><Key>k</Key></Object></Delete>", status: 400, code: "InvalidRequest", names: "Content-MD5"},
		"DeleteObjects with no document":       {method: "POST", target: "/bucket?delete", headers: []string{md5}, status: 400, code: "MalformedXML"},
		"a body that is not what its MD5 says": {method: "PUT", target: "/bucket/key", body: "x", headers: []string{md5}, status: 400, code: "BadDigest"},
		"an MD5 that is none":                  {method: "PUT", target: "/bucket/key", body: "x", headers: []string{"Content-Md5: x"}, status: 400, code: "InvalidDigest"},
		"a body that is not what its CRC says": {method: "PUT", target: "/bucket/key", body: "x", headers: []string{"X-Amz-Checksum-Crc32: AAAAAA=="}, status: 400, code: "BadDigest", names: "CRC32"},
		"a CRC of the wrong length":            {method: "PUT", target: "/bucket/key", body: "x", headers: []string{"X-Amz-Checksum-Crc32: AAAA"}, status: 400, code: "InvalidRequest", names: "crc32"},
		"a body that is not what was signed":   {method: "PUT", target: "/bucket/key", body: "x", headers: []string{"X-Amz-Content-Sha256: " + strings.Repeat("0", 64)}, status: 400, code: "XAmzContentSHA256Mismatch"},
		"an owner that is no account":          {method: "GET", target: "/bucket?versions", headers: []string{"X-Amz-Expected-Bucket-Owner: me"}, status: 400, code: "InvalidBucketOwnerAWSAccountID"},
		"a bucket name with capitals":          {method: "PUT", target: "/Bucket", status: 400, code: "InvalidBucketName"},
		"a location that is no constraint":     {method: "PUT", target: "/other", body: "<CreateBucketConfiguration><LocationConstraint>us-east-1</LocationConstraint></CreateBucketConfiguration>", status: 400, code: "InvalidLocationConstraint"},
		"a key that is not UTF-8":              {method: "PUT", target: "/bucket/%ff", status: 400, code: "InvalidURI"},
		"a key with the null character":        {method: "PUT", target: "/bucket/a%00b", status: 400, code: "InvalidURI"},
		"a prefix with the null character":     {method: "GET", target: "/bucket?versions&prefix=%00", status: 400, code: "InvalidArgument", names: "prefix"},
		"a prefix that is not UTF-8":           {method: "GET", target: "/bucket?versions&prefix=%ff", status: 400, code: "InvalidURI", names: "prefix"},
		"an empty version id":                  {method: "DELETE", target: "/bucket/key?versionId=", status: 400, code: "InvalidArgument", names: "empty"},
		"MaxKeys that is no number":            {method: "GET", target: "/bucket?versions&max-keys=1.5", status: 400, code: "InvalidArgument", names: "max-keys"},
		"MaxKeys before the other mistakes":    {method: "GET", target: "/bucket?versions&max-keys=x&version-id-marker=y&encoding-type=z", status: 400, code: "InvalidArgument", names: "max-keys"},
		"the marker before the encoding":       {method: "GET", target: "/bucket?versions&key-marker=k&version-id-marker=y&encoding-type=z", status: 400, code: "InvalidArgument", names: "version id"},
		"a continuation token that is none":    {method: "GET", target: "/bucket?list-type=2&continuation-token=%25", status: 400, code: "InvalidArgument", names: "continuation"},
		"two documents":                        {method: "PUT", target: "/bucket?versioning", body: "<VersioningConfiguration/><VersioningConfiguration/>", status: 400, code: "MalformedXML"},
		"a chunk that is cut off":              {method: "PUT", target: "/bucket/key", body: "5\r\nabc", headers: []string{"Content-Encoding: aws-chunked", "X-Amz-Decoded-Content-Length: 5"}, status: 400, code: "IncompleteBody"},
		"a chunk without a size":               {method: "PUT", target: "/bucket/key", body: "zz\r\n", headers: []string{"Content-Encoding: aws-chunked"}, status: 400, code: "InvalidRequest", names: "size"},
		"chunks of another length than said":   {method: "PUT", target: "/bucket/key", body: "1\r\na\r\n0\r\n\r\n", headers: []string{"Content-Encoding: aws-chunked", "X-Amz-Decoded-Content-Length: 2"}, status: 400, code: "IncompleteBody"},
		"a trailer that was announced only":    {method: "PUT", target: "/bucket/key", body: "1\r\na\r\n0\r\n\r\n", headers: []string{"Content-Encoding: aws-chunked", "X-Amz-Decoded-Content-Length: 1", "X-Amz-Trailer: x-amz-checksum-crc32"}, status: 400, code: "MalformedTrailerError", names: "crc32"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got := send(t, local(t, s3.Options{}), c.method, c.target, c.body, c.headers...)
			if diff := cmp.Diff(fmt.Sprint(c.status, " ", c.code), fmt.Sprint(got.status, " ", got.Code)); diff != "" {
				t.Errorf("answer (-want +got):\n%s\n%s", diff, got.body)
			}
			if !strings.Contains(got.Message+got.body, c.names) {
				t.Errorf("%q does not name %q", got.Message, c.names)
			}
			if got.header.Get("X-Amz-Request-Id") == "" {
				t.Error("no request id")
			}
		})
	}
}

func TestAccessKeyIsTheOnlyOneLetIn(t *testing.T) {
	t.Parallel()
	e := local(t, s3.Options{AccessKey: "test"})
	other := send(t, e, "GET", "/", "", "Authorization: "+strings.Replace(authorization, "test/", "other/", 1))
	v2 := send(t, e, "GET", "/", "", "Authorization: AWS test:c2ln")
	presigned := send(t, e, "GET", "/?AWSAccessKeyId=test&Signature=x&Expires=1", "", "Authorization: ")
	got := []string{other.Code, fmt.Sprint(v2.status), fmt.Sprint(presigned.status)}
	if diff := cmp.Diff([]string{"InvalidAccessKeyId", "200", "200"}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestAccountIsTheExpectedOwner(t *testing.T) {
	t.Parallel()
	e := local(t, s3.Options{Account: "123456789012"})
	right := send(t, e, "GET", "/bucket?versions", "", "X-Amz-Expected-Bucket-Owner: 123456789012")
	wrong := send(t, e, "GET", "/bucket?versions", "", "X-Amz-Expected-Bucket-Owner: 000000000000")
	if diff := cmp.Diff([]int{200, 403}, []int{right.status, wrong.status}); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// The first version of an engine stands where a null version that never was is looked for.
func TestNullIsNotTheFirstVersion(t *testing.T) {
	t.Parallel()
	e := local(t, s3.Options{})
	send(t, e, "PUT", "/bucket/key", "first")
	send(t, e, "DELETE", "/bucket/key?versionId=null", "")
	read := send(t, e, "GET", "/bucket/key?versionId=null", "")
	got := []string{send(t, e, "GET", "/bucket/key", "").body, read.Code}
	if diff := cmp.Diff([]string{"first", "NoSuchVersion"}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestLocksOfAPutNeedALockAndADigest(t *testing.T) {
	t.Parallel()
	e := local(t, s3.Options{})
	if out := send(t, e, "PUT", "/locked", "", "X-Amz-Bucket-Object-Lock-Enabled: true"); out.status != 200 {
		t.Fatalf("create bucket: %+v", out)
	}
	const hold, digest = "X-Amz-Object-Lock-Legal-Hold: ON", "Content-Md5: 1B2M2Y8AsgTpgAmY7PhCfg=="
	got := []string{
		send(t, e, "PUT", "/bucket/key", "", hold, digest).Message,
		send(t, e, "PUT", "/locked/key", "", hold).Message,
		send(t, e, "PUT", "/locked/key", "", hold, digest).Message,
		send(t, e, "PUT", "/locked/key", "", "X-Amz-Object-Lock-Mode: GOVERNANCE", digest).Code,
		send(t, e, "PUT", "/locked/key", "", "X-Amz-Object-Lock-Legal-Hold: maybe", digest).Code,
	}
	want := []string{
		"Bucket is missing Object Lock Configuration",
		"Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters",
		"", "InvalidArgument", "InvalidArgument",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestHeadHasNoBody(t *testing.T) {
	t.Parallel()
	e := local(t, s3.Options{})
	send(t, e, "PUT", "/bucket/key", "hello")
	there, absent := send(t, e, "HEAD", "/bucket/key", ""), send(t, e, "HEAD", "/bucket/none", "")
	got := []string{there.body, there.header.Get("Content-Length"), fmt.Sprint(absent.status), absent.body}
	if diff := cmp.Diff([]string{"", "5", "404", ""}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// Control characters come out as references that no XML 1.0 parser takes; see document.
func TestListingWithoutEncodingHasReferences(t *testing.T) {
	t.Parallel()
	e := local(t, s3.Options{})
	for _, key := range []string{"a%01b", "c%0Dd", "e%0Af", "g%EF%BF%BEh", "i%3C%26%3Ej"} {
		send(t, e, "PUT", "/bucket/"+key, "")
	}
	body := send(t, e, "GET", "/bucket?versions", "").body
	for _, want := range []string{"<Key>a&#1;b</Key>", "<Key>c&#13;d</Key>", "<Key>e&#10;f</Key>", "<Key>g&#65534;h</Key>", "<Key>i&lt;&amp;&gt;j</Key>"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
}

// The order and the names of a listing's elements, as S3 was seen to write them.
func TestListingIsSpelledAsOnS3(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 8, 30, 12, 0, 0, 999_000_000, time.UTC)
	e := local(t, s3.Options{Now: func() time.Time { return at }})
	put := send(t, e, "PUT", "/bucket/a", "hi", "X-Amz-Checksum-Crc32: 2JMqrA==")
	if put.status != 200 {
		t.Fatalf("put: %+v", put)
	}
	got := send(t, e, "GET", "/bucket?versions&max-keys=1&prefix=a&delimiter=%2F&encoding-type=url", "").body
	id := put.header.Get("X-Amz-Version-Id")
	want := `<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<ListVersionsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name><Prefix>a</Prefix><KeyMarker/><VersionIdMarker/>` +
		`<MaxKeys>1</MaxKeys><Delimiter>/</Delimiter><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>` +
		`<Version><Key>a</Key><VersionId>` + id + `</VersionId><IsLatest>true</IsLatest><LastModified>2026-08-30T12:00:00.000Z</LastModified>` +
		`<ETag>&quot;49f68a5c8493ec2c0bf489821c21fc3b&quot;</ETag><ChecksumAlgorithm>CRC32</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType>` +
		`<Size>2</Size><Owner><ID>000000000000</ID></Owner><StorageClass>STANDARD</StorageClass></Version></ListVersionsResult>`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	if len(id) != 32 {
		t.Errorf("version id %q is not as long as one of S3", id)
	}
}

func TestChunkedBodies(t *testing.T) {
	t.Parallel()
	const hi = "2\r\nhi\r\n0\r\n"
	for sentence, c := range map[string]struct {
		body    string
		headers []string
		want    string
	}{
		"unsigned with a checksum trailer": {hi + "x-amz-checksum-crc32:2JMqrA==\r\n\r\n", []string{
			"X-Amz-Content-Sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER", "X-Amz-Trailer: x-amz-checksum-crc32", "X-Amz-Decoded-Content-Length: 2", "Content-Encoding: aws-chunked"}, "hi"},
		"signed chunks": {"1;chunk-signature=00\r\nh\r\n1;chunk-signature=00\r\ni\r\n0;chunk-signature=00\r\n\r\n", []string{
			"X-Amz-Content-Sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "X-Amz-Decoded-Content-Length: 2"}, "hi"},
		"an empty body":  {"0\r\n\r\n", []string{"Content-Encoding: aws-chunked", "X-Amz-Decoded-Content-Length: 0"}, ""},
		"gzip in chunks": {hi + "\r\n", []string{"Content-Encoding: gzip,aws-chunked", "X-Amz-Decoded-Content-Length: 2"}, "hi"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			e := local(t, s3.Options{})
			if put := send(t, e, "PUT", "/bucket/key", c.body, c.headers...); put.status != 200 {
				t.Fatalf("put: %+v", put)
			}
			get := send(t, e, "GET", "/bucket/key", "")
			if diff := cmp.Diff(c.want, get.body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if strings.Contains(get.header.Get("Content-Encoding"), "aws-chunked") {
				t.Error("aws-chunked was stored")
			}
		})
	}
}

// botocore asks for a 100 Continue on every PUT and takes a final answer for a refusal of the body.
func TestEmptyBodyIsAcknowledged(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(local(t, s3.Options{}))
	defer server.Close()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(server.URL, "http://"))
	must(t, "dial", err)
	defer func() { _ = conn.Close() }()
	must(t, "set a deadline", conn.SetDeadline(time.Now().Add(10*time.Second))) // or a missing answer is waited for
	_, err = fmt.Fprintf(conn, "PUT /bucket/key HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n", authorization)
	must(t, "send", err)
	var got []string
	in := bufio.NewReader(conn)
	for range 2 {
		response, err := http.ReadResponse(in, nil)
		must(t, "read", err)
		_, _ = io.Copy(io.Discard, response.Body)
		got = append(got, response.Status)
	}
	if diff := cmp.Diff([]string{"100 Continue", "200 OK"}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestPresignedURLIsLetIn(t *testing.T) {
	t.Parallel()
	s := serveLocal(t)
	b := s.versioned(t)
	id := s.put(t, b, "a b", "hello")
	signed, err := sdk.NewPresignClient(s.Client).PresignGetObject(t.Context(), &sdk.GetObjectInput{Bucket: &b, Key: aws.String("a b"), VersionId: &id})
	must(t, "presign", err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, signed.URL, nil)
	must(t, "request", err)
	response, err := http.DefaultClient.Do(request)
	must(t, "get", err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	must(t, "read", err)
	if diff := cmp.Diff("hello", string(body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// Case 46: why Custody has a page loop of its own. The SDK's paginator sends the next key marker back
// as it came, which under EncodingType=url is encoded, so the listing goes on from another key.
func TestPaginatorSendsTheEncodedMarkerBack(t *testing.T) {
	t.Parallel()
	s := serveLocal(t)
	b := s.versioned(t)
	want := []string{"k 1", "k 2", "k!3"}
	for _, key := range want {
		s.put(t, b, key, "")
	}
	pages := sdk.NewListObjectVersionsPaginator(s.Client, ask(b, most(1)))
	_, err := pages.NextPage(t.Context())
	must(t, "first page", err)
	_, err = pages.NextPage(t.Context())
	must(t, "second page", err)
	query, _ := s.wire.last()
	if diff := cmp.Diff("k+1", query.Get("key-marker")); diff != "" {
		t.Errorf("key-marker as sent (-want +got):\n%s", diff)
	}
	if pages.HasMorePages() {
		t.Error("the paginator has found its way behind the encoded marker")
	}
	var own []string
	must(t, "own loop", s.walk(t, b, 1, func(p onePage) error {
		own = append(own, p.Versions[0].Key)
		return nil
	}))
	if diff := cmp.Diff(want, own); diff != "" {
		t.Errorf("own loop (-want +got):\n%s", diff)
	}
}
