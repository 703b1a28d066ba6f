package architecture_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"custody/internal/telemetry"
)

// What the dashboard shows is published, under the very dimensions that it asks for: a widget that stays empty looks like a
// quiet day.
func TestTemplateDashboardShowsWhatIsPublished(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	var board struct {
		Widgets []struct {
			Properties struct {
				Title   string
				Region  string
				Metrics [][]any
			}
		}
	}
	body := text(tpl.properties("Dashboard")["DashboardBody"])
	if err := json.Unmarshal([]byte(body), &board); err != nil {
		t.Fatalf("the body is no JSON: %v", err)
	}
	shown := map[string]bool{}
	for _, widget := range board.Widgets {
		for _, line := range widget.Properties.Metrics {
			if widget.Properties.Region != "${AWS::Region}" {
				t.Errorf("%q shows the region %q", widget.Properties.Title, widget.Properties.Region)
			}
			metric, dimensions, own := metricOf(t, line)
			if !own {
				continue
			}
			shown[metric] = true
			if !published(metric, dimensions) {
				t.Errorf("%q shows %s by %v, which is not published", widget.Properties.Title, metric, dimensions)
			}
		}
	}
	for _, m := range telemetry.Metrics() {
		// A panic is a 5xx answer, and a slice that works is in the versions that it deletes.
		if !shown[m.Name] && m.Name != telemetry.MetricWebhookPanics && m.Name != telemetry.MetricSlices {
			t.Errorf("%s is published and not shown", m.Name)
		}
	}
}

var searchPattern = regexp.MustCompile(`^SEARCH\('\{Custody,([A-Za-z,]+)\} MetricName="([A-Za-z]+)" Stack="\$\{AWS::StackName\}"', 'Sum', 300\)$`)

// metricOf reads a line of a widget: a metric with its dimensions in pairs, or a search for all that have some dimensions. It
// is not own where it is one of Lambda's.
func metricOf(t *testing.T, line []any) (metric string, dimensions []string, own bool) {
	t.Helper()
	if search, ok := line[0].(map[string]any); ok {
		found := searchPattern.FindStringSubmatch(text(search["expression"]))
		if found == nil {
			t.Fatalf("no search over this stack's metrics: %v", search["expression"])
		}
		return found[2], strings.Split(found[1], ","), true
	}
	if line[0] != telemetry.Namespace {
		if line[0] != "AWS/Lambda" || line[2] != "FunctionName" {
			t.Errorf("shows %v", line)
		}
		return "", nil, false
	}
	pairs := slices.DeleteFunc(slices.Clone(line[2:]), func(v any) bool { _, options := v.(map[string]any); return options })
	for i := 0; i+1 < len(pairs); i += 2 {
		dimensions = append(dimensions, text(pairs[i]))
		if pairs[i] == telemetry.DimStack && pairs[i+1] != "${AWS::StackName}" {
			t.Errorf("shows the stack %v", pairs[i+1])
		}
	}
	return text(line[1]), dimensions, true
}

func published(metric string, dimensions []string) bool {
	return slices.ContainsFunc(telemetry.Metrics(), func(m telemetry.Metric) bool {
		return m.Name == metric &&
			slices.ContainsFunc(m.Dimensions, func(set []string) bool { return slices.Equal(set, dimensions) })
	})
}

// The saved queries name fields that the lines have, by the documented list, which its own test holds to the code.
func TestTemplateQueriesAskForFieldsThatAreLogged(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	fields := map[string]bool{"msg": true, "level": true, "time": true, "stack": true, "request_id": true}
	for _, row := range tableOf(t, "docs/operations.md", "line", "written for", "fields") {
		for field := range strings.SplitSeq(row[2], ", ") {
			fields[field] = true
		}
	}
	for _, rare := range []string{"hold_id"} { // of the rare lines, which the text behind the table names
		fields[rare] = true
	}
	queries := tpl.of("AWS::Logs::QueryDefinition")
	if len(queries) == 0 {
		t.Fatal("there is no saved query")
	}
	names := regexp.MustCompile(`[a-z_]+(\.[a-z_]+)?`)
	strs := regexp.MustCompile(`"[^"]*"|\bas [a-z_]+|@timestamp`)
	words := []string{"fields", "filter", "stats", "sort", "limit", "count", "min", "max", "latest", "by", "asc", "desc", "and", "or"}
	for _, id := range queries {
		query := text(tpl.properties(id)["QueryString"])
		made := map[string]bool{}
		for _, as := range regexp.MustCompile(`\bas ([a-z_]+)`).FindAllStringSubmatch(query, -1) {
			made[as[1]] = true
		}
		for _, name := range names.FindAllString(strs.ReplaceAllString(query, ""), -1) {
			field, _, _ := strings.Cut(name, ".")
			if !slices.Contains(words, name) && !fields[field] && !made[name] {
				t.Errorf("%s asks for %s, which is none of %v", id, name, slices.Sorted(maps.Keys(fields)))
			}
		}
		for _, group := range list(tpl.properties(id)["LogGroupNames"]) {
			if name := strings.Trim(text(group), "${}"); tpl.resource(name)["Type"] != "AWS::Logs::LogGroup" {
				t.Errorf("%s looks into %s", id, name)
			}
		}
	}
}
