package architecture_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/telemetry"
)

// An alarm on a metric that nobody publishes, or under other dimensions, stays green for ever.
func TestTemplateAlarmsStandOnMetricsThatArePublished(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	for _, id := range tpl.of("AWS::CloudWatch::Alarm") {
		p := tpl.properties(id)
		if p["Namespace"] != telemetry.Namespace {
			continue
		}
		var dimensions []string
		for _, d := range list(p["Dimensions"]) {
			dimensions = append(dimensions, text(at(d, "Name")))
			if at(d, "Name") == telemetry.DimStack && text(at(d, "Value")) != "${AWS::StackName}" {
				t.Errorf("%s watches the stack %s", id, text(at(d, "Value")))
			}
		}
		if !published(text(p["MetricName"]), dimensions) {
			t.Errorf("%s watches %v by %v, which is not published", id, p["MetricName"], dimensions)
		}
	}
}

func TestTemplateAlarmsDecideAboutSilenceAndSayWhereToLook(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	want := map[string]string{
		"OldestOpenRunAgeAlarm":       "breaching", // silence is a dead sweeper
		"OverdueReservationsAlarm":    "breaching", // nobody looks
		"FailedRunsAlarm":             "notBreaching",
		"DeadLettersAlarm":            "notBreaching",
		"WebhookErrorsAlarm":          "notBreaching",
		"UnauthorizedDeliveriesAlarm": "notBreaching",
		"StaleTimestampsAlarm":        "notBreaching",
		"ConflictingDeliveriesAlarm":  "notBreaching",
		"InvalidCommandsAlarm":        "notBreaching",
		"StreamAgeHighAlarm":          "notBreaching",
		"FunctionErrorsAlarm":         "notBreaching",
		"FunctionThrottlesAlarm":      "notBreaching",
	}
	got := map[string]string{}
	for _, id := range tpl.of("AWS::CloudWatch::Alarm") {
		p := tpl.properties(id)
		got[id] = text(p["TreatMissingData"])
		if description := text(p["AlarmDescription"]); !strings.Contains(description, "Look first") {
			t.Errorf("%s does not say what to look at first: %s", id, description)
		}
		for _, property := range []string{"AlarmActions", "OKActions"} {
			if actions := list(p[property]); len(actions) != 1 || text(actions[0]) != "${AlarmTopic} | ${AWS::NoValue}" {
				t.Errorf("%s does not tell the topic: %s is %v", id, property, p[property])
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("missing data (-want +got):\n%s", diff)
	}
}

// CloudWatch compares with seconds, the parameter is a duration.
func TestTemplateKnowsTheSecondsOfEveryAlarmAge(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	want := object{}
	for _, parameter := range []string{"OldestOpenRunAlarm", "StreamAgeAlarm", "OverdueReservationAlarm"} {
		for _, value := range list(at(tpl.Parameters, parameter, "AllowedValues")) {
			age, err := time.ParseDuration(text(value))
			if err != nil {
				t.Fatal(err)
			}
			want[text(value)] = object{"Value": int(age.Seconds())}
		}
	}
	if diff := cmp.Diff(want, tpl.Mappings["Seconds"]); diff != "" {
		t.Errorf("seconds (-want +got):\n%s", diff)
	}
	age := slices.IndexFunc(telemetry.Metrics(), func(m telemetry.Metric) bool { return m.Name == telemetry.MetricOldestOpenRunAge })
	if unit := telemetry.Metrics()[age].Unit; unit != telemetry.UnitSeconds {
		t.Errorf("the age is published in %s", unit)
	}
}
