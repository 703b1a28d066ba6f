package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// manual is the page of the tool, and writeManual the variable by which `make docs` has it written anew.
const (
	manual      = "../../../docs/custody.md"
	writeManual = "CUSTODY_TEST_WRITE_MANUAL"
)

// The page is the tool's own help, command by command, so that neither can say what the other does not.
func TestTheManualIsTheHelp(t *testing.T) {
	t.Parallel()
	want := manualOf(t)
	if os.Getenv(writeManual) != "" {
		if err := os.WriteFile(manual, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("docs/custody.md is not the help any more; `make docs` writes it (-help +page):\n%s", diff)
	}
}

func manualOf(t *testing.T) string {
	t.Helper()
	var page strings.Builder
	page.WriteString(`# custody

The operator's, producer's and developer's tool: ` + "`make bin/custody`" + ` builds it. This page is its own help, written by
` + "`make docs`" + `. What to do in which case is in [operations](operations.md).

Completion for bash, zsh and fish comes from the tool: ` + "`custody completion bash --help`" + ` says how to load it.
`)
	var describe func(path ...string)
	describe = func(path ...string) {
		help := helpOf(t, path...)
		fmt.Fprintf(&page, "\n%s %s\n\n```text\n%s```\n", strings.Repeat("#", min(len(path)+2, 3)), strings.Join(append([]string{"custody"}, path...), " "), help)
		for _, name := range commandsIn(help) {
			if name != "help" && name != "completion" { // the library's own
				describe(append(path[:len(path):len(path)], name)...)
			}
		}
	}
	describe()
	return page.String()
}

func helpOf(t *testing.T, path ...string) string {
	t.Helper()
	help := exec.Command(os.Getenv("BUILT_TOOL"), append(path, "--help")...)
	help.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()} // nothing that a default could be taken from
	out, err := help.Output()
	if err != nil {
		t.Fatalf("custody %s --help: %v", strings.Join(path, " "), err)
	}
	return string(out)
}

var listed = regexp.MustCompile(`(?m)^  ([a-z-]+) {2,}\S`)

// commandsIn are the names under "Available Commands".
func commandsIn(help string) []string {
	_, list, found := strings.Cut(help, "\nAvailable Commands:\n")
	if !found {
		return nil
	}
	list, _, _ = strings.Cut(list, "\n\n")
	var names []string
	for _, m := range listed.FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
	}
	return names
}

// The shells' own completion is loaded and asked, so that it is more than a text that is printed.
func TestCompletionLoads(t *testing.T) {
	t.Parallel()
	script, err := exec.Command(os.Getenv("BUILT_TOOL"), "completion", "bash").Output()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("bash", "-n", "-c", string(script)).CombinedOutput(); err != nil {
		t.Errorf("bash does not read its completion: %v\n%s", err, out)
	}
	for _, shell := range []string{"zsh", "fish"} {
		if out, err := exec.Command(os.Getenv("BUILT_TOOL"), "completion", shell).Output(); err != nil || !strings.Contains(string(out), "custody") {
			t.Errorf("completion for %s: %v", shell, err)
		}
	}
	// What each of them asks the tool.
	out, err := exec.Command(os.Getenv("BUILT_TOOL"), "__complete", "re").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"release", "report", "resume", "retry"} {
		if !regexp.MustCompile(`(?m)^` + command + `\t`).Match(out) {
			t.Errorf("%s is not completed: %s", command, out)
		}
	}
}
