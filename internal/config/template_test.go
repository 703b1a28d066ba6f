package config_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"custody/internal/config"
)

// template is the part of template.yaml that carries settings. That their defaults and checks are the same is tested where the
// whole template is, in internal/architecture.
type template struct {
	Parameters map[string]yaml.Node `yaml:"Parameters"`
}

func readTemplate(t *testing.T) template {
	t.Helper()
	text, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var read template
	if err := yaml.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// Every parameter that carries a setting's name is a setting: Custody's own parameters that are the template's alone are
// listed here, so that one that should reach a function is not forgotten.
func TestTemplateHasNoSettingThatNobodyReads(t *testing.T) {
	t.Parallel()
	templateAlone := []string{
		"AlarmTopic", "OldestOpenRunAlarm", "WebhookErrorRateAlarm", "UnauthorizedAlarm", "StaleAlarm", "StreamAgeAlarm",
		"OverdueReservationAlarm", "LogRetentionDays", "Architecture", "Tracing",
		"WebhookMemory", "CleanupMemory", "SweeperMemory", "WebhookConcurrency", "CleanupConcurrency", "SweeperConcurrency",
	}
	known := map[string]bool{}
	for _, s := range config.Settings() {
		known[s.Parameter()] = s.Template
	}
	for _, name := range slices.Sorted(maps.Keys(readTemplate(t).Parameters)) {
		if !known[name] && !slices.Contains(templateAlone, name) {
			t.Errorf("no function reads %s", name)
		}
	}
}
