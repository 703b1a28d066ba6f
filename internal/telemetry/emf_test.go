package telemetry_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"custody/internal/telemetry"
)

var lineTime = time.Date(2026, 8, 30, 12, 0, 0, 123e6, time.UTC)

// written makes a telemetry with a fixed clock and gives its lines back as decoded objects.
func written(t *testing.T, level slog.Level, write func(*telemetry.Telemetry)) []map[string]any {
	t.Helper()
	var out bytes.Buffer
	tel := telemetry.New(&out, "trial", level)
	tel.Now = func() time.Time { return lineTime }
	write(tel)
	var lines []map[string]any
	for text := range strings.Lines(out.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("no JSON object: %v\n%s", err, text)
		}
		if strings.Count(text, `"_aws":`) > 1 {
			t.Errorf("two metadata members:\n%s", text)
		}
		lines = append(lines, line)
	}
	return lines
}

// published is one value under one dimension set, as CloudWatch would extract it.
type published struct {
	Metric string
	Set    string // "Stack=trial,Status=204"
	Unit   string
	Value  float64
}

// extract reads a line as CloudWatch does, and reports whatever breaks the "Specification: Embedded metric format" of the
// CloudWatch user guide or the rules of this project.
func extract(t *testing.T, line map[string]any) []published {
	t.Helper()
	meta, ok := line["_aws"].(map[string]any)
	if !ok {
		return nil
	}
	if got := meta["Timestamp"]; got != float64(lineTime.UnixMilli()) {
		t.Errorf("timestamp %v is not the clock's, in milliseconds", got)
	}
	if len(meta) != 2 {
		t.Errorf("the metadata has further members: %v", meta)
	}
	var all []published
	seen := map[string]bool{}
	for _, d := range meta["CloudWatchMetrics"].([]any) {
		for _, p := range extractDirective(t, line, d.(map[string]any)) {
			if seen[p.Metric+" "+p.Set] {
				t.Errorf("%s is published twice for %s", p.Metric, p.Set)
			}
			seen[p.Metric+" "+p.Set] = true
			all = append(all, p)
		}
	}
	return all
}

func extractDirective(t *testing.T, line, directive map[string]any) []published {
	t.Helper()
	if directive["Namespace"] != "Custody" || len(directive) != 3 {
		t.Errorf("directive %v", directive)
	}
	metrics := directive["Metrics"].([]any)
	if len(metrics) == 0 || len(metrics) > 100 { // the limit of one directive
		t.Errorf("%d metrics in a directive", len(metrics))
	}
	var all []published
	for _, m := range metrics {
		definition := m.(map[string]any)
		name, unit := definition["Name"].(string), definition["Unit"].(string)
		value, isNumber := line[name].(float64)
		if !isNumber || len(definition) != 2 {
			t.Errorf("%s: the root member is %v", name, line[name])
		}
		for _, set := range directive["Dimensions"].([]any) {
			all = append(all, published{Metric: name, Set: dimensionSet(t, line, set.([]any)), Unit: unit, Value: value})
		}
	}
	return all
}

func dimensionSet(t *testing.T, line map[string]any, set []any) string {
	t.Helper()
	if len(set) == 0 || len(set) > 30 || set[0] != "Stack" { // 30: the limit of one set
		t.Errorf("dimension set %v", set)
	}
	var parts []string
	for _, name := range set {
		value, isText := line[name.(string)].(string)
		if !isText || value == "" || len(value) > 1024 {
			t.Errorf("dimension %v has the value %v", name, line[name.(string)])
		}
		parts = append(parts, fmt.Sprintf("%v=%s", name, value))
	}
	return strings.Join(parts, ",")
}

// extractAll is what all lines publish together.
func extractAll(t *testing.T, lines []map[string]any) []published {
	t.Helper()
	var all []published
	for _, line := range lines {
		all = append(all, extract(t, line)...)
	}
	return all
}

// inCatalogue reports what is published under a name, unit or set that the catalogue does not have.
func inCatalogue(t *testing.T, all []published) {
	t.Helper()
	for _, p := range all {
		i := slices.IndexFunc(telemetry.Metrics(), func(m telemetry.Metric) bool { return m.Name == p.Metric })
		if i < 0 {
			t.Errorf("%s is not in the catalogue", p.Metric)
			continue
		}
		m := telemetry.Metrics()[i]
		var names []string
		for part := range strings.SplitSeq(p.Set, ",") {
			name, _, _ := strings.Cut(part, "=")
			names = append(names, name)
		}
		if string(m.Unit) != p.Unit || !slices.ContainsFunc(m.Dimensions, func(s []string) bool { return slices.Equal(s, names) }) {
			t.Errorf("%s in %s for %v is not in the catalogue: %+v", p.Metric, p.Unit, names, m)
		}
	}
}
