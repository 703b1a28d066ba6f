package cleanup

import (
	"context"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// listed is one page of a scan, or the error that ended the listing.
type listed struct {
	prefix   int
	versions []retention.Version
	last     bool // of its prefix
	err      error
	end      bool // everything is listed; nothing follows
}

// list lists the selection from the place on, a page ahead of the work. The last message is the end or an error. A channel that
// is closed without one is a listing that was cut off with the context: it must not look like the end, or a run would be done
// that was never listed.
func (s *slice) list(ctx context.Context, place inbox.Place) <-chan listed {
	pages := make(chan listed) // the page ahead is the one that waits to be taken
	go func() {
		defer close(pages)
		after := retention.Marker{Key: place.Key}
		for i := place.Prefix; i < len(s.run.Selection.Prefixes); i++ {
			if !s.listPrefix(ctx, i, after, pages) {
				return
			}
			after = retention.Marker{}
		}
		select {
		case pages <- listed{end: true}:
		case <-ctx.Done():
		}
	}()
	return pages
}

func (s *slice) listPrefix(ctx context.Context, prefix int, after retention.Marker, pages chan<- listed) bool {
	for {
		page, err := s.versions.Page(ctx, s.run.Selection.Bucket, s.run.Selection.Prefixes[prefix], after)
		last := page.Next == retention.Marker{}
		select {
		case pages <- listed{prefix: prefix, versions: page.Versions, last: last, err: err}:
		case <-ctx.Done():
			return false
		}
		if err != nil || last {
			return err == nil
		}
		after = page.Next
	}
}
