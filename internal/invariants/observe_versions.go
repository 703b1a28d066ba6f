package invariants

import (
	"encoding/xml"
	"slices"
	"strings"
	"time"
)

// keyBook is what the bucket holds of one key, oldest version first.
type keyBook struct {
	versions []*versionBook
	made     int
	last     removal // of a version of it
}

type versionBook struct {
	id       string
	n        int // of the versions that the key ever had, from 1
	modified time.Time
	marker   bool
	notNewer time.Time // when it stopped to be the current one; zero: it still is

	tagHold     bool // the tag custody-hold has another value than "false"
	legalHold   bool
	retainUntil time.Time
}

// removal says through whom a version went.
type removal struct {
	at      time.Time
	process *process
	run     string
	on      *reportObject // the selection that the request rests on, nil if there was none
}

// foreign says whether it was no work of the run's present scan in this process: another's, or a request of an earlier scan that was
// on its way for long.
func (r removal) foreign(run *runBook, p *process) bool {
	own := r.process == p && r.run == run.pk && r.on != nil && int64(r.on.name.Scan) == run.scan
	return !r.at.Before(run.scanFrom) && !own
}

func (k *keyBook) find(id string) *versionBook {
	if k == nil {
		return nil
	}
	if at := slices.IndexFunc(k.versions, func(v *versionBook) bool { return v.id == id }); at >= 0 {
		return k.versions[at]
	}
	return nil
}

func (k *keyBook) current() *versionBook {
	if k == nil || len(k.versions) == 0 {
		return nil
	}
	return k.versions[len(k.versions)-1]
}

// written enters a version that a writer made, and says how many the key has had.
func (o *observer) written(key, id string, marker bool) int {
	k := o.keys[key]
	if k == nil {
		k = &keyBook{}
		o.keys[key] = k
	}
	if was := k.current(); was != nil {
		was.notNewer = time.Now()
	}
	k.made++
	k.versions = append(k.versions, &versionBook{id: id, n: k.made, modified: o.terms.now(), marker: marker})
	return k.made
}

// target is one entry of a delete request.
type target struct {
	Key       string  `xml:"Key"`
	VersionID *string `xml:"VersionId"`
}

// object sees a request of the product to S3, and what it changed.
func (o *observer) object(x exchange, serve func() *answer) *answer {
	run := o.runs[x.task.run]
	bucket, key := pathOf(x.request)
	switch op := x.call.Operation; {
	case bucket == reportBucket && op == "PutObject":
		return o.reported(x, run, key, serve)
	case bucket != Bucket || op == "PutObject":
		o.violate("I8: %s asks for %s of bucket %s, which no slice may do", x.call, op, bucket)
	}
	switch x.call.Operation {
	case "GetBucketVersioning", "GetObjectLockConfiguration", "PutObject":
	case "GetObjectTagging", "GetObjectLegalHold", "GetObjectRetention":
		a := serve()
		if code := a.body.String(); run != nil && (strings.Contains(code, "<Code>NoSuchVersion<") || strings.Contains(code, "<Code>NoSuchKey<")) {
			run.confirmed++ // S3 says that the version is gone, so the slice may count it
		}
		o.readMarks(x, run, a)
		return a
	case "ListObjectVersions":
		o.listed(x, run)
	case "DeleteObjects":
		var in struct {
			Objects []target `xml:"Object"`
		}
		if err := xml.Unmarshal(x.body, &in); err != nil {
			o.violate("%s sent what is no XML: %v", x.call, err)
		}
		on := o.checkDelete(x, run, in.Objects)
		a := serve()
		o.removed(x, run, a, on)
		return a
	case "DeleteObject":
		t := target{Key: key}
		if q := x.request.URL.Query(); q.Has("versionId") {
			id := q.Get("versionId")
			t.VersionID = &id
		}
		on := o.checkDelete(x, run, []target{t})
		a := serve()
		if a.ok() && run != nil {
			o.gone(x, run, t, on)
		}
		return a
	default:
		o.violate("I8: %s is nothing that a slice may ask S3 for", x.call)
	}
	return serve()
}

