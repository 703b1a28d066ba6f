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

// block is one ```sh block of a page. Its name is the heading above it and the first command in it, with a number where a heading
// has several of that name.
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
	inside, numbers := "", map[string]int{}
	for line := range strings.Lines(string(text)) {
		fence := strings.TrimSpace(line)
		switch {
		case inside == "" && strings.HasPrefix(fence, "```"):
			inside, lines = fence, nil
			indent = line[:strings.Index(line, "```")]
		case fence == "```":
			if inside == "```sh" {
				b := block{page: page, script: strings.Join(lines, "")}
				b.name = heading + ": " + firstCommand(b.script)
				if numbers[b.name]++; numbers[b.name] > 1 {
					b.name += fmt.Sprintf(" (%d)", numbers[b.name])
				}
				found = append(found, b)
			}
			inside = ""
		case inside != "":
			lines = append(lines, strings.TrimPrefix(line, indent))
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
	}
	if inside != "" {
		t.Fatalf("%s: a block is not closed", page)
	}
	return found
}

// firstCommand is a program with what it is to do, or the first word of a block without one.
func firstCommand(script string) string {
	command := regexp.MustCompile(`(?m)(?:^ *|\()((?:aws [a-z0-9-]+|(?:bin/)?custody|make|sam|docker) [a-z0-9/-]+)`)
	if m := command.FindStringSubmatch(script); m != nil {
		return m[1]
	}
	return strings.Fields(script)[0]
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

// elsewhere are the blocks that cannot be run here, with what they need that is not here. The word must stand in the block, so that
// none is left out that could be run.
func elsewhere() map[string]map[string]string {
	const restore, remove = "Restore a table from point-in-time recovery: ", "Remove the stack, and keep the audit trail: "
	return map[string]map[string]string{
		operations: {
			"Before you begin: aws cloudformation describe-stacks":              "aws cloudformation",
			"After a deployment: custody check: bin/custody check":              "custody check --stack",
			"What is open, and what waits: custody runs":                        "--watch", // until Ctrl-C; the tool's own tests type it
			"Rotate the signing keys: aws secretsmanager get-secret-value":      "aws secretsmanager",
			"Rotate the signing keys: aws secretsmanager put-secret-value":      "aws secretsmanager",
			"Rotate the signing keys: aws logs filter-log-events":               "aws logs",
			"Who did what: aws logs filter-log-events":                          "aws logs",
			"Who did what: aws logs filter-log-events (2)":                      "aws logs",
			"Logs: aws logs filter-log-events":                                  "aws logs",
			"OldestOpenRunAgeAlarm: aws logs filter-log-events":                 "aws logs", // typed in internal/nights
			"OldestOpenRunAgeAlarm: aws cloudformation describe-stack-resource": "aws cloudformation",
			"OldestOpenRunAgeAlarm: aws scheduler update-schedule":              "aws scheduler",
			"UnauthorizedDeliveriesAlarm: aws logs start-query":                 "aws logs",
			"attempt_ceiling: aws logs filter-log-events":                       "aws logs",
			"DeadLettersAlarm: aws sqs receive-message":                         "aws sqs",
			"DeadLettersAlarm: aws logs filter-log-events":                      "aws logs", // typed in internal/nights
			"DeadLettersAlarm: aws sqs delete-message":                          "aws sqs",
			"DeadLettersAlarm: aws sqs purge-queue":                             "aws sqs",
			"StreamAgeHighAlarm: aws lambda update-event-source-mapping":        "aws lambda update-event-source-mapping",
			"report_unwritable: aws s3api head-bucket":                          "aws sts",
			"StreamAgeHighAlarm: aws lambda list-event-source-mappings":         "aws lambda list-event-source-mappings",
			restore + "aws dynamodb restore-table-to-point-in-time":             "restore-table-to-point-in-time",
			restore + "aws dynamodb list-backups":                               "restore-table-from-backup",
			restore + "sam build":                                               "sam deploy",
			restore + "sam build (2)":                                           "sam deploy",
			restore + "aws logs filter-log-events":                              "aws logs",
			"Upgrade: sam build":                                                "sam deploy",
			remove + "aws cloudformation describe-stacks":                       "aws cloudformation",
			remove + "aws logs create-export-task":                              "aws logs",
			remove + "aws cloudformation list-stack-resources":                  "aws cloudformation",
			remove + "aws dynamodb update-table":                                "aws secretsmanager",
		},
		localTesting: {
			"Start it: make build":              "bin/custody local", // until Ctrl-C; the tool's own tests start it
			"Kill everything: make torture":     "make torture",
			"Other engines: make test-dynamodb": "make test-dynamodb",
			"sam local: bin/custody local":      "sam build",
			"sam local: sam local":              "sam local",
			"sam local: docker run":             "docker run",
			"One event at a time: sam local":    "sam local",
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
