package runbook_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"custody/internal/inbox"
)

// toFillIn is the block with the three lines that a person fills in before one of the moves.
const toFillIn = "Without the tool: pk='run#cleanup.run#r-1'"

// blockCase is how one block is run: in which state, with which variables, and what must be true behind it.
type blockCase struct {
	// prepare makes the state, and gives the shell what stands before the block: variables that the text tells to set.
	prepare func(t *testing.T, s *sandbox) string
	check   func(t *testing.T, s *sandbox, out string)
	// asks: the tool asks in it, and is answered with yes. What it asks it writes to stderr, where nothing else may be otherwise.
	asks bool
}

// switchedOn skips the tests that take programs of others, and says which of them is left out. A program that is missing without
// having been left out fails the test: it would otherwise be green on a machine that can prove nothing.
func switchedOn(t *testing.T) (without string) {
	t.Helper()
	if os.Getenv("CUSTODY_TEST_RUNBOOK") == "" {
		t.Skip("needs the AWS CLI and jq, and so it runs in make test-runbook alone")
	}
	if without = os.Getenv("CUSTODY_TEST_RUNBOOK_WITHOUT"); without != "" && without != "jq" {
		t.Fatalf("%q cannot be left out, only jq can", without)
	}
	if _, err := exec.LookPath("aws"); err != nil {
		t.Fatal("the AWS CLI is not installed: pip install -r .ci/requirements-awscli.txt")
	}
	if _, err := exec.LookPath("jq"); err != nil && without == "" {
		t.Fatal("jq is not installed; make test-runbook WITHOUT=jq leaves out what needs it")
	}
	return without
}

// buildTool builds the tool into a folder bin, as `make bin/custody` does.
func buildTool(t *testing.T) (bin string) {
	t.Helper()
	bin = filepath.Join(t.TempDir(), "bin")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", filepath.Join(bin, "custody"), "./internal/cmd/custody")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the tool: %v\n%s", err, out)
	}
	return bin
}

// What the page tells to type does what the page says, typed as it stands.
func TestRunbookBlocksOfOperations(t *testing.T) {
	t.Parallel()
	without := switchedOn(t)
	bin := buildTool(t)
	for name, c := range operationsCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := blockOf(t, operations, name).script
			if without != "" && regexp.MustCompile(`\b`+without+`\b`).MatchString(script) {
				t.Skipf("SKIPPED: it needs %s, which was left out", without)
			}
			s := newSandbox(t, bin)
			if err := os.Symlink(bin, filepath.Join(s.dir, "bin")); err != nil {
				t.Fatal(err)
			}
			before := ""
			if c.prepare != nil {
				before = c.prepare(t, s)
			}
			if c.asks {
				s.answers = answersYes(t)
			}
			r := s.shell(t, before+"\n"+script)
			if r.code != 0 || r.stderr != "" && !c.asks {
				t.Fatalf("it ended with %d:\n%s%s", r.code, r.stdout, r.stderr)
			}
			c.check(t, s, r.stdout)
		})
	}
}

func operationsCases() map[string]blockCase {
	cases := map[string]blockCase{
		"What is open, and what waits: aws dynamodb query": {prepare: threeRuns, check: func(t *testing.T, _ *sandbox, out string) {
			var keys []string
			for line := range strings.Lines(out) {
				keys = append(keys, cmp.Or(strings.Join(slices.Concat(strings.Fields(line)[1:4], strings.Fields(line)[5:]), " ")))
			}
			same(t, []string{"run#cleanup.run#r-1 pending 0 warehouse:wh-17", "run#cleanup.run#r-2 pending 0 warehouse:wh-17"}, keys)
		}},
		"What is open, and what waits: aws dynamodb get-item": {prepare: threeRuns, check: func(t *testing.T, _ *sandbox, out string) {
			says(t, out, `"run_key": {`, `"S": "r-1"`, `"selection": {`)
		}},
		"What is open, and what waits: aws dynamodb get-item (2)": {prepare: threeRuns, check: func(t *testing.T, _ *sandbox, out string) {
			says(t, out, `"outcome": {`, `"S": "accepted"`, `"S": "r-1"`)
		}},
		// The block that is filled in, as it is printed.
		toFillIn: {
			prepare: func(*testing.T, *sandbox) string { return "trap 'printf %s \"$pk $by $reason\"' EXIT" },
			check:   func(t *testing.T, _ *sandbox, out string) { same(t, "run#cleanup.run#r-1 you policy mended", out) },
		},
		// A run that is over is followed no further.
		"What is open, and what waits: custody show": {prepare: func(t *testing.T, s *sandbox) string {
			claim(t, s.inbox, "r-1")
			s.set(t, "r-1", inbox.AttrState, string(inbox.StateDone))
			return ""
		}, check: func(t *testing.T, _ *sandbox, out string) {
			same(t, 2, strings.Count(out, "it has ended; its item expires"))
		}},
		"A run that needs an operator: custody retry": {prepare: manyRuns, asks: true, check: func(t *testing.T, s *sandbox, out string) {
			says(t, out, "r-3 is pending", "r-4 is pending") // before the last command dismisses them with the rest
			for key, want := range map[string]string{"r-1": "sent twice", "r-2": "sent twice", "r-3": "wrong cutoff", "r-4": "wrong cutoff",
				"r-5": "wrong cutoff"} {
				run := s.run(t, key)
				same(t, inbox.StateDismissed, run.State)
				same(t, want, run.Operation.Reason)
			}
		}},
	}
	for _, more := range []map[string]blockCase{moveCases(), holdCases(), reportCases(), streamCases(), restoreCases()} {
		for name, c := range more {
			cases[name] = c
		}
	}
	return cases
}

// moveCases make each move on the run r-1. That each does what the move does is held against it elsewhere, for every shape.
func moveCases() map[string]blockCase {
	from := map[string]inbox.State{inbox.MoveRetry: inbox.StateFailed, inbox.MoveRelease: inbox.StateRecorded, inbox.MoveDismiss: inbox.StateRunning}
	cases := map[string]blockCase{}
	for i, move := range operatorsMoves() {
		name := "Without the tool: aws dynamodb update-item"
		if i > 0 {
			name += fmt.Sprintf(" (%d)", i+1)
		}
		cases[name] = blockCase{
			prepare: func(t *testing.T, s *sandbox) string {
				claim(t, s.inbox, "r-1")
				s.set(t, "r-1", inbox.AttrState, string(from[move.Name]))
				return blockOf(t, operations, toFillIn).script
			},
			check: func(t *testing.T, s *sandbox, out string) {
				same(t, fmt.Sprintf("run#cleanup.run#r-1\t%s\t%s\tyou\n", move.To, move.Name), out)
				run := s.run(t, "r-1")
				same(t, move.To, run.State)
				same(t, inbox.Operation{Move: move.Name, By: "you", Reason: "policy mended", At: run.Operation.At}, *run.Operation)
			},
		}
	}
	return cases
}
