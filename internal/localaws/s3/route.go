package s3

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// level is what a path names.
type level int

const (
	service level = iota
	inBucket
	inObject
)

// operation is one API operation: how it is told from the others, and every parameter and header it
// acts on. Whatever else a request carries is refused by name.
type operation struct {
	name   string
	method string
	level  level
	// selector is the query parameter that picks the operation (?versions); empty is the plain one.
	selector string
	params   []string
	// headers are those with a meaning of their own for S3: x-amz-… and the conditional ones.
	headers []string
	run     func(*Engine, *call) (reply, error)
}

// call is one request on its way through an operation.
type call struct {
	op          *operation
	request     *http.Request
	query       url.Values
	bucket, key string
	region      string // that the request was signed for
	caller      string // the account of whoever signed it
	payload     payload
}

// header is the value of a request header.
func (c *call) header(name string) string { return c.request.Header.Get(name) }

// operations is the whole API of the engine.
func operations() []operation {
	const get, put, post, del, head = http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodHead
	list := []string{"prefix", "delimiter", "max-keys", "encoding-type"}
	version := []string{"versionId"}
	read := []string{"Range", "If-Match", "If-None-Match", "X-Amz-Checksum-Mode"}
	bypass := []string{"X-Amz-Bypass-Governance-Retention"}
	destroy := []string{"X-Amz-Bypass-Governance-Retention", "X-Amz-Mfa"}
	return []operation{
		{"ListBuckets", get, service, "", []string{"prefix", "max-buckets", "continuation-token"}, nil, (*Engine).listBuckets},
		{"CreateBucket", put, inBucket, "", nil, []string{"X-Amz-Bucket-Object-Lock-Enabled", "X-Amz-Acl", "X-Amz-Object-Ownership"}, (*Engine).createBucket},
		{"HeadBucket", head, inBucket, "", nil, nil, (*Engine).headBucket},
		{"DeleteBucket", del, inBucket, "", nil, nil, (*Engine).deleteBucket},
		{"GetBucketLocation", get, inBucket, "location", nil, nil, (*Engine).getLocation},
		{"GetBucketVersioning", get, inBucket, "versioning", nil, nil, (*Engine).getVersioning},
		{"PutBucketVersioning", put, inBucket, "versioning", nil, []string{"X-Amz-Mfa"}, (*Engine).putVersioning},
		{"GetObjectLockConfiguration", get, inBucket, "object-lock", nil, nil, (*Engine).getLockConfiguration},
		{"PutObjectLockConfiguration", put, inBucket, "object-lock", nil, nil, (*Engine).putLockConfiguration},
		{"ListObjectVersions", get, inBucket, "versions", append([]string{"key-marker", "version-id-marker"}, list...), nil, (*Engine).listVersions},
		{"ListObjectsV2", get, inBucket, "list-type", append([]string{"start-after", "continuation-token", "fetch-owner"}, list...), nil, (*Engine).listObjects},
		{"DeleteObjects", post, inBucket, "delete", nil, destroy, (*Engine).deleteObjects},
		{"GetObject", get, inObject, "", version, read, (*Engine).getObject},
		{"HeadObject", head, inObject, "", version, read, (*Engine).getObject},
		{"PutObject", put, inObject, "", nil, putHeaders(), (*Engine).putObject},
		{"DeleteObject", del, inObject, "", version, destroy, (*Engine).deleteObject},
		{"GetObjectTagging", get, inObject, "tagging", version, nil, (*Engine).getTagging},
		{"PutObjectTagging", put, inObject, "tagging", version, nil, (*Engine).putTagging},
		{"DeleteObjectTagging", del, inObject, "tagging", version, nil, (*Engine).deleteTagging},
		{"GetObjectLegalHold", get, inObject, "legal-hold", version, nil, (*Engine).getLegalHold},
		{"PutObjectLegalHold", put, inObject, "legal-hold", version, nil, (*Engine).putLegalHold},
		{"GetObjectRetention", get, inObject, "retention", version, nil, (*Engine).getRetention},
		{"PutObjectRetention", put, inObject, "retention", version, bypass, (*Engine).putRetention},
	}
}

// newCall reads everything of a request that needs no lock: path, query, access, operation, body.
func (e *Engine) newCall(r *http.Request) (*call, error) {
	c := &call{request: r}
	if err := c.readURL(); err != nil {
		return nil, err
	}
	if err := e.admit(c); err != nil {
		return nil, err
	}
	if err := e.choose(c); err != nil {
		return nil, err
	}
	if err := c.checkParameters(); err != nil {
		return nil, err
	}
	if err := c.checkHeaders(); err != nil {
		return nil, err
	}
	if err := keyTooLong(c.key); err != nil {
		return nil, err
	}
	var err error
	c.payload, err = readPayload(r, c.op)
	return c, err
}