// listed notes where a scan begins.
func (o *observer) listed(x exchange, run *runBook) {
	q := x.request.URL.Query()
	if run != nil && q.Get("key-marker") == "" && q.Get("prefix") == run.prefixes[0] && underLease(x, run) {
		x.process.beginScan(run.pk)
	}
}

// writes notes which scan a place belongs to that is written.
func (r *runBook) writes(p *process, place item) {
	if scan := place.number("scan"); scan != r.scan {
		r.scan, r.scanFrom = scan, p.began[r.pk]
	}
}

// checkDelete looks at a delete request before it is served: I1, I2, I3 and I8, the marks and the record, which it returns.
func (o *observer) checkDelete(x exchange, run *runBook, targets []target) *reportObject {
	header := x.request.Header
	switch {
	case run == nil:
		o.violate("I1: %s deletes in the name of no run", x.call)
		return nil
	case run.item.text("mode") != "delete":
		o.violate("%s deletes for a run in the mode %q", x.call, run.item.text("mode"))
	case len(targets) > 1000:
		o.violate("I8: %s names %d versions", x.call, len(targets))
	case header.Get("X-Amz-Expected-Bucket-Owner") != owner || header.Get("X-Amz-Bypass-Governance-Retention") != "":
		o.violate("I8: %s has the wrong conditions: %v", x.call, header)
	}
	named := targets[:0:0]
	for _, t := range targets {
		if t.VersionID == nil || *t.VersionID == "" {
			o.violate("I8: %s names no version of %q", x.call, t.Key)
			continue
		}
		named = append(named, t)
		o.checkTarget(x, run, t)
	}
	return o.onRecord(x, named)
}

func (o *observer) checkTarget(x exchange, run *runBook, t target) {
	k := o.keys[t.Key]
	v := k.find(*t.VersionID)
	if _, covered := run.prefixOf(t.Key); !covered {
		o.violate("I1: %s deletes %q, which is outside of %s", x.call, t.Key, run.prefixes)
	}
	if reason := o.forbidden(x, run, t.Key); reason != "" {
		o.violate("I2: %s deletes %q: %s", x.call, t.Key, reason)
	}
	if v == nil {
		return
	}
	if reason := o.marked(x, v); reason != "" {
		o.violate("marks: %s deletes version %d of %q: %s", x.call, v.n, t.Key, reason)
	}
	if !v.modified.Before(run.cutoff) {
		o.violate("I1: %s deletes a version of %q of %s, the cutoff is %s", x.call, t.Key, v.modified, run.cutoff)
	}
	if v == k.current() && len(k.versions) > 1 {
		o.violate("I3: %s deletes the current version of %q over %d others", x.call, t.Key, len(k.versions)-1)
	}
}

// removed takes the versions out of the books that S3 says are gone.
func (o *observer) removed(x exchange, run *runBook, a *answer, on *reportObject) {
	if !a.ok() || run == nil {
		return
	}
	var out struct {
		Deleted []target `xml:"Deleted"`
	}
	if err := xml.Unmarshal(a.body.Bytes(), &out); err != nil {
		o.violate("the answer to %s is no XML: %v", x.call, err)
	}
	for _, t := range out.Deleted {
		o.gone(x, run, t, on)
	}
}

func (o *observer) gone(x exchange, run *runBook, t target, on *reportObject) {
	if t.VersionID == nil {
		return // a delete marker that the request should not have made: I8 has said so
	}
	run.confirmed++
	k := o.keys[t.Key]
	if v := k.find(*t.VersionID); v != nil {
		k.versions = slices.DeleteFunc(k.versions, func(b *versionBook) bool { return b == v })
		k.last = removal{time.Now(), x.process, run.pk, on}
		o.wentBy[versionName{t.Key, v.id}] = k.last
	}
}

// prefixOf is which of the run's prefixes covers the key.
func (r *runBook) prefixOf(key string) (int, bool) {
	at := slices.IndexFunc(r.prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
	return at, at >= 0
}
