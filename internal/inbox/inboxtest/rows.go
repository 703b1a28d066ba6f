package inboxtest

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"custody/internal/inbox"
)

// Rows reads one partition of the index, oldest first. A row holds what the index projects, and no more.
func (s *Store) Rows(_ context.Context, partition string) iter.Seq2[inbox.Run, error] {
	s.mu.Lock()
	var rows []inbox.Run
	for _, r := range s.runs {
		if r.Open == partition && !r.OpenSince.IsZero() {
			rows = append(rows, projected(r))
		}
	}
	s.mu.Unlock()
	slices.SortStableFunc(rows, func(a, b inbox.Run) int { return cmp.Compare(a.OpenSince.UnixMilli(), b.OpenSince.UnixMilli()) })
	return func(yield func(inbox.Run, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func projected(r inbox.Run) inbox.Run {
	return inbox.Run{
		Type: r.Type, Key: r.Key, Open: r.Open, OpenSince: r.OpenSince,
		State: r.State, Attempts: r.Attempts, LeaseExpiresAt: r.LeaseExpiresAt, Wake: r.Wake, WakeAt: r.WakeAt, WakeCount: r.WakeCount,
		NextAttemptAt: r.NextAttemptAt, Scope: r.Scope, ReceivedAt: r.ReceivedAt,
	}
}