func (c *call) readURL() error {
	path, err := url.PathUnescape(strings.TrimPrefix(c.request.URL.EscapedPath(), "/"))
	if err != nil || !utf8.ValidString(path) || strings.ContainsRune(path, 0) {
		return fail(http.StatusBadRequest, "InvalidURI", "Couldn't parse the specified URI.")
	}
	c.bucket, c.key, _ = strings.Cut(path, "/")
	c.query, err = url.ParseQuery(c.request.URL.RawQuery)
	if err != nil {
		return fail(http.StatusBadRequest, "InvalidURI", "Couldn't parse the specified URI: "+err.Error())
	}
	for name, values := range c.query {
		if !utf8.ValidString(strings.Join(values, "")) {
			return fail(http.StatusBadRequest, "InvalidURI", "Couldn't parse the specified URI: "+name+" is not UTF-8")
		}
	}
	return nil
}

func (c *call) level() level {
	switch {
	case c.bucket == "":
		return service
	case c.key == "":
		return inBucket
	}
	return inObject
}

// choose finds the operation: the one whose selector is in the query, else the plain one.
func (e *Engine) choose(c *call) error {
	for i := range e.routes {
		op := &e.routes[i]
		if op.method != c.request.Method || op.level != c.level() {
			continue
		}
		if op.selector == "" || c.query.Has(op.selector) {
			c.op = op
		}
		if c.op != nil && c.op.selector != "" {
			return nil
		}
	}
	if c.op == nil {
		return notImplemented("%s %s %s", c.request.Method, c.levelName(), c.querySummary())
	}
	return nil
}

func (c *call) levelName() string {
	return [...]string{"on the service", "on a bucket", "on an object"}[c.level()]
}

// querySummary has the query's names, for messages: they tell the operation, and values may be long.
func (c *call) querySummary() string {
	names := make([]string, 0, len(c.query))
	for name := range c.query {
		if !isHarmless(name) {
			names = append(names, "?"+name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "without a subresource"
	}
	return "with " + strings.Join(names, ", ")
}

// checkParameters refuses every query parameter that the operation does not act on. A repeated one is
// refused too: which of them would count?
func (c *call) checkParameters() error {
	for name, values := range c.query {
		known := name == c.op.selector || slices.Contains(c.op.params, name)
		switch {
		case !known && !isHarmless(name):
			return notImplemented("%s %s %s (read as %s, which has no parameter %q)",
				c.request.Method, c.levelName(), c.querySummary(), c.op.name, name)
		case known && len(values) > 1:
			return invalidArgument(name, strings.Join(values, ", "), "the parameter "+name+" may be given once")
		}
	}
	return nil
}

// isHarmless names parameters that change nothing: the SDKs' x-id and the parts of a presigned URL.
func isHarmless(name string) bool {
	switch name {
	case "x-id", "AWSAccessKeyId", "Signature", "Expires":
		return true
	}
	return strings.HasPrefix(strings.ToLower(name), "x-amz-")
}

// checkHeaders refuses every header with a meaning for S3 that the operation does not act on.
func (c *call) checkHeaders() error {
	for name := range c.request.Header {
		if !isActing(name) || isCommon(name) || slices.Contains(c.op.headers, name) {
			continue
		}
		if strings.HasPrefix(name, metadataPrefix) && c.op.name == "PutObject" {
			continue
		}
		return notImplemented("the header %s of %s", strings.ToLower(name), c.op.name)
	}
	return nil
}

// isActing reports headers that S3 gives a meaning beyond HTTP's transport.
func isActing(name string) bool {
	switch name {
	case "Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since":
		return true
	}
	return strings.HasPrefix(name, "X-Amz-")
}

// isCommon reports headers that every operation takes: signing, transport, checksums, owner.
func isCommon(name string) bool {
	switch name {
	case "X-Amz-Date", "X-Amz-Content-Sha256", "X-Amz-Security-Token", "X-Amz-User-Agent",
		"X-Amz-Decoded-Content-Length", "X-Amz-Trailer", "X-Amz-Sdk-Checksum-Algorithm",
		"X-Amz-Expected-Bucket-Owner":
		return true
	}
	return strings.HasPrefix(name, checksumPrefix) && name != "X-Amz-Checksum-Mode"
}
