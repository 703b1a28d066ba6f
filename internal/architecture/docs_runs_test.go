package architecture_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/retention"
	"custody/internal/telemetry"
)

const (
	nothingYet = "no item"  // what a claim leaves
	sameState  = "the same" // where a move to "" leads
)

func TestDocsHaveTheTableOfMoves(t *testing.T) {
	t.Parallel()
	var want [][]string
	for _, m := range inbox.Moves() {
		want = append(want, []string{m.Name, or(states(m.From), nothingYet), or(string(m.To), sameState), string(m.By)})
	}
	got := columns(tableOf(t, "docs/state-machine.md", "move", "from", "to", "by"), 4)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("moves (-inbox +docs):\n%s", diff)
	}
}

func TestDocsHaveTheTableOfStates(t *testing.T) {
	t.Parallel()
	var want []string
	for _, s := range inbox.States() {
		want = append(want, string(s))
	}
	got := slices.Concat(columns(tableOf(t, "docs/state-machine.md", "state", "meaning"), 1)...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("states (-inbox +docs):\n%s", diff)
	}
}

func TestDocsDrawTheTransitions(t *testing.T) {
	t.Parallel()
	want := map[string]bool{}
	for _, m := range inbox.Moves() {
		if len(m.From) == 0 {
			want[fmt.Sprintf("[*] --> %s: %s", m.To, m.Name)] = true
		}
		for _, from := range m.From {
			want[fmt.Sprintf("%s --> %s: %s", from, or(string(m.To), string(from)), m.Name)] = true
		}
	}
	got := map[string]bool{}
	_, diagram, _ := strings.Cut(readRoot(t, "docs/state-machine.md"), "```mermaid\nstateDiagram-v2\n")
	diagram, _, _ = strings.Cut(diagram, "```")
	for line := range strings.Lines(diagram) {
		arrow, moves, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for move := range strings.SplitSeq(moves, ", ") {
			got[arrow+": "+move] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transitions (-inbox +docs):\n%s", diff)
	}
}

func states(of []inbox.State) string {
	var words []string
	for _, s := range of {
		words = append(words, string(s))
	}
	return strings.Join(words, ", ")
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func TestDocsHaveAHeadingForEveryAlarmAndEveryCategory(t *testing.T) {
	t.Parallel()
	passing, permanent := []string{}, []string{}
	for _, c := range inbox.Categories() {
		if c.Permanent() {
			permanent = append(permanent, string(c))
		} else {
			passing = append(passing, string(c))
		}
	}
	for chapter, want := range map[string][]string{
		"Alarms": readTemplate(t).of("AWS::CloudWatch::Alarm"),
		"Errors after which a run goes on by itself": passing,
		"Errors after which a run has failed":        permanent,
	} {
		sections := sectionsOf(t, "docs/operations.md", chapter)
		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(maps.Keys(sections))); diff != "" {
			t.Errorf("headings of %q (-code +docs):\n%s", chapter, diff)
		}
		for name, text := range sections {
			saysAll(t, name, text)
		}
	}
}

// saysAll looks for what a person who is paged asks, in the order in which it is asked.
func saysAll(t *testing.T, name, text string) {
	t.Helper()
	for _, question := range []string{"Symptom", "First look", "Cause", "Remedy", "Over when"} {
		_, rest, found := strings.Cut(text, "\n- **"+question+":** ")
		if !found {
			t.Errorf("%s does not say its %q, or not in its place", name, question)
			return
		}
		text = rest
	}
}

func TestDocsHaveEveryReasonToKeep(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, reason := range retention.Reasons() {
		want = append(want, string(reason))
	}
	for _, row := range tableOf(t, "docs/operations.md", "reason", "why an expired version stays") {
		got = append(got, strings.Split(row[0], ", ")...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons (-retention +docs):\n%s", diff)
	}
}

func TestDocsHaveTheCatalogueOfMetrics(t *testing.T) {
	t.Parallel()
	var want [][]string
	for _, m := range telemetry.Metrics() {
		var sets []string
		for _, set := range m.Dimensions {
			sets = append(sets, strings.Join(set, ", "))
		}
		want = append(want, []string{m.Name, string(m.Unit), strings.Join(sets, "; "), m.Meaning})
	}
	if diff := cmp.Diff(want, tableOf(t, "docs/operations.md", "metric", "unit")); diff != "" {
		t.Errorf("metrics (-telemetry +docs):\n%s", diff)
	}
}

// The fields are read off lines that say everything that a line can say.
func TestDocsHaveTheFieldsOfEveryLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tel := telemetry.New(&out, "s", slog.LevelInfo)
	key := inbox.RunKey{Type: "cleanup.run", Key: "r-1"}
	tel.Delivery(t.Context(), inbox.DeliverySummary{
		DeliveryID: "d", KeyID: "k", CommandType: key.Type, RunKey: key.Key, Scope: "s", ReservationID: "r", Outcome: inbox.OutcomeAccepted,
		Status: 204, Signature: "valid", Problem: "p", Age: time.Second,
	})
	tel.Slice(t.Context(), inbox.SliceSummary{
		Record: "r", Run: key, Scope: "s", Outcome: inbox.SliceCompleted, Mode: inbox.ModeDelete, Category: "c", Problem: "p",
		Retained: map[string]int64{"other": 1}, RefusedVersions: []inbox.RefusedVersion{{Key: "k"}}, InboxToCompletion: time.Second,
	})
	tel.Sweep(t.Context(), inbox.SweepSummary{Counted: true, ReservationsRead: true, Problem: "p"})
	tel.Canary(t.Context(), inbox.Canary{
		Key: "k", Outcome: inbox.CanaryFailed, Category: "c", Problem: "p", Versions: []inbox.CanaryVersion{{Fate: inbox.CanaryDeleted}},
	})

	want := map[string][]string{}
	for line := range bytes.Lines(out.Bytes()) {
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint(fields["msg"])
		for _, everywhere := range []string{"time", "level", "msg", "stack", "_aws"} {
			delete(fields, everywhere)
		}
		// Metrics and dimensions alone begin with a capital.
		maps.DeleteFunc(fields, func(field string, _ any) bool { return field[0] >= 'A' && field[0] <= 'Z' })
		want[name] = slices.Sorted(maps.Keys(fields))
	}
	got := map[string][]string{}
	for _, row := range tableOf(t, "docs/operations.md", "line", "written for", "fields") {
		got[row[0]] = slices.Sorted(slices.Values(strings.Split(row[2], ", ")))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-telemetry +docs):\n%s", diff)
	}
}
