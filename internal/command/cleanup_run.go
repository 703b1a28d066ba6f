package command

import (
	"time"

	"custody/internal/inbox"
)

// CleanupRun asks to delete what expired in one warehouse before a given time.
const CleanupRun = "cleanup.run"

// WarehousePlaceholder stands for the warehouse's id in the stack's warehouse prefixes.
const WarehousePlaceholder = "{warehouse_id}"

const warehouseScope = "warehouse"

func cleanupRun() kind {
	return kind{
		scope:    warehouseScope,
		prefixes: func(s Settings) []Template { return templates(WarehousePlaceholder, s.WarehousePrefixes) },
		names:    []string{"run_id", "warehouse_id", "expired_before"},
		build:    buildCleanupRun,
	}
}

// buildCleanupRun takes run_id as the run key and the warehouse as the scope. It is due once the cutoff is MinObjectAge in
// the past: an upload that was begun before the cutoff may still be completed until then.
func buildCleanupRun(f *fields, s Settings) Command {
	runID, warehouse, expiredBefore := f.id("run_id"), f.id("warehouse_id"), f.time("expired_before")
	return Command{
		Type:  CleanupRun,
		Run:   inbox.RunKey{Type: CleanupRun, Key: runID},
		Scope: scopeOf(warehouseScope, warehouse),
		Selection: inbox.Selection{
			Bucket:   s.Bucket,
			Prefixes: fillPrefixes(s.WarehousePrefixes, WarehousePlaceholder, warehouse),
			Cutoff:   cutoff(expiredBefore),
		},
		Due:  expiredBefore.Add(s.MinObjectAge),
		Hash: hash(CleanupRun, runID, warehouse, expiredBefore.Format(time.RFC3339Nano)),
	}
}

// cutoff is rounded down to the whole second: S3 lists whole seconds, so a version shown at the cutoff's own second may be
// younger than the cutoff.
func cutoff(t time.Time) time.Time { return t.Truncate(time.Second) }
