package inprocess

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// Paper is a bucket that exists on paper: its versions are made as they are listed and forgotten as they are deleted, so that it
// takes no memory, however many there are. It has as many versions as it is told, so many of each key, the first of which is
// current. Once all are deleted, it is empty. It is safe for concurrent use.
type Paper struct {
	Versions, PerKey int
	Modified         time.Time // of every version

	Pages, Batches, deleted atomic.Int64
}

// pageSize is S3's.
const pageSize = 1000

// Deleted is how many versions are gone.
func (p *Paper) Deleted() int { return int(p.deleted.Load()) }

// Bucket says that nothing keeps a version.
func (p *Paper) Bucket(context.Context, string) (retention.Bucket, error) {
	return retention.Bucket{Versioning: retention.VersioningEnabled}, nil
}

// Versioning is enabled.
func (p *Paper) Versioning(context.Context, string) (retention.Versioning, error) {
	return retention.VersioningEnabled, nil
}

// Marks says that no version is marked.
func (p *Paper) Marks(_ context.Context, _ string, vs []retention.Version, _ retention.Ask) ([]retention.Marks, error) {
	return make([]retention.Marks, len(vs)), nil
}

// Page makes up one page.
func (p *Paper) Page(_ context.Context, _, prefix string, after retention.Marker) (retention.Page, error) {
	p.Pages.Add(1)
	from, err := p.behind(prefix, after)
	if err != nil || p.Deleted() == p.Versions {
		return retention.Page{}, err
	}
	to := min(from+pageSize, p.Versions)
	page := retention.Page{Versions: make([]retention.Version, 0, max(0, to-from))}
	key, of := "", -1
	for i := from; i < to; i++ {
		if i/p.PerKey != of {
			of = i / p.PerKey
			key = fmt.Sprintf("%s%012d", prefix, of)
		}
		v := retention.Version{Key: key, ID: fmt.Sprintf("v%012d", i), LastModified: p.Modified, Currency: retention.Noncurrent, Size: 1}
		if i%p.PerKey == 0 {
			v.Currency = retention.Current
		}
		page.Versions = append(page.Versions, v)
	}
	if to < p.Versions {
		last := page.Versions[len(page.Versions)-1]
		page.Next = retention.Marker{Key: last.Key, VersionID: last.ID}
	}
	return page, nil
}

// behind is the first version behind the marker.
func (p *Paper) behind(prefix string, after retention.Marker) (int, error) {
	switch {
	case after.VersionID != "":
		n, err := strconv.Atoi(strings.TrimPrefix(after.VersionID, "v"))
		return n + 1, err
	case after.Key != "":
		n, err := strconv.Atoi(strings.TrimPrefix(after.Key, prefix))
		return (n + 1) * p.PerKey, err
	}
	return 0, nil
}

// Delete takes the versions away.
func (p *Paper) Delete(_ context.Context, _ string, vs []retention.Version, _ time.Time) ([]retention.Fate, error) {
	p.Batches.Add(1)
	p.deleted.Add(int64(len(vs)))
	fates := make([]retention.Fate, len(vs))
	for i := range fates {
		fates[i].Kind = retention.FateDeleted
	}
	return fates, nil
}

// PaperRun is the inbox with one run in it: it takes every move of a worker.
type PaperRun struct {
	Run   inbox.Run
	Moves int
}

// Move takes the move. One worker makes one move at a time.
func (r *PaperRun) Move(_ context.Context, _ inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error) {
	r.Moves++
	r.Run.State = m.To
	switch m.Name {
	case inbox.MoveAcquire:
		r.Run.LeaseToken, r.Run.Mode = c.Token, c.Mode
	default:
		r.Run.Place, r.Run.Counters = c.Place, c.Counters
	}
	return r.Run, nil
}

// NoHolds is a holds table that is empty.
type NoHolds struct{}

// Covering reads nothing.
func (NoHolds) Covering(context.Context, string) ([]retention.Hold, error) { return nil, nil }
