package telemetry

import (
	"context"
	"log/slog"

	"custody/internal/inbox"
)

// Canary writes the line of one canary. It counts for no metric: nobody's objects were worked.
func (t *Telemetry) Canary(ctx context.Context, c inbox.Canary) {
	var f fields
	f.text("key", c.Key)
	f.text("outcome", string(c.Outcome))
	f.text("category", string(c.Category))
	f.problem(c.Problem)
	fates := map[string]int64{}
	for _, v := range c.Versions {
		fates[string(v.Fate)]++
	}
	f.counts("fates", fates)
	f.milliseconds("duration_ms", c.Duration)
	level := slog.LevelInfo
	if c.Outcome != inbox.CanaryDone { // who asked is told, and at work: nobody is to be woken for it
		level = slog.LevelWarn
	}
	t.line(ctx, level, LineCanary, f, dimensions{})
}
