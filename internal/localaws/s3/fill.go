package s3

import (
	"fmt"
	"iter"
	"net/http"
)

// Written is one version that Fill writes.
type Written struct {
	Key    string
	Marker bool // a delete marker
}

// Fill makes a bucket of the engine's own account anew, with versioning, and writes the versions in their order: the last one of
// a key is its current one. A bucket of that name is dropped with everything in it. It stands beside the protocol, for those
// who need a million versions at once and measure only what comes after.
func (e *Engine) Fill(name string, versions iter.Seq[Written]) error {
	if !validName(name) {
		return fmt.Errorf("fill bucket %q: no name for a bucket", name)
	}
	// What all have in common is there once: a million versions are some hundred bytes each.
	like := object{body: []byte("x"), etag: `"9dd4e461268c8034f5c8564e155c67a6"`, header: http.Header{"Content-Type": {"binary/octet-stream"}}}
	e.mu.Lock()
	defer e.mu.Unlock()
	b := &bucket{name: name, owner: e.account, created: e.now(), versioning: enabled, nulls: map[string]uint64{}}
	for w := range versions {
		if w.Key == "" || keyTooLong(w.Key) != nil {
			return fmt.Errorf("fill bucket %s: key of %d bytes, must be 1 to 1024", name, len(w.Key))
		}
		v := &version{key: w.Key, marker: w.Marker}
		if !w.Marker {
			v.object = like
		}
		e.store(b, v)
	}
	e.buckets[name] = b
	return nil
}
