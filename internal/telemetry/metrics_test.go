package telemetry_test

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/telemetry"
)

func TestPublishedMetrics(t *testing.T) {
	t.Parallel()
	const stack = "Stack=trial"
	for name, c := range map[string]struct {
		write func(*testing.T, *telemetry.Telemetry)
		want  []published
	}{
		"an accepted delivery counts, with its latency and its age": {
			func(t *testing.T, tel *telemetry.Telemetry) { tel.Delivery(t.Context(), accepted()) },
			[]published{
				{"Deliveries", stack, "Count", 1}, {"Deliveries", stack + ",Outcome=accepted,Status=204", "Count", 1},
				{"Deliveries", stack + ",Signature=valid", "Count", 1}, {"AckLatency", stack, "Milliseconds", 12.5},
				{"WebhookPanics", stack, "Count", 0}, {"QueueToInboxAge", stack, "Seconds", 90},
			},
		},
		"a late copy says nothing about the queue, and a signature that was not looked at has no metric": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Delivery(t.Context(), inbox.DeliverySummary{Outcome: inbox.OutcomeAlreadyProcessed, Status: 204, Age: time.Hour})
			},
			[]published{
				{"Deliveries", stack, "Count", 1}, {"Deliveries", stack + ",Outcome=already_processed,Status=204", "Count", 1},
				{"AckLatency", stack, "Milliseconds", 0}, {"WebhookPanics", stack, "Count", 0},
			},
		},
		"a command from the future has no age below zero": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Delivery(t.Context(), inbox.DeliverySummary{Outcome: inbox.OutcomeAccepted, Status: 204, Age: -time.Second, AckLatency: -time.Second})
			},
			[]published{
				{"Deliveries", stack, "Count", 1}, {"Deliveries", stack + ",Outcome=accepted,Status=204", "Count", 1},
				{"AckLatency", stack, "Milliseconds", 0}, {"WebhookPanics", stack, "Count", 0}, {"QueueToInboxAge", stack, "Seconds", 0},
			},
		},
		"a panic is counted": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Delivery(t.Context(), inbox.DeliverySummary{Outcome: inbox.OutcomeRetryableFailure, Status: 500, Panicked: true})
			},
			[]published{
				{"Deliveries", stack, "Count", 1}, {"Deliveries", stack + ",Outcome=retryable_failure,Status=500", "Count", 1},
				{"AckLatency", stack, "Milliseconds", 0}, {"WebhookPanics", stack, "Count", 1},
			},
		},
		"a slice counts what it deleted, and what it retained by reason": {
			func(t *testing.T, tel *telemetry.Telemetry) { tel.Slice(t.Context(), yielded()) },
			[]published{
				{"Slices", stack, "Count", 1}, {"Slices", stack + ",Outcome=yielded", "Count", 1},
				{"VersionsDeleted", stack, "Count", 2900}, {"VersionsRefused", stack, "Count", 1},
				{"VersionsRetained", stack + ",Reason=current", "Count", 32}, {"VersionsRetained", stack + ",Reason=legal_hold", "Count", 60},
			},
		},
		"a completed run has an age": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Slice(t.Context(), inbox.SliceSummary{Outcome: inbox.SliceCompleted, InboxToCompletion: time.Minute})
			},
			[]published{
				{"Slices", stack, "Count", 1}, {"Slices", stack + ",Outcome=completed", "Count", 1},
				{"VersionsDeleted", stack, "Count", 0}, {"VersionsRefused", stack, "Count", 0}, {"InboxToCompletionAge", stack, "Seconds", 60},
			},
		},
		"a parked slice counts under its category too": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Slice(t.Context(), inbox.SliceSummary{Outcome: inbox.SliceParked, Category: inbox.CategoryStopped})
			},
			[]published{
				{"Slices", stack, "Count", 1}, {"Slices", stack + ",Outcome=parked", "Count", 1},
				{"VersionsDeleted", stack, "Count", 0}, {"VersionsRefused", stack, "Count", 0},
				{"SliceFailures", stack, "Count", 1}, {"SliceFailures", stack + ",Category=stopped", "Count", 1},
			},
		},
		"a slice that failed counts under its category": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Slice(t.Context(), inbox.SliceSummary{Outcome: inbox.SliceFailed, Category: inbox.CategoryAccessDenied})
			},
			[]published{
				{"Slices", stack, "Count", 1}, {"Slices", stack + ",Outcome=failed", "Count", 1},
				{"VersionsDeleted", stack, "Count", 0}, {"VersionsRefused", stack, "Count", 0},
				{"SliceFailures", stack, "Count", 1}, {"SliceFailures", stack + ",Category=access_denied", "Count", 1},
			},
		},
		"an item that could not be written, without a category, is internal": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Slice(t.Context(), inbox.SliceSummary{Outcome: inbox.SliceUnwritten})
			},
			[]published{
				{"Slices", stack, "Count", 1}, {"Slices", stack + ",Outcome=unwritten", "Count", 1},
				{"VersionsDeleted", stack, "Count", 0}, {"VersionsRefused", stack, "Count", 0},
				{"SliceFailures", stack, "Count", 1}, {"SliceFailures", stack + ",Category=internal", "Count", 1},
			},
		},
		"a dropped record is counted as a slice and nothing else": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Slice(t.Context(), inbox.SliceSummary{Outcome: inbox.SliceDropped})
			},
			[]published{{"Slices", stack, "Count", 1}, {"Slices", stack + ",Outcome=dropped", "Count", 1}},
		},
		"a late record is counted as a slice and nothing else": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Slice(t.Context(), inbox.SliceSummary{Outcome: inbox.SliceNotAcquired})
			},
			[]published{{"Slices", stack, "Count", 1}, {"Slices", stack + ",Outcome=not_acquired", "Count", 1}},
		},
		"a sweep publishes the age and the counts": {
			func(t *testing.T, tel *telemetry.Telemetry) { tel.Sweep(t.Context(), swept()) },
			[]published{
				{"OldestOpenRunAge", stack, "Seconds", 90}, {"OpenRuns", stack, "Count", 3},
				{"FailedRuns", stack, "Count", 2}, {"RecordedRuns", stack, "Count", 1},
				{"OldestOverdueReservationAge", stack, "Seconds", 45},
			},
		},
		"a sweep of a stack with reservations of which none is overdue publishes a zero": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Sweep(t.Context(), inbox.SweepSummary{Failed: -1, Recorded: -1, ReservationsRead: true})
			},
			[]published{{"OldestOverdueReservationAge", stack, "Seconds", 0}},
		},
		"a sweep with nothing open publishes zeroes, since silence means a dead sweeper": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Sweep(t.Context(), inbox.SweepSummary{Counted: true})
			},
			[]published{
				{"OldestOpenRunAge", stack, "Seconds", 0}, {"OpenRuns", stack, "Count", 0},
				{"FailedRuns", stack, "Count", 0}, {"RecordedRuns", stack, "Count", 0},
			},
		},
		"a sweep that could not read the open rows publishes no age": {
			func(t *testing.T, tel *telemetry.Telemetry) {
				tel.Sweep(t.Context(), inbox.SweepSummary{Failed: 2, Recorded: -1})
			},
			[]published{{"FailedRuns", stack, "Count", 2}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := extractAll(t, written(t, slog.LevelInfo, func(tel *telemetry.Telemetry) { c.write(t, tel) }))
			inCatalogue(t, got)
			byName := func(a, b published) int { return strings.Compare(a.Metric+a.Set, b.Metric+b.Set) }
			slices.SortFunc(got, byName)
			slices.SortFunc(c.want, byName)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMetricsPassEveryLevelThatCanBeSet(t *testing.T) {
	t.Parallel()
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		lines := written(t, level, func(tel *telemetry.Telemetry) {
			tel.Delivery(t.Context(), accepted())
			tel.Slice(t.Context(), yielded())
			tel.Sweep(t.Context(), swept())
		})
		for _, line := range lines {
			if line["level"] == "DEBUG" || len(extract(t, line)) == 0 {
				t.Errorf("at %s: %v", level, line)
			}
		}
		if len(lines) != 5 {
			t.Errorf("at %s: %d lines", level, len(lines))
		}
	}
}

// Every metric of the catalogue, under each of its dimension sets, is published by some summary: no alarm can stand on one
// that never comes.
func TestEveryMetricOfTheCatalogueIsPublished(t *testing.T) {
	t.Parallel()
	lines := written(t, slog.LevelInfo, func(tel *telemetry.Telemetry) {
		tel.Delivery(t.Context(), accepted())
		tel.Slice(t.Context(), yielded())
		tel.Slice(t.Context(), inbox.SliceSummary{Outcome: inbox.SliceFailed, Category: inbox.CategoryThrottled})
		tel.Slice(t.Context(), inbox.SliceSummary{Outcome: inbox.SliceCompleted})
		tel.Sweep(t.Context(), swept())
	})
	got := map[string]bool{}
	for _, p := range extractAll(t, lines) {
		set := p.Metric
		for part := range strings.SplitSeq(p.Set, ",") {
			name, _, _ := strings.Cut(part, "=")
			set += " " + name
		}
		got[set] = true
	}
	want := map[string]bool{}
	for _, m := range telemetry.Metrics() {
		for _, set := range m.Dimensions {
			want[m.Name+" "+strings.Join(set, " ")] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Error(diff)
	}
}

func TestDimensionsAreWordsAndNeverIdentifiers(t *testing.T) {
	t.Parallel()
	strange := map[string]int64{"legal_hold": 1, "dispute of warehouse wh-17": 2, "Ümlaut": 4, strings.Repeat("a", 41): 8}
	for i := range 40 {
		strange["reason_"+strings.Repeat("x", i%30)+string(rune('a'+i%26))] = 1
	}
	delivery := accepted()
	delivery.Signature = "d-1"
	lines := written(t, slog.LevelInfo, func(tel *telemetry.Telemetry) {
		tel.Delivery(t.Context(), delivery)
		s := yielded()
		s.Retained, s.Outcome, s.Category = strange, inbox.SliceFailed, "run r-1 broke"
		tel.Slice(t.Context(), s)
	})
	var reasons int
	for _, p := range extractAll(t, lines) {
		for _, id := range []string{"d-1", "k1", "r-1", "wh-17", "s-1", "mlaut", "aaaa"} {
			if strings.Contains(p.Set, id) {
				t.Errorf("%s is a dimension: %s", id, p.Set)
			}
		}
		if p.Metric == "VersionsRetained" {
			reasons++
		}
	}
	if reasons == 0 || reasons > 21 {
		t.Errorf("%d reasons became metrics", reasons)
	}
}

func TestRetainedVersionsAreNeverLostAmongReasons(t *testing.T) {
	t.Parallel()
	retained := map[string]int64{"by hand": 5, "of old": 6, "current": 7}
	lines := written(t, slog.LevelInfo, func(tel *telemetry.Telemetry) {
		tel.Slice(t.Context(), inbox.SliceSummary{Outcome: inbox.SliceYielded, Retained: retained})
	})
	var total float64
	for _, p := range extractAll(t, lines) {
		if p.Metric == "VersionsRetained" {
			total += p.Value
		}
	}
	if total != 18 {
		t.Errorf("%v of 18 versions are accounted for", total)
	}
}
