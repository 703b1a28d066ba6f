package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"custody/internal/inbox"
)

// Slice writes the line and the metrics of one stream record.
func (t *Telemetry) Slice(ctx context.Context, s inbox.SliceSummary) {
	dims := dimensions{DimOutcome: string(s.Outcome)}
	samples := []sample{count(MetricSlices, 1)}
	if worked(s.Outcome) {
		samples = append(samples, sample{MetricVersionsDeleted, float64(s.Deleted)}, sample{MetricVersionsRefused, float64(s.Refused)})
	}
	if stumbled(s.Outcome) {
		samples = append(samples, count(MetricSliceFailures, 1))
		dims[DimCategory] = string(s.Category)
		if s.Category == "" {
			dims[DimCategory] = string(inbox.CategoryInternal)
		}
	}
	if s.Outcome == inbox.SliceCompleted {
		samples = append(samples, seconds(MetricInboxToCompletionAge, s.InboxToCompletion))
	}
	t.line(ctx, sliceLevel(s.Outcome), LineSlice, sliceFields(s), dims, samples...)

	retained := byReason(s.Retained)
	for _, reason := range slices.Sorted(maps.Keys(retained)) {
		var f fields
		f.run(s.Run)
		t.line(ctx, slog.LevelInfo, LineMetric, f, dimensions{DimReason: reason}, sample{MetricVersionsRetained, float64(retained[reason])})
	}
}

func sliceFields(s inbox.SliceSummary) fields {
	var f fields
	f.text("record", s.Record)
	f.run(s.Run)
	f.text("scope", s.Scope)
	f.text("outcome", string(s.Outcome))
	f.text("mode", string(s.Mode))
	f.text("category", string(s.Category))
	f.problem(s.Problem)
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"scan", int64(s.Scan)}, {"slices", int64(s.Slices)}, {"attempts", int64(s.Attempts)}, {"pages", int64(s.Pages)},
		{"batches", int64(s.Batches)}, {"listed", s.Listed}, {"deleted", s.Deleted}, {"absent", s.Absent}, {"refused", s.Refused},
	} {
		f.number(n.name, n.value)
	}
	f.texts("refused_versions", refusedVersions(s.RefusedVersions))
	f.counts("retained", byReason(s.Retained))
	f.milliseconds("duration_ms", s.Duration)
	if s.InboxToCompletion != 0 {
		f.seconds("inbox_to_completion_s", s.InboxToCompletion)
	}
	return f
}

// refusedVersions names each with what S3 said, for whoever is paged and has the log before the item. A key is quoted: it may hold
// anything.
func refusedVersions(vs []inbox.RefusedVersion) []string {
	names := make([]string, len(vs))
	for i, v := range vs {
		names[i] = fmt.Sprintf("%s %s %q", v.Code, v.VersionID, v.Key)
	}
	return names
}

// worked tells a slice that had the lease.
func worked(o inbox.SliceOutcome) bool {
	return o != inbox.SliceNotAcquired && o != inbox.SliceDropped
}

// stumbled tells a slice that met an error of its own. A lost lease is none: the run is in other hands.
func stumbled(o inbox.SliceOutcome) bool {
	return o == inbox.SliceParked || o == inbox.SliceFailed || o == inbox.SliceUnwritten
}

func sliceLevel(o inbox.SliceOutcome) slog.Level {
	switch o {
	case inbox.SliceFailed, inbox.SliceUnwritten:
		return slog.LevelError
	case inbox.SliceParked, inbox.SliceLeaseLost, inbox.SliceDropped:
		return slog.LevelWarn
	case inbox.SliceCompleted, inbox.SliceYielded, inbox.SliceNotAcquired:
	}
	return slog.LevelInfo
}
