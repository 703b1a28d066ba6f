package s3

import (
	"math"
	"strconv"
	"strings"
)

// pageLimit is the most entries of one page, whatever max-keys says.
const pageLimit = 1000

// question is what a page of a listing is asked for.
type question struct {
	prefix, delimiter string
	// Listing resumes behind this position; afterSeq is oldestSeq to skip the whole key.
	resumed  bool
	after    string
	afterSeq uint64
	most     int
	// currentOnly leaves out what is not a current object: the listing of objects.
	currentOnly bool
}

// entry is one version on a page.
type entry struct {
	*version
	latest bool
}

// page is one page of a listing. lastKey and lastID name what the next page resumes behind; lastID is
// empty when that is a common prefix.
type page struct {
	entries         []entry
	prefixes        []string
	truncated       bool
	lastKey, lastID string
}

// size counts entries and common prefixes: both count against max-keys.
func (p *page) size() int { return len(p.entries) + len(p.prefixes) }

// page walks the index from the marker on. It needs one seek, and one more for each common prefix.
func (b *bucket) page(q question) page {
	var p page
	if q.most == 0 {
		return p // S3 calls an empty page on request complete
	}
	at := b.start(q)
	before := b.versions.previous(at)
	for {
		v := b.versions.at(at)
		if v == nil || !strings.HasPrefix(v.key, q.prefix) {
			return p
		}
		latest := before == nil || before.key != v.key
		before = v
		group := q.group(v.key)
		switch {
		case group != "" && q.resumed && strings.HasPrefix(q.after, group):
			at = b.behindPrefix(group)
			continue
		case q.currentOnly && v.marker:
			// Also below a common prefix: it is common to objects, not to delete markers.
			at = b.versions.seek(v.key, oldestSeq)
			continue
		case p.size() == q.most:
			p.truncated = true
			return p
		}
		at = p.take(b, q, v, latest, group, at)
	}
}

// take puts what stands at a place on the page and returns the place to go on from.
func (p *page) take(b *bucket, q question, v *version, latest bool, group string, at place) place {
	if group != "" {
		p.prefixes = append(p.prefixes, group)
		p.lastKey, p.lastID = group, ""
		return b.behindPrefix(group)
	}
	p.entries = append(p.entries, entry{v, latest})
	p.lastKey, p.lastID = v.key, v.id
	if q.currentOnly {
		return b.versions.seek(v.key, oldestSeq)
	}
	return b.versions.next(at)
}

// start is the first place behind the marker and inside the prefix, whichever is further.
func (b *bucket) start(q question) place {
	if !q.resumed || q.after < q.prefix {
		return b.versions.seek(q.prefix, newestSeq)
	}
	if q.afterSeq == oldestSeq {
		return b.versions.seek(q.after, oldestSeq)
	}
	return b.versions.seek(q.after, q.afterSeq-1)
}

// group is the common prefix that a key is rolled up into, empty for none.
func (q question) group(key string) string {
	if q.delimiter == "" {
		return ""
	}
	at := strings.Index(key[len(q.prefix):], q.delimiter)
	if at < 0 {
		return ""
	}
	return key[:len(q.prefix)+at+len(q.delimiter)]
}

// behindPrefix is the place behind every key with a prefix. The last byte of UTF-8 text is never 0xFF,
// so it can be counted up.
func (b *bucket) behindPrefix(prefix string) place {
	last := len(prefix) - 1
	return b.versions.seek(prefix[:last]+string([]byte{prefix[last] + 1}), newestSeq)
}

// maxKeys reads max-keys: how many entries to list, and the number that the answer repeats, which is
// the one asked for also when it is above the limit.
func maxKeys(c *call) (most, asked int, err error) {
	if !c.query.Has("max-keys") {
		return pageLimit, pageLimit, nil
	}
	text := c.query.Get("max-keys")
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || n > math.MaxInt32 || n < math.MinInt32:
		return 0, 0, invalidArgument("max-keys", text, "Provided max-keys not an integer or within integer range")
	case n < 0:
		return 0, 0, invalidArgument("max-keys", text, "max-keys cannot be negative")
	}
	return min(int(n), pageLimit), int(n), nil
}
