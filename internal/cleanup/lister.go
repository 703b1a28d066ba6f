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
}

// list lists the selection from the place on, a page ahead of the work. The channel is closed behind the last page, and behind
// an error. It ends with the context.
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
