package telemetry

import (
	"context"
	"log/slog"

	"custody/internal/inbox"
)

// Sweep writes the line and the metrics of one tick. What could not be read is not published: a zero would end an alarm,
// and silence starts one.
func (t *Telemetry) Sweep(ctx context.Context, s inbox.SweepSummary) {
	var f fields
	var samples []sample
	f.flag("counted", s.Counted)
	if s.Counted {
		f.number("open", int64(s.Open))
		f.seconds("oldest_open_age_s", s.OldestOpenAge)
		samples = append(samples, seconds(MetricOldestOpenRunAge, s.OldestOpenAge), count(MetricOpenRuns, s.Open))
	}
	for _, c := range []struct {
		field, metric string
		rows          int
	}{{"failed", MetricFailedRuns, s.Failed}, {"recorded", MetricRecordedRuns, s.Recorded}} {
		if c.rows >= 0 { // below zero: not known
			f.number(c.field, int64(c.rows))
			samples = append(samples, count(c.metric, c.rows))
		}
	}
	if s.ReservationsRead {
		f.seconds("oldest_overdue_reservation_age_s", s.OldestOverdue)
		samples = append(samples, seconds(MetricOldestOverdueReservationAge, s.OldestOverdue))
	}
	f.number("woken", int64(s.Woken))
	f.number("given_up", int64(s.GivenUp))
	f.number("refused", int64(s.Refused))
	f.number("bad_rows", int64(s.BadRows))
	f.number("errors", int64(s.Errors))
	f.flag("limited", s.Limited)
	f.problem(s.Problem)
	f.milliseconds("duration_ms", s.Duration)
	t.line(ctx, sweepLevel(s), LineSweep, f, dimensions{}, samples...)
}

func sweepLevel(s inbox.SweepSummary) slog.Level {
	switch {
	case !s.Counted:
		return slog.LevelError
	case s.Errors > 0, s.BadRows > 0, s.Limited:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
