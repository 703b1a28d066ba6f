package s3

import (
	"net/http"
	"strconv"
	"strings"
)

// getObject is GetObject and HeadObject; for the latter net/http and write leave the body out.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html
func (e *Engine) getObject(c *call) (reply, error) {
	var r reply
	var etag string
	err := e.view(c, func(b *bucket) error {
		v, err := e.lookup(b, c)
		if err != nil {
			return err
		}
		etag = v.object.etag
		r.header, r.body = b.describe(v, c), v.object.body
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	if err := checkConditions(c, etag); err != nil {
		return reply{}, err
	}
	return cut(r, c.header("Range"))
}

// describe has the headers of a version.
func (b *bucket) describe(v *version, c *call) http.Header {
	h := v.object.header.Clone()
	h.Set("ETag", v.object.etag)
	h.Set("Last-Modified", v.modified.UTC().Format(http.TimeFormat))
	h.Set("Accept-Ranges", "bytes")
	h.Set("X-Amz-Server-Side-Encryption", "AES256")
	h.Set("Content-Length", strconv.Itoa(len(v.object.body)))
	if id := b.shownID(v); id != "" {
		h.Set("X-Amz-Version-Id", id)
	}
	if len(v.tags) > 0 {
		h.Set("X-Amz-Tagging-Count", strconv.Itoa(len(v.tags)))
	}
	if strings.EqualFold(c.header("X-Amz-Checksum-Mode"), "ENABLED") && c.header("Range") == "" {
		for name, sum := range v.object.sums {
			h.Set(name, sum)
			h.Set("X-Amz-Checksum-Type", "FULL_OBJECT")
		}
	}
	v.lock.describe(h)
	return h
}

// checkConditions honours If-Match and If-None-Match of a read.
func checkConditions(c *call, etag string) error {
	if want := c.header("If-Match"); want != "" && !matches(want, etag) {
		return preconditionFailed("If-Match")
	}
	if not := c.header("If-None-Match"); not != "" && matches(not, etag) {
		return fail(http.StatusNotModified, "NotModified", "Not Modified").carrying("ETag", etag)
	}
	return nil
}

func matches(condition, etag string) bool {
	return condition == "*" || strings.Trim(condition, `"`) == strings.Trim(etag, `"`)
}

// cut applies a Range of one piece. S3 ignores a range that it cannot read, and one of several pieces.
func cut(r reply, header string) (reply, error) {
	spec, found := strings.CutPrefix(header, "bytes=")
	if !found || strings.Contains(spec, ",") {
		return r, nil
	}
	from, to, ok := bounds(spec, len(r.body))
	if !ok {
		return r, nil
	}
	size := len(r.body)
	if from > to || from >= size {
		return reply{}, fail(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range is not satisfiable").
			with("RangeRequested", header).with("ActualObjectSize", strconv.Itoa(size))
	}
	r.status, r.body = http.StatusPartialContent, r.body[from:to+1]
	r.header.Set("Content-Range", "bytes "+strconv.Itoa(from)+"-"+strconv.Itoa(to)+"/"+strconv.Itoa(size))
	r.header.Set("Content-Length", strconv.Itoa(len(r.body)))
	return r, nil
}

// bounds reads "from-to", "from-" and "-last"; ok is false for anything else.
func bounds(spec string, size int) (from, to int, ok bool) {
	left, right, found := strings.Cut(spec, "-")
	if !found {
		return 0, 0, false
	}
	if left == "" {
		last, err := strconv.Atoi(right)
		if err != nil || last < 0 {
			return 0, 0, false
		}
		if last == 0 {
			return size, size, true // nothing of the end: not satisfiable
		}
		return max(0, size-last), size - 1, true
	}
	from, err := strconv.Atoi(left)
	if err != nil || from < 0 {
		return 0, 0, false
	}
	if right == "" {
		return from, size - 1, true
	}
	to, err = strconv.Atoi(right)
	if err != nil || to < from {
		return 0, 0, false
	}
	return from, min(to, size-1), true
}
