package config_test

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"custody/internal/config"
)

// template is the part of template.yaml that carries settings. Values with a tag such as !Ref stay nodes.
type template struct {
	Parameters map[string]parameter `yaml:"Parameters"`
	Globals    struct {
		Function function `yaml:"Function"`
	} `yaml:"Globals"`
	Resources map[string]struct {
		Type       string    `yaml:"Type"`
		Properties yaml.Node `yaml:"Properties"`
	} `yaml:"Resources"`
}

type parameter struct {
	Default        *string  `yaml:"Default"`
	AllowedPattern string   `yaml:"AllowedPattern"`
	AllowedValues  []string `yaml:"AllowedValues"`
	MinValue       int64    `yaml:"MinValue"`
	MaxValue       int64    `yaml:"MaxValue"`
}

type function struct {
	Environment struct {
		Variables map[string]yaml.Node `yaml:"Variables"`
	} `yaml:"Environment"`
}

// given are the variables that CloudFormation sets. Those of no value are named for sam local alone.
func (f function) given() []string {
	var names []string
	for name, value := range f.Environment.Variables {
		if value.Tag != "!Ref" || value.Value != "AWS::NoValue" {
			names = append(names, name)
		}
	}
	return names
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

func TestTemplateHasTheSameDefaultsAndChecks(t *testing.T) {
	t.Parallel()
	read := readTemplate(t)
	for _, s := range config.Settings() {
		got, there := read.Parameters[s.Parameter()]
		if there != s.Template {
			t.Errorf("%s: the template has a parameter %s: %t, the catalogue says %t", s.Name, s.Parameter(), there, s.Template)
		}
		if !s.Template {
			continue
		}
		want := parameter{AllowedPattern: s.Pattern, AllowedValues: s.Values, MinValue: s.Min, MaxValue: s.Max}
		if !s.Required {
			want.Default = &s.Default
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (catalogue -, template +):\n%s", s.Parameter(), diff)
		}
	}
}

// Every parameter that carries a setting's name is a setting: Custody's own parameters that are the template's alone are
// listed here, so that one that should reach a function is not forgotten.
func TestTemplateHasNoSettingThatNobodyReads(t *testing.T) {
	t.Parallel()
	templateAlone := []string{
		"AlarmTopic", "OldestOpenRunAlarm", "WebhookErrorRateAlarm", "UnauthorizedAlarm", "StaleAlarm", "StreamAgeAlarm",
		"OverdueReservationAlarm", "LogRetentionDays", "Architecture", "Tracing",
		"WebhookMemory", "CleanupMemory", "SweeperMemory", "WebhookConcurrency", "CleanupConcurrency",
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

func TestTemplateGivesEachFunctionWhatItReads(t *testing.T) {
	t.Parallel()
	read := readTemplate(t)
	for f, resource := range map[config.Function]string{
		config.FunctionWebhook: "WebhookFunction", config.FunctionCleanup: "CleanupFunction", config.FunctionSweeper: "SweeperFunction",
	} {
		var own function
		node := read.Resources[resource].Properties
		if err := node.Decode(&own); err != nil {
			t.Fatalf("%s: %v", resource, err)
		}
		got := slices.Sorted(slices.Values(append(own.given(), read.Globals.Function.given()...)))
		var want []string
		for _, s := range config.For(f) {
			if s.Secret {
				continue // the keys themselves are for local work alone
			}
			want = append(want, s.Name)
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (catalogue -, template +):\n%s", resource, diff)
		}
	}
}

func TestCatalogueIsConsistent(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range config.Settings() {
		forms := 0
		for _, has := range []bool{s.Pattern != "", len(s.Values) > 0, s.Max != 0} {
			if has {
				forms++
			}
		}
		if forms != 1 || s.Allowed == "" || len(s.ReadBy) == 0 || seen[s.Name] {
			t.Errorf("%s has %s forms, allowed %q, readers %v, seen %t", s.Name, strconv.Itoa(forms), s.Allowed, s.ReadBy, seen[s.Name])
		}
		if s.Required && s.Default != "" {
			t.Errorf("%s is required and has a default", s.Name)
		}
		seen[s.Name] = true
	}
}
