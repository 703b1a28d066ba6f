package architecture_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custody/internal/config"
)

func TestDocsHaveTheSettings(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	var parameters, others [][]string
	for _, s := range config.Settings() {
		var readers []string
		for _, f := range s.ReadBy {
			readers = append(readers, string(f))
		}
		by, standard := strings.Join(readers, ", "), or(s.Default, "empty")
		if s.Required {
			standard = "required"
		}
		if s.Template {
			parameters = append(parameters, []string{s.Parameter(), standard, by, describe(tpl, s.Parameter()), s.Allowed})
		} else {
			others = append(others, []string{s.Name, standard, by, s.Allowed})
		}
	}
	if diff := cmp.Diff(parameters, tableOf(t, "docs/settings.md", "parameter", "default", "read by")); diff != "" {
		t.Errorf("parameters (-code +docs):\n%s", diff)
	}
	if diff := cmp.Diff(others, tableOf(t, "docs/settings.md", "setting", "default")); diff != "" {
		t.Errorf("settings without a parameter (-code +docs):\n%s", diff)
	}
}

func TestDocsHaveTheParametersOfTheTemplateAlone(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	want, got := map[string][]string{}, map[string][]string{}
	for name := range tpl.Parameters {
		want[name] = []string{or(text(at(tpl.Parameters, name, "Default")), "empty"), describe(tpl, name)}
	}
	for _, s := range config.Settings() {
		delete(want, s.Parameter())
	}
	// The page says what Custody comes with. `make architecture` may have set another one here, and the profiles are held to that.
	want["Architecture"][0] = "arm64"
	for _, row := range tableOf(t, "docs/settings.md", "parameter", "default", "meaning") {
		got[row[0]] = row[1:]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parameters (-template +docs):\n%s", diff)
	}
}

func describe(tpl template, parameter string) string {
	return strings.Join(strings.Fields(text(at(tpl.Parameters, parameter, "Description"))), " ")
}

// A default that another page names is the catalogue's, too.
func TestDocsNameTheDefaultsOfTheLimits(t *testing.T) {
	t.Parallel()
	defaults := map[string]string{}
	parameters := readTemplate(t).Parameters // the settings among them have the catalogue's default
	for name := range parameters {
		defaults[name] = text(at(parameters, name, "Default"))
	}
	for _, row := range tableOf(t, "docs/wire-contract.md", "limit", "default") {
		if first, _, _ := strings.Cut(row[1], " "); first != defaults[row[2]] {
			t.Errorf("wire-contract.md says %s of %s, which is %s", row[1], row[2], defaults[row[2]])
		}
	}
	mention := regexp.MustCompile("(?s)([0-9]+)\\s[^.()0-9]*\\(`([A-Za-z]+)`\\)|`([A-Za-z]+)`\\s\\(([0-9]+)\\)")
	for _, page := range pages(t) {
		for _, m := range mention.FindAllStringSubmatch(readRoot(t, page), -1) {
			value, name := m[1]+m[4], m[2]+m[3]
			standard, isParameter := defaults[name]
			if !isParameter {
				continue
			}
			if number := regexp.MustCompile(`^[0-9]+`).FindString(standard); number != value {
				t.Errorf("%s says %s of %s, whose default is %s", page, value, name, standard)
			}
		}
	}
}
