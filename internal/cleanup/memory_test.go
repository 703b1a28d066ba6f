package cleanup_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"custody/internal/retention"
)

// memory is a small versioned bucket: what S3 does with versions, and nothing of its protocol. Random histories are played on it
// by the thousand, which the protocol would make slow. Nothing here looks at what the product decides. It is not safe for
// concurrent use.
type memory struct {
	now       func() time.Time
	keys      map[string][]*stored // newest first
	nulls     map[string]int       // where each key's last null version stood: a marker may name one that is gone
	written   int
	suspended bool
	locking   bool // the bucket has Object Lock
	every2nd  bool // of a delete request is done
}

type stored struct {
	seq    int
	id     string
	at     time.Time // whole seconds, as S3 lists it
	marker bool
	marks
}

// marks are what a version says about itself.
type marks struct {
	tag, legal bool
	until      time.Time
}

// locked reports whether S3 refuses to remove the version.
func (m marks) locked(now time.Time) bool { return m.legal || now.Before(m.until) }

// name names a version. "null" is in turn the name of several.
type name struct{ key, id string }

// seen is one version as a listing shows it.
type seen struct {
	name
	at              time.Time
	marker, current bool
}

func newMemory(now func() time.Time) *memory {
	return &memory{now: now, keys: map[string][]*stored{}, nulls: map[string]int{}}
}

// write puts an object or, as a delete without a version id does, a delete marker.
func (m *memory) write(key string, marker bool) string {
	m.written++
	v := &stored{seq: m.written, id: fmt.Sprintf("v%04d", m.written), at: m.now().Truncate(time.Second), marker: marker}
	if m.suspended {
		m.drop(name{key, retention.NullID})
		v.id, m.nulls[key] = retention.NullID, v.seq
	}
	m.keys[key] = append([]*stored{v}, m.keys[key]...)
	return v.id
}

func (m *memory) find(n name) *stored {
	for _, v := range m.keys[n.key] {
		if v.id == n.id {
			return v
		}
	}
	return nil
}

// remove takes a version away by its id; a locked one stays.
func (m *memory) remove(n name) {
	if v := m.find(n); v != nil && !(m.locking && v.locked(m.now())) {
		m.drop(n)
	}
}

func (m *memory) drop(n name) {
	m.keys[n.key] = slices.DeleteFunc(m.keys[n.key], func(v *stored) bool { return v.id == n.id })
}

func (m *memory) mark(n name, with marks) { m.find(n).marks = with }
func (m *memory) suspend(on bool)         { m.suspended = on }
func (m *memory) place([]row)             {} // the holds are read from the judge's rows

// list is the whole bucket, by key and within a key newest first.
func (m *memory) list() []seen {
	var all []seen
	for _, key := range slices.Sorted(maps.Keys(m.keys)) {
		for i, v := range m.keys[key] {
			all = append(all, seen{name{key, v.id}, v.at, v.marker, i == 0})
		}
	}
	return all
}

// page lists up to size versions below the prefix and behind the marker. Within a key it shows objects before delete markers, as
// the SDK hands out S3's answer, in two lists: no order tells what is current.
func (m *memory) page(prefix string, after retention.Marker, size int) retention.Page {
	p := retention.Page{}
	for _, v := range m.list() {
		if !strings.HasPrefix(v.key, prefix) || !m.behind(v.name, after) {
			continue
		}
		if len(p.Versions) == size {
			last := p.Versions[size-1]
			p.Next = retention.Marker{Key: last.Key, VersionID: last.ID}
			break
		}
		currency := retention.Noncurrent
		if v.current {
			currency = retention.Current
		}
		p.Versions = append(p.Versions, retention.Version{
			Key: v.key, ID: v.id, LastModified: v.at, DeleteMarker: v.marker, Currency: currency,
		})
	}
	slices.SortStableFunc(p.Versions, func(a, b retention.Version) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(number01(a.DeleteMarker), number01(b.DeleteMarker)))
	})
	return p
}

func number01(b bool) int {
	if b {
		return 1
	}
	return 0
}

// behind reports whether a listing that goes on at the marker shows the version.
func (m *memory) behind(v name, after retention.Marker) bool {
	if v.key != after.Key || after.VersionID == "" {
		return v.key > after.Key
	}
	return m.seq(v) < m.seq(name{after.Key, after.VersionID})
}

// seq is where a version stands or stood among those of its key.
func (m *memory) seq(n name) int {
	if n.id == retention.NullID {
		return m.nulls[n.key]
	}
	var seq int
	if _, err := fmt.Sscanf(n.id, "v%d", &seq); err != nil {
		panic(fmt.Sprintf("%q is no id of this bucket", n.id))
	}
	return seq
}
