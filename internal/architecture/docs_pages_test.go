package architecture_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The pages that an engineer deploys by name parameters, outputs and flags. A name that is not there is found by whoever types it.

func TestDocsHaveTheGroupsOfTheParameters(t *testing.T) {
	t.Parallel()
	var want [][]string
	for _, group := range list(at(readTemplate(t).Metadata["AWS::CloudFormation::Interface"], "ParameterGroups")) {
		var names []string
		for _, name := range list(at(group, "Parameters")) {
			names = append(names, text(name))
		}
		want = append(want, []string{text(at(group, "Label", "default")), strings.Join(names, ", ")})
	}
	if diff := cmp.Diff(want, tableOf(t, "docs/deployment.md", "group", "parameters")); diff != "" {
		t.Errorf("groups (-template +docs):\n%s", diff)
	}
}

func TestDocsHaveTheOutputs(t *testing.T) {
	t.Parallel()
	want, got := map[string]string{}, map[string]string{}
	for name, output := range readTemplate(t).Outputs {
		want[name] = text(at(output, "Description"))
	}
	for _, row := range tableOf(t, "docs/deployment.md", "output", "what it is") {
		got[row[0]] = row[1]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outputs (-template +docs):\n%s", diff)
	}
}

func TestDocsAskForOutputsAndResourcesThatThereAre(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	for page, asked := range inPages(t, `\$\(output (\w+)\)`) {
		for _, m := range asked {
			if tpl.Outputs[m[1]] == nil {
				t.Errorf("%s asks for the output %s, which the template does not have", page, m[1])
			}
		}
	}
	for page, asked := range inPages(t, `--logical-resource-id (\w+)`) {
		for _, m := range asked {
			if tpl.Resources[m[1]] == nil {
				t.Errorf("%s asks for the resource %s, which the template does not have", page, m[1])
			}
		}
	}
}

// inPages finds a pattern in every page.
func inPages(t *testing.T, pattern string) map[string][][]string {
	t.Helper()
	found := map[string][][]string{}
	for _, page := range pages(t) {
		found[page] = regexp.MustCompile(pattern).FindAllStringSubmatch(readRoot(t, page), -1)
	}
	return found
}

// Every value that a page gives to a parameter is one that the template takes.
func TestDocsGiveParametersValuesThatAreAllowed(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	given := 0
	for _, page := range pages(t) {
		for _, assignment := range assignments(readRoot(t, page)) {
			name, value := assignment[0], assignment[1]
			given++
			if problem := refusal(tpl, name, value); problem != "" {
				t.Errorf("%s sets %s to %q: %s", page, name, value, problem)
			}
		}
	}
	if given < 20 {
		t.Errorf("only %d values are found: are they written otherwise now?", given)
	}
}

// assignments are what stands behind --parameter-overrides, and `Name=value` in code. SAM takes an empty value as Name="" alone.
func assignments(page string) [][2]string {
	var found [][2]string
	page = strings.ReplaceAll(page, "\\\n", " ")
	for _, line := range regexp.MustCompile("--parameter-overrides ([^\n`]+)").FindAllStringSubmatch(page, -1) {
		for _, m := range regexp.MustCompile(`(?:^|\s|['"])([A-Za-z]+)=("[^"]*"|[^\s'"]*)`).FindAllStringSubmatch(line[1], -1) {
			value := m[2]
			if value == "" {
				value = "nothing, which SAM refuses" // no parameter allows this text
			}
			found = append(found, [2]string{m[1], strings.Trim(value, `"`)})
		}
	}
	for _, m := range regexp.MustCompile("`([A-Z][A-Za-z]+)=([^`\\s]+)`").FindAllStringSubmatch(page, -1) {
		found = append(found, [2]string{m[1], m[2]})
	}
	return found
}

// refusal is why the template does not take a value; "" where it does.
func refusal(tpl template, name, value string) string {
	p, known := tpl.Parameters[name].(object)
	if !known {
		return "the template has no such parameter"
	}
	if strings.Contains(value, "$") {
		return "" // a variable of the shell
	}
	if values := list(p["AllowedValues"]); values != nil {
		if !slices.ContainsFunc(values, func(allowed any) bool { return fmt.Sprint(allowed) == value }) {
			return fmt.Sprintf("allowed is one of %v", values)
		}
		return ""
	}
	if pattern, ok := p["AllowedPattern"].(string); ok {
		if !regexp.MustCompile(`\A(?:` + pattern + `)\z`).MatchString(value) {
			return "it does not match " + pattern
		}
		return ""
	}
	n, err := strconv.Atoi(value)
	if least, most := p["MinValue"].(int), p["MaxValue"].(int); err != nil || n < least || n > most {
		return fmt.Sprintf("allowed is a number from %d to %d", least, most)
	}
	return ""
}

// Flags are asked of the built tool, command by command: what one command has another may not have.
func TestDocsUseFlagsThatTheCommandHas(t *testing.T) {
	t.Parallel()
	tool := filepath.Join(t.TempDir(), "custody")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", tool, "custody/internal/cmd/custody")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the tool: %v\n%s", err, out)
	}
	help := map[string]string{}
	used := 0
	for _, page := range pages(t) {
		for _, use := range commandLines(readRoot(t, page)) {
			command := strings.Join(use.words, " ")
			if _, asked := help[command]; !asked {
				out, err := exec.CommandContext(t.Context(), tool, append(use.words, "--help")...).Output()
				if err != nil {
					t.Errorf("%s names `custody %s`: %v", page, command, err)
				}
				help[command] = string(out)
			}
			for _, flag := range use.flags {
				used++
				if !regexp.MustCompile(regexp.QuoteMeta(flag) + `\b`).MatchString(help[command]) {
					t.Errorf("%s gives `custody %s` the flag %s, which it does not have", page, command, flag)
				}
			}
		}
	}
	if used < 20 {
		t.Errorf("only %d flags are found: are they written otherwise now?", used)
	}
}

type commandLine struct{ words, flags []string }

// commandLines are the uses of the tool in code, each up to the end of its line or of the command.
func commandLines(page string) []commandLine {
	var found []commandLine
	page = strings.ReplaceAll(page, "\\\n", " ")
	for _, m := range regexp.MustCompile("(?m)(?:^\\s*|`|bin/|\\| )custody ((?:hold )?[a-z]+)([^\n`|;&]*)").FindAllStringSubmatch(page, -1) {
		rest := regexp.MustCompile(`'[^']*'`).ReplaceAllString(m[2], "")
		found = append(found, commandLine{strings.Fields(m[1]), regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(rest, -1)})
	}
	return found
}
