package s3

import (
	"slices"
	"sort"
	"strings"
)

// fullChunk is where a chunk splits: moving 512 pointers costs less than a cache miss or two, and a
// bucket of a million versions has some 4,000 chunks.
const fullChunk = 512

// newestSeq is in front of every version of a key, oldestSeq behind them all.
const (
	newestSeq = ^uint64(0)
	oldestSeq = uint64(0)
)

// index holds a bucket's versions in listing order: by key in byte order, newest first within a key.
// It is a list of short sorted lists, so that finding, inserting and removing one of a million
// versions, of one key or of many, is a search and a short move. No chunk is empty.
type index struct{ chunks [][]*version }

// place is a position in the index; it is invalid after the next insert or remove.
type place struct{ chunk, at int }

// before orders (key, seq) as S3 lists.
func (v *version) before(key string, seq uint64) bool {
	if c := strings.Compare(v.key, key); c != 0 {
		return c < 0
	}
	return v.seq > seq
}

// seek is the place of the first version that is not before (key, seq).
func (x *index) seek(key string, seq uint64) place {
	c := sort.Search(len(x.chunks), func(i int) bool {
		chunk := x.chunks[i]
		return !chunk[len(chunk)-1].before(key, seq)
	})
	if c == len(x.chunks) {
		return place{chunk: c}
	}
	chunk := x.chunks[c]
	return place{chunk: c, at: sort.Search(len(chunk), func(i int) bool { return !chunk[i].before(key, seq) })}
}

// at is the version in a place, nil at the end.
func (x *index) at(p place) *version {
	if p.chunk >= len(x.chunks) {
		return nil
	}
	return x.chunks[p.chunk][p.at]
}

// next is the place behind p.
func (x *index) next(p place) place {
	if p.at+1 < len(x.chunks[p.chunk]) {
		return place{p.chunk, p.at + 1}
	}
	return place{chunk: p.chunk + 1}
}

// previous is the version in front of p, nil at the start.
func (x *index) previous(p place) *version {
	switch {
	case p.at > 0:
		return x.chunks[p.chunk][p.at-1]
	case p.chunk > 0:
		last := x.chunks[p.chunk-1]
		return last[len(last)-1]
	}
	return nil
}

// insert adds a version that is not there yet.
func (x *index) insert(v *version) {
	p := x.seek(v.key, v.seq)
	if p.chunk == len(x.chunks) {
		if p.chunk == 0 {
			x.chunks = [][]*version{{v}}
			return
		}
		p = place{p.chunk - 1, len(x.chunks[p.chunk-1])}
	}
	chunk := slices.Insert(x.chunks[p.chunk], p.at, v)
	x.chunks[p.chunk] = chunk
	if len(chunk) >= fullChunk {
		x.split(p.chunk)
	}
}

func (x *index) split(c int) {
	chunk := x.chunks[c]
	half := len(chunk) / 2
	tail := append(make([]*version, 0, fullChunk), chunk[half:]...)
	clear(chunk[half:]) // or the left half would keep the right half's versions alive
	x.chunks[c] = chunk[:half]
	x.chunks = slices.Insert(x.chunks, c+1, tail)
}

// remove takes out the version in a place. Small neighbours are joined, so that what a cleanup leaves
// behind is not thousands of chunks of one.
func (x *index) remove(p place) {
	chunk := slices.Delete(x.chunks[p.chunk], p.at, p.at+1)
	x.chunks[p.chunk] = chunk
	if len(chunk) == 0 {
		x.chunks = slices.Delete(x.chunks, p.chunk, p.chunk+1)
		return
	}
	if n := p.chunk + 1; n < len(x.chunks) && len(chunk)+len(x.chunks[n]) < fullChunk/4 {
		x.chunks[p.chunk] = append(chunk, x.chunks[n]...)
		x.chunks = slices.Delete(x.chunks, n, n+1)
	}
}

// find is the version (key, seq) and its place, nil when it is not there.
func (x *index) find(key string, seq uint64) (*version, place) {
	p := x.seek(key, seq)
	if v := x.at(p); v != nil && v.key == key && v.seq == seq {
		return v, p
	}
	return nil, p
}

// empty reports whether nothing is stored.
func (x *index) empty() bool { return len(x.chunks) == 0 }
