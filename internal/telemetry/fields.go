package telemetry

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"custody/internal/inbox"
)

// fields collects attributes; what is empty is left out.
type fields []slog.Attr

// Bounds on text that may come from outside, so that one line stays far below the 1 MB that CloudWatch takes.
const (
	maxText    = 300
	maxProblem = 1000
)

func (f *fields) text(name, value string) {
	if value != "" {
		*f = append(*f, slog.String(name, shorten(value, maxText)))
	}
}

// texts is a list, each of its texts cut like one of its own; an empty list is left out.
func (f *fields) texts(name string, values []string) {
	if len(values) == 0 {
		return
	}
	short := make([]string, len(values))
	for i, v := range values {
		short[i] = shorten(v, maxText)
	}
	*f = append(*f, slog.Any(name, short))
}

func (f *fields) problem(value string) {
	if value != "" {
		*f = append(*f, slog.String("problem", shorten(value, maxProblem)))
	}
}

func (f *fields) number(name string, n int64) { *f = append(*f, slog.Int64(name, n)) }

func (f *fields) flag(name string, on bool) { *f = append(*f, slog.Bool(name, on)) }

func (f *fields) seconds(name string, d time.Duration) {
	*f = append(*f, slog.Float64(name, d.Seconds()))
}

func (f *fields) milliseconds(name string, d time.Duration) {
	*f = append(*f, slog.Float64(name, float64(d)/float64(time.Millisecond)))
}

// shorten cuts at a whole character; bytes that are no UTF-8 are replaced.
func shorten(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// run names the run as people type it; the type alone, of a command that starts none, is not a run.
func (f *fields) run(key inbox.RunKey) {
	if key.Key != "" {
		f.text("run", key.String())
	}
}

func (f *fields) counts(name string, counts map[string]int64) {
	var group []any
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		group = append(group, slog.Int64(key, counts[key]))
	}
	*f = append(*f, slog.Group(name, group...))
}
