package s3

import (
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
)

const metadataPrefix = "X-Amz-Meta-"

// object is what a version carries besides its name.
type object struct {
	body []byte
	etag string // with its quotes
	// header has the headers that come back as they were sent: Content-Type and the like, metadata.
	header http.Header
	sums   map[string]string
}

// returned are the standard headers that S3 stores with an object.
func returned() []string {
	return []string{"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition", "Cache-Control", "Expires"}
}

// putHeaders are the acting headers of PutObject.
func putHeaders() []string {
	return []string{
		"If-None-Match", "X-Amz-Tagging", "X-Amz-Storage-Class", "X-Amz-Acl", "X-Amz-Server-Side-Encryption",
		"X-Amz-Object-Lock-Mode", "X-Amz-Object-Lock-Retain-Until-Date", "X-Amz-Object-Lock-Legal-Hold",
	}
}

// onlyPrivate refuses header values that would change what is stored, such as other storage classes.
func onlyPrivate(c *call) error {
	allowed := map[string][]string{
		"X-Amz-Acl":                    {"private", "bucket-owner-full-control"},
		"X-Amz-Object-Ownership":       {"BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter"},
		"X-Amz-Storage-Class":          {"STANDARD"},
		"X-Amz-Server-Side-Encryption": {"AES256"},
	}
	for name, values := range allowed {
		if got := c.header(name); got != "" && !slices.Contains(values, got) {
			return notImplemented("%s: %s; it takes %s", strings.ToLower(name), got, strings.Join(values, ", "))
		}
	}
	return nil
}

// putObject is PutObject.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html
func (e *Engine) putObject(c *call) (reply, error) {
	v, err := e.readObject(c)
	if err != nil {
		return reply{}, err
	}
	r := reply{header: http.Header{"Etag": {v.object.etag}}}
	for name, sum := range v.object.sums {
		r.header.Set(name, sum)
		r.header.Set("X-Amz-Checksum-Type", "FULL_OBJECT")
	}
	return r, e.change(c, func(b *bucket) error {
		if err := b.checkAbsent(c); err != nil {
			return err
		}
		if v.lock, err = e.lockFor(b, c); err != nil {
			return err
		}
		e.store(b, v)
		if id := b.shownID(v); id != "" {
			r.header.Set("X-Amz-Version-Id", id)
		}
		return nil
	})
}

// readObject is the version that a PUT asks for, except for its place and its lock.
func (e *Engine) readObject(c *call) (*version, error) {
	if err := onlyPrivate(c); err != nil {
		return nil, err
	}
	tags, err := parseTagging(c.header("X-Amz-Tagging"))
	if err != nil {
		return nil, err
	}
	sum := md5.Sum(c.payload.data)
	return &version{key: c.key, tags: tags, object: object{
		body: c.payload.data, etag: `"` + hex.EncodeToString(sum[:]) + `"`,
		header: keptHeaders(c.request.Header), sums: c.payload.sums,
	}}, nil
}

// keptHeaders are the request headers that are stored. aws-chunked was the way here, not the object's.
func keptHeaders(from http.Header) http.Header {
	kept := http.Header{}
	for name, values := range from {
		if slices.Contains(returned(), name) || strings.HasPrefix(name, metadataPrefix) {
			kept[name] = values
		}
	}
	if kept.Get("Content-Type") == "" {
		kept.Set("Content-Type", "binary/octet-stream")
	}
	var codings []string
	for coding := range strings.SplitSeq(kept.Get("Content-Encoding"), ",") {
		if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "aws-chunked") {
			codings = append(codings, coding)
		}
	}
	kept.Del("Content-Encoding")
	if len(codings) > 0 {
		kept.Set("Content-Encoding", strings.Join(codings, ","))
	}
	return kept
}

// checkAbsent honours If-None-Match: *, the only value that PutObject takes. A delete marker is absence.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
func (b *bucket) checkAbsent(c *call) error {
	switch condition := c.header("If-None-Match"); condition {
	case "":
		return nil
	case "*":
		if v := b.current(c.key); v != nil && !v.marker {
			return preconditionFailed("If-None-Match")
		}
		return nil
	default:
		return notImplemented("If-None-Match: %s of PutObject; it takes *", condition)
	}
}

func preconditionFailed(condition string) error {
	return fail(http.StatusPreconditionFailed, "PreconditionFailed",
		"At least one of the pre-conditions you specified did not hold").with("Condition", condition)
}
