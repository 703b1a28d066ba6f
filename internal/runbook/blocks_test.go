package runbook_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// The pages whose blocks are for typing.
const (
	operations   = "docs/operations.md"
	localTesting = "docs/local-testing.md"
)

// block is one ```sh block of a page. Its name is the heading above it and its number there.
type block struct {
	page, name string
	script     string
}

// blocksOf reads a page's blocks in their order. A block within a list is indented as a whole, which the shell does not mind but
// a here-document would.
func blocksOf(t *testing.T, page string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	var found []block
	var heading, indent string
	var lines []string
	number, inside := 0, ""
	for line := range strings.Lines(string(text)) {
		fence := strings.TrimSpace(line)
		switch {
		case inside == "" && strings.HasPrefix(fence, "```"):
			inside, lines = fence, nil
			indent = line[:strings.Index(line, "```")]
		case fence == "```":
			if inside == "```sh" {
				number++
				found = append(found, block{page, fmt.Sprintf("%s, %d", heading, number), strings.Join(lines, "")})
			}
			inside = ""
		case inside != "":
			lines = append(lines, strings.TrimPrefix(line, indent))
		case strings.HasPrefix(line, "#"):
			heading, number = strings.TrimSpace(strings.TrimLeft(line, "#")), 0
		}
	}
	if inside != "" {
		t.Fatalf("%s: a block is not closed", page)
	}
	return found
}

func blockOf(t *testing.T, page, name string) block {
	t.Helper()
	for _, b := range blocksOf(t, page) {
		if b.name == name {
			return b
		}
	}
	t.Fatalf("%s has no block %q", page, name)
	return block{}
}

// elsewhere are the blocks that no local engine can answer, with what they need. The word must stand in the block, so that none is
// left out that could be run.
func elsewhere() map[string]map[string]string {
	return map[string]map[string]string{
		operations: {
			"Before you begin, 1":                            "aws cloudformation",
			"After a deployment: custody check, 1":           "custody check",
			"Rotate the signing keys, 1":                     "aws secretsmanager",
			"Rotate the signing keys, 2":                     "aws secretsmanager",
			"Rotate the signing keys, 3":                     "aws logs",
			"Logs, 1":                                        "aws logs",
			"DeadLettersAlarm, 1":                            "aws sqs",
			"DeadLettersAlarm, 3":                            "aws sqs",
			"StreamAgeHighAlarm, 1":                          "aws lambda list-event-source-mappings",
			"Restore a table from point-in-time recovery, 2": "restore-table-to-point-in-time",
			"Restore a table from point-in-time recovery, 3": "restore-table-from-backup",
			"Restore a table from point-in-time recovery, 4": "sam deploy",
			"Restore a table from point-in-time recovery, 5": "sam deploy",
			"Restore a table from point-in-time recovery, 7": "aws logs",
			"Upgrade, 1":                                     "sam deploy",
			"Remove the stack, and keep the audit trail, 1":  "aws cloudformation",
			"Remove the stack, and keep the audit trail, 2":  "aws logs",
			"Remove the stack, and keep the audit trail, 3":  "aws cloudformation",
			"Remove the stack, and keep the audit trail, 4":  "aws secretsmanager",
		},
		localTesting: {
			"Start it, 1":            "bin/custody local", // runs until Ctrl-C; the tool's own tests start it
			"Kill everything, 1":     "make torture",
			"Other engines, 1":       "make test-dynamodb",
			"sam local, 1":           "sam build",
			"sam local, 2":           "sam local",
			"sam local, 3":           "docker run",
			"One event at a time, 1": "sam local",
		},
	}
}

// Every block is either run, by one of the cases, or cannot be run here for a reason that can be seen in it.
func TestEveryBlockIsRunOrSaysWhatItNeeds(t *testing.T) {
	t.Parallel()
	runs := map[string]map[string]bool{operations: {}, localTesting: {}}
	for name := range operationsCases() {
		runs[operations][name] = true
	}
	for _, name := range localBlocks() {
		runs[localTesting][name] = true
	}
	for page, listed := range elsewhere() {
		for _, b := range blocksOf(t, page) {
			needs, isListed := listed[b.name]
			switch {
			case runs[page][b.name] && isListed:
				t.Errorf("%s: block %q is run, and listed as one that cannot be", page, b.name)
			case isListed && !strings.Contains(b.script, needs):
				t.Errorf("%s: block %q is left out for %q, which it does not have:\n%s", page, b.name, needs, b.script)
			case !isListed && !runs[page][b.name]:
				t.Errorf("%s: block %q is neither run nor listed with what it needs:\n%s", page, b.name, b.script)
			}
			delete(runs[page], b.name)
			delete(listed, b.name)
		}
		for name := range runs[page] {
			t.Errorf("%s has no block %q, which should be run", page, name)
		}
		for name := range listed {
			t.Errorf("%s has no block %q, which is listed as one that cannot be run", page, name)
		}
	}
}

// A block is pasted into an interactive shell. There zsh, which is the shell of macOS, takes a comment for words of the command.
func TestNoBlockOfOperationsHasAComment(t *testing.T) {
	t.Parallel()
	comment := regexp.MustCompile(`(?m)(^|\s)#(\s|$).*$`)
	for _, b := range blocksOf(t, operations) {
		if found := comment.FindString(b.script); found != "" {
			t.Errorf("block %q has the comment %q", b.name, strings.TrimSpace(found))
		}
	}
}
