package s3_test

import (
	"slices"
	"strings"
)

// record is one version or delete marker that was ever written. The model forgets nothing, so the
// place of a marker whose version is gone is still known.
type record struct {
	item
	seq  int
	gone bool
}

// model is S3's versioning of one bucket, told without any structure: a list of all that was written.
type model struct {
	status  string // "", Enabled, Suspended
	records []*record
}

// write records what a put, or a delete without an id, was answered.
func (m *model) write(key, id string, isMarker bool) {
	if m.status != "Enabled" {
		id = null
		m.remove(key, null)
	}
	m.records = append(m.records, &record{item: item{Key: key, ID: id, Marker: isMarker}, seq: len(m.records) + 1})
}

func (m *model) remove(key, id string) {
	for _, r := range m.records {
		if r.Key == key && r.ID == id {
			r.gone = true
		}
	}
}

// live are the versions in listing order.
func (m *model) live() []*record {
	var live []*record
	for _, r := range m.records {
		if !r.gone {
			live = append(live, r)
		}
	}
	slices.SortFunc(live, func(a, b *record) int {
		if c := strings.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		return b.seq - a.seq
	})
	for i, r := range live {
		r.Latest = i == 0 || live[i-1].Key != r.Key
	}
	return live
}

// behind reports whether a record stands behind a marker.
func (m *model) behind(r *record, at marker) bool {
	if r.Key != at.Key || at.ID == "" {
		return r.Key > at.Key
	}
	seq := 0
	for _, w := range m.records {
		if w.Key == at.Key && w.ID == at.ID {
			seq = w.seq // of several null versions the last one
		}
	}
	return r.seq < seq
}

// page is what S3 answers to a listing request.
func (m *model) page(prefix, delimiter string, at marker, most int) onePage {
	var p onePage
	n, seen := 0, ""
	for _, r := range m.live() {
		if !strings.HasPrefix(r.Key, prefix) || !m.behind(r, at) {
			continue
		}
		group := ""
		if i := strings.Index(r.Key[len(prefix):], delimiter); delimiter != "" && i >= 0 {
			group = r.Key[:len(prefix)+i+len(delimiter)]
		}
		if group != "" && (group == seen || strings.HasPrefix(at.Key, group)) {
			continue
		}
		if n == most {
			p.truncated = true
			return p
		}
		n++
		switch {
		case group != "":
			seen = group
			p.prefixes = append(p.prefixes, group)
			p.next = marker{Key: group}
			continue
		case r.Marker:
			p.Markers = append(p.Markers, r.item)
		default:
			p.Versions = append(p.Versions, r.item)
		}
		p.next = marker{r.Key, r.ID}
	}
	p.next = marker{}
	return p
}
