package s3

import "time"

// version is one object version or delete marker. What never changes after it was stored may be read
// without the lock; tags and lock are replaced as a whole, under the lock.
type version struct {
	key      string
	seq      uint64 // order of writing over the whole engine: the only order of a key's versions
	id       string
	marker   bool
	modified time.Time
	object   object
	tags     []tag
	lock     lock
}

// current is the newest version of a key, delete marker or not; nil when the key has none.
func (b *bucket) current(key string) *version {
	if v := b.versions.at(b.versions.seek(key, newestSeq)); v != nil && v.key == key {
		return v
	}
	return nil
}

// seqOf is where a version id of a key stands, also when the version is gone. A null id that never was
// stands behind everything: there is nothing older to continue with.
func (e *Engine) seqOf(b *bucket, key, id string) uint64 {
	if id == nullID {
		if seq, was := b.nulls[key]; was {
			return seq
		}
		return oldestSeq + 1
	}
	seq, _ := e.ids.read(id)
	return seq
}

// find is the version of a key with an id, nil when there is none.
func (e *Engine) find(b *bucket, key, id string) (*version, place) {
	v, at := b.versions.find(key, e.seqOf(b, key, id))
	if v == nil || v.id != id {
		return nil, at
	}
	return v, at
}

// store makes v the newest version of its key. Without versioning, and while it is suspended, it is the
// null version and takes the place of the null version before it.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/AddingObjectstoVersionSuspendedBuckets.html
func (e *Engine) store(b *bucket, v *version) {
	e.written++
	v.seq, v.modified = e.written, e.now()
	if b.versioning == enabled {
		v.id = e.ids.mint(v.seq)
	} else {
		e.drop(b, v.key, nullID)
		v.id = nullID
		b.nulls[v.key] = v.seq
	}
	b.versions.insert(v)
}

// drop removes one version and returns it, nil when it was not there.
func (e *Engine) drop(b *bucket, key, id string) *version {
	v, at := e.find(b, key, id)
	if v != nil {
		b.versions.remove(at)
	}
	return v
}

// lookup is the version that a request for reading names: by versionId, else the current one.
func (e *Engine) lookup(b *bucket, c *call) (*version, error) {
	if c.query.Has("versionId") {
		return e.lookupID(b, c.key, c.query.Get("versionId"))
	}
	v := b.current(c.key)
	if v == nil {
		return nil, noSuchKey(c.key)
	}
	if v.marker {
		return nil, noSuchKey(c.key).carrying("X-Amz-Delete-Marker", "true").carrying("X-Amz-Version-Id", v.id)
	}
	return v, nil
}

func (e *Engine) lookupID(b *bucket, key, id string) (*version, error) {
	if err := e.checkVersionParameter(id); err != nil {
		return nil, err
	}
	v, _ := e.find(b, key, id)
	if v == nil {
		return nil, noSuchVersion(key, id)
	}
	if v.marker {
		return nil, methodNotAllowed(v)
	}
	return v, nil
}

func (e *Engine) checkVersionParameter(id string) error {
	if id == "" {
		return invalidArgument("versionId", "", "Version id cannot be the empty string")
	}
	return e.checkID("versionId", id)
}

// shownID is the version id that answers about v carry: none while versioning was never enabled.
func (b *bucket) shownID(v *version) string {
	if b.versioning == "" {
		return ""
	}
	return v.id
}
