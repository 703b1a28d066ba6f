package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// chapter is the text under a heading of the runbook.
func chapter(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("the runbook has no heading %q", heading)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

const (
	reportChapter = "What was deleted, and why something was kept: the report"
	planChapter   = "What would be deleted: the plan"
)

// typed are the commands of help or of a page as somebody types them, comments and all.
func typed(text, command string) []string {
	text = strings.ReplaceAll(text, "\\\n", " ")
	return regexp.MustCompile(`(?m)^ *custody `+command+` .*$`).FindAllString(text, -1)
}

// What is printed works as it stands, in a shell, on the local stack.
func TestTheRunbooksReportsAndPlansWorkAsPrinted(t *testing.T) {
	t.Parallel()
	w := startWhole(t, nil)
	w.put(t, "pod/wh-17/a.txt")
	w.deliver(t, "d-1", "r-1")
	w.until(t, "r-1", in("done"))
	for command, heading := range map[string]string{"report": reportChapter, "plan": planChapter} {
		all := typed(chapter(t, heading), command)
		if len(all) == 0 {
			t.Errorf("%s: no example is found: are they written otherwise now?", command)
		}
		for _, line := range all {
			shell := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", line)
			shell.Dir = t.TempDir()
			shell.Env = []string{"HOME=" + shell.Dir, "PATH=" + filepath.Dir(os.Getenv("BUILT_TOOL")) + ":" + os.Getenv("PATH")}
			for name, value := range w.env {
				shell.Env = append(shell.Env, name+"="+value)
			}
			if out, err := shell.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
	}
}

// The names that scripts stand on are those of the runbook's table.
func TestTheRunbookHasTheFieldsOfAReportAndAPlan(t *testing.T) {
	t.Parallel()
	x := newPlanned(t)
	x.report(t, "r-1")
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| ((?:`[a-z_0-9]+`(?:, )?)+) \\|").FindAllStringSubmatch(chapter(t, reportChapter), -1) {
		for _, name := range regexp.MustCompile("[a-z_0-9]+").FindAllString(m[1], -1) {
			documented[name] = true
		}
	}
	seen := map[string]bool{"key_base64": true}
	for _, output := range []string{
		x.does(t, "report", "cleanup.run/r-1", "--json"), x.does(t, "report", "cleanup.run/r-1", "--json", "--key", "pod/wh-17/refused"),
	} {
		for _, o := range objects(t, output) {
			for name := range o {
				seen[name] = true
			}
		}
	}
	for _, args := range [][]string{{}, {"--key", "pod/wh-17/refused"}} {
		for _, name := range table(t, x.does(t, append([]string{"report", "cleanup.run/r-1", "--csv"}, args...)...))[0] {
			if !seen[name] {
				t.Errorf("%s is in CSV and not in JSON", name)
			}
		}
	}
	for _, word := range []string{"gone", "stays", "unknown"} { // the table of states
		delete(documented, word)
	}
	delete(documented, "means")
	if !reflect.DeepEqual(documented, seen) {
		t.Errorf("documented are %v, the tool says %v", documented, seen)
	}
	x.put(t, "pod/wh-17/a", "yes")
	text := chapter(t, planChapter)
	for _, o := range objects(t, x.does(t, planned("--json")...)) {
		for name := range o {
			if !documented[name] && !strings.Contains(text, "`"+name+"`") {
				t.Errorf("the runbook does not name the field %s of a plan", name)
			}
		}
	}
}
