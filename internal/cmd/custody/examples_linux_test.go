package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// example is what a line of a command's help needs, and what it comes to.
type example struct {
	tool                      // the environment that it is typed in
	world  func(t *testing.T) // makes what there must be, anew; nil: nothing
	beside bool               // typed beside a local stack, in its folder, else in one with a delivery.json
	until  string             // what is on the screen when keys are typed
	keys   string
	then   string // typed in the same shell behind it
	says   string // on the screen at the end
}

const ctrlC = "\x03"

// asked is the example of a command that asks a question, which is answered.
func (e example) asked(question string) example {
	e.until, e.keys = question, "y\n"
	return e
}

// Every example of every command works as it is printed, in a shell on a terminal, on the local stack.
func TestEveryExampleWorksAsPrinted(t *testing.T) {
	t.Parallel()
	known := examples(t)
	printed := map[string]bool{}
	for command, lines := range printedExamples(t) {
		if len(lines) == 0 {
			t.Errorf("%s has no example", command)
		}
		for _, line := range lines {
			bare := withoutComment(line)
			if printed[bare] { // a command and its parent have the same one
				continue
			}
			printed[bare] = true
			if e, has := known[bare]; has {
				t.Run(bare, func(t *testing.T) { e.typed(t, line) })
			} else {
				t.Errorf("%s: no test types %s", command, bare)
			}
		}
	}
	for line := range known {
		if !printed[line] {
			t.Errorf("no help prints %s any more", line)
		}
	}
}

// printedExamples are the lines under each command's Examples, continued ones whole, in the tree of all commands.
func printedExamples(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	var look func(path ...string)
	look = func(path ...string) {
		help := helpOf(t, path...)
		_, rest, _ := strings.Cut(help, "\nExamples:\n")
		text, _, _ := strings.Cut(rest, "\n\n")
		name := strings.Join(append([]string{"custody"}, path...), " ")
		all[name] = nil
		for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
			all[name] = append(all[name], strings.TrimSpace(line))
		}
		for _, sub := range commandsIn(help) {
			look(append(path[:len(path):len(path)], sub)...)
		}
	}
	look()
	return all
}

var (
	trailing = regexp.MustCompile(` +# .*$`)
	spaces   = regexp.MustCompile(` {2,}`)
)

func withoutComment(line string) string {
	return spaces.ReplaceAllString(trailing.ReplaceAllString(line, ""), " ")
}

// typed types the line, comment and all, and what is to be typed behind it.
func (e example) typed(t *testing.T, line string) {
	t.Helper()
	for _, needed := range []string{"curl", "jq", "xargs"} {
		if _, err := exec.LookPath(needed); err != nil && strings.Contains(line, needed+" ") {
			t.Skipf("%s is not installed", needed)
		}
	}
	if e.world != nil {
		e.world(t)
	}
	shell := exec.CommandContext(t.Context(), "bash", "-c", "set -o pipefail\n"+line+"\n"+e.then)
	shell.Dir = e.folder(t)
	shell.Env = []string{"PATH=" + filepath.Dir(os.Getenv("BUILT_TOOL")) + ":" + os.Getenv("PATH")}
	p := e.startOnTerminal(t, 120, 40, shell)
	if e.keys != "" {
		p.until(t, e.until)
		p.types(t, e.keys)
	}
	code, shown := p.end(t)
	if shown = controls.ReplaceAllString(shown, ""); code != 0 || !strings.Contains(shown, e.says) {
		t.Errorf("exit code %d, and on the screen should be %q:\n%s", code, e.says, shown)
	}
}

// folder is where the line is typed.
func (e example) folder(t *testing.T) string {
	t.Helper()
	if e.beside {
		l := startLocal(t, "--env-file", "local.env")
		t.Cleanup(func() { l.end(t, os.Interrupt) })
		return l.dir
	}
	dir := t.TempDir()
	delivery := []byte(`{"run_id":"r-3","warehouse_id":"wh-17","expired_before":"2026-08-30T00:00:00Z"}`)
	if err := os.WriteFile(filepath.Join(dir, "delivery.json"), delivery, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
