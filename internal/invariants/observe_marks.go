package invariants

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// markKind is one of the three things that a version can say against its deletion, each with a request of its own.
type markKind string

const (
	markTag       markKind = "GetObjectTagging"
	markLegalHold markKind = "GetObjectLegalHold"
	markRetention markKind = "GetObjectRetention"
)

// markRead is one answer about one version that a process got.
type markRead struct {
	at    time.Time
	held  bool      // of a tag or a legal hold
	until time.Time // of a retention
	spent bool      // a request rested on it: the next one needs another
}

type markName struct {
	id   string // of the version
	kind markKind
}

// marksBook has what was read, oldest first.
type marksBook map[markName][]*markRead

// lockGrace is how long a retention may be over, by the worker's clock, and still explain S3's refusal.
const lockGrace = time.Minute

// kept says whether anything that was read since then says that the version stays.
func (b marksBook) kept(id string, since time.Time, skew time.Duration) bool {
	for _, kind := range []markKind{markTag, markLegalHold, markRetention} {
		for _, r := range b[markName{id, kind}] {
			if !r.at.Before(since) && (r.held || r.until.After(since.Add(skew-lockGrace))) {
				return true
			}
		}
	}
	return false
}

// pathOf is the bucket and the key that a request names.
func pathOf(r *http.Request) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return bucket, key
}

// about tells calls apart that are on their way side by side.
func (o *observer) about(operation string, r *http.Request) string {
	bucket, key := pathOf(r)
	switch {
	case operation == "PutObject" && bucket == reportBucket:
		return tryOf(key)
	case operation == string(markTag) || operation == string(markLegalHold) || operation == string(markRetention):
		if v := o.keys[key].find(r.URL.Query().Get("versionId")); v != nil {
			return fmt.Sprint(key, " ", v.n)
		}
		return key + ", a version that is gone"
	}
	return ""
}

// readMarks notes what a slice was told about a version.
func (o *observer) readMarks(x exchange, run *runBook, a *answer) {
	_, key := pathOf(x.request)
	id := x.request.URL.Query().Get("versionId")
	v := o.keys[key].find(id)
	switch {
	case id == "" || x.request.Header.Get("X-Amz-Expected-Bucket-Owner") != owner:
		o.violate("marks: %s names version %q of %q, and the owner %q", x.call, id, key, x.request.Header.Get("X-Amz-Expected-Bucket-Owner"))
		return
	case v == nil:
		return
	case v.marker:
		o.violate("marks: %s asks a delete marker of %q", x.call, key)
		return
	case !a.ok() && !strings.Contains(a.body.String(), "<Code>NoSuchObjectLockConfiguration<"), x.fault.Kind != FaultNone, !x.awaited():
		return
	}
	read := markRead{at: time.Now()}
	kind := markKind(x.call.Operation)
	switch kind {
	case markTag:
		read.held = v.tagHold
	case markLegalHold:
		read.held = v.legalHold
	case markRetention:
		read.until = v.retainUntil
	}
	name := markName{id, kind}
	x.process.marks[name] = append(x.process.marks[name], &read)
	if run != nil && underLease(x, run) {
		run.marks[name] = append(run.marks[name], &read)
	}
}

// marked says why what the process has read of the version does not allow to delete it, or "". Every request needs answers of its
// own: a version that is sent again is asked again.
func (o *observer) marked(x exchange, v *versionBook) string {
	if v.marker {
		return ""
	}
	kinds := map[markKind]bool{
		markTag: o.world.set.CheckTags, markLegalHold: o.world.options.Locks, markRetention: o.world.options.Locks,
	}
	for _, kind := range []markKind{markTag, markLegalHold, markRetention} {
		if !kinds[kind] {
			continue
		}
		var last *markRead
		for _, r := range x.process.marks[markName{v.id, kind}] {
			if !r.at.After(x.came) {
				last = r
			}
		}
		switch {
		case last == nil:
			return fmt.Sprintf("%s has never told it about the version", kind)
		case last.spent:
			return fmt.Sprintf("%s was read for an earlier request", kind)
		case last.held:
			return fmt.Sprintf("%s said that it stays", kind)
		case x.sent.Add(x.process.skew).Before(last.until):
			return fmt.Sprintf("%s said that it stays until %s", kind, last.until)
		}
		last.spent = true
	}
	return ""
}
