package nights_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// cloud stands for those services of AWS that the local stack does not have, as far as the runbook's commands reach them: what they
// answer is made of what the functions really did. A command line that is not known here is refused, as one that was misspelt.
type cloud struct {
	world *world
	url   string
	// answers are those of the night itself, by the beginning of the command line, such as "scheduler get-schedule".
	answers map[string]func(args []string) (string, error)
	outputs map[string]string // of the stack
}

func newCloud(t *testing.T, w *world) *cloud {
	t.Helper()
	c := &cloud{world: w, answers: map[string]func([]string) (string, error){}, outputs: map[string]string{}}
	c.answers["logs filter-log-events"] = c.filterLogEvents
	c.answers["cloudformation describe-stacks"] = func(args []string) (string, error) {
		m := output.FindStringSubmatch(flagOf(args, "--query"))
		if m == nil || c.outputs[m[1]] == "" {
			return "", fmt.Errorf("(Unknown) the command line is not that of the runbook: %q", args)
		}
		return c.outputs[m[1]], nil
	}
	// The name that CloudFormation made is the logical one here.
	c.answers["cloudformation describe-stack-resource"] = func(args []string) (string, error) {
		return flagOf(args, "--logical-resource-id"), nil
	}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var args []string
	if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for begins, answer := range c.answers {
		if slices.Equal(strings.Fields(begins), args[:min(len(args), 2)]) {
			out, err := answer(args[2:])
			if err != nil {
				http.Error(w, "An error occurred: "+err.Error(), http.StatusBadRequest)
				return
			}
			if out != "" {
				fmt.Fprintln(w, out)
			}
			return
		}
	}
	http.Error(w, fmt.Sprintf("aws: nobody answers %q here", args), http.StatusBadRequest)
}

// awsCommand is the program `aws` of the operator's shell.
func awsCommand(address string, args []string) int {
	asked, err := json.Marshal(args)
	if err == nil {
		var answer *http.Response
		if answer, err = http.Post(address, "application/json", bytes.NewReader(asked)); err == nil {
			defer answer.Body.Close()
			out := os.Stdout
			if answer.StatusCode != http.StatusOK {
				out = os.Stderr
			}
			if _, err = out.ReadFrom(answer.Body); err == nil && answer.StatusCode == http.StatusOK {
				return 0
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "aws:", err)
	}
	return 254 // the AWS CLI's, for an answer that is an error
}

// flagOf is the value behind a flag of a command line.
func flagOf(args []string, flag string) string {
	if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

var output = regexp.MustCompile(`^Stacks\[0\]\.Outputs\[\?OutputKey=='([A-Za-z]+)'\]\.OutputValue$`)

// condition is one of a filter pattern of CloudWatch Logs ("Filter pattern syntax"): what the runbook uses of it, joined by &&.
var condition = regexp.MustCompile(`^\$\.([a-z_.]+) (!?=) (?:"([^"]*)"|([0-9]+))$`)

// filterLogEvents answers with the function's lines that fit, as `--query 'events[].[message]' --output text` prints them.
func (c *cloud) filterLogEvents(args []string) (string, error) {
	function, ours := strings.CutPrefix(flagOf(args, "--log-group-name"), "/custody/"+stackName+"/")
	if !ours {
		return "", fmt.Errorf("(ResourceNotFoundException) when calling the FilterLogEvents operation: no log group %s", flagOf(args, "--log-group-name"))
	}
	start, err := strconv.ParseInt(flagOf(args, "--start-time"), 10, 64)
	if flagOf(args, "--query") != "events[].[message]" || flagOf(args, "--output") != "text" || err != nil {
		return "", fmt.Errorf("(Unknown) the command line is not that of the runbook: %q", args)
	}
	pattern := strings.TrimSpace(strings.Trim(flagOf(args, "--filter-pattern"), "{}"))
	var found []string
	for _, line := range c.world.lines(function, time.UnixMilli(start)) {
		fits, err := lineFits(pattern, line)
		if err != nil {
			return "", err
		}
		if fits {
			found = append(found, line)
		}
	}
	return strings.Join(found, "\n"), nil
}

// member follows a path of names.
func member(members map[string]any, path string) any {
	name, rest, deeper := strings.Cut(path, ".")
	if inner, ok := members[name].(map[string]any); deeper && ok {
		return member(inner, rest)
	}
	return members[path]
}

func lineFits(pattern, line string) (bool, error) {
	var members map[string]any
	if json.Unmarshal([]byte(line), &members) != nil {
		return false, nil // a line that is no JSON fits no such pattern
	}
	for term := range strings.SplitSeq(pattern, " && ") {
		m := condition.FindStringSubmatch(strings.TrimSpace(term))
		if m == nil {
			return false, fmt.Errorf("(InvalidParameterException) the term %q is not known here", term)
		}
		if is := fmt.Sprint(member(members, m[1])) == m[3]+m[4]; is != (m[2] == "=") {
			return false, nil
		}
	}
	return true, nil
}
