package main_test

import (
	"strings"
	"testing"

	"custody/internal/inbox"
)

// withStack is the tables of a stack and an account that has the stack, which names them.
func withStack(t *testing.T) (*tables, *account) {
	t.Helper()
	x := newTables(t)
	a, y := newAccount(t)
	a.change(func() {
		a.stacks["custody"] = &stackOf{status: "UPDATE_COMPLETE", outputs: map[string]string{"Table": "inbox", "HoldsTable": "holds", "OperatorLog": operatorGroup, "Version": "0.1.0"},
			parameters: map[string]string{"RetentionDays": "7"}}
	})
	x.tool = x.with("CUSTODY_TABLE", "", "CUSTODY_HOLDS_TABLE", "")
	for name, value := range y.env {
		x.env[name] = value
	}
	return x, a
}

func TestEveryCommandFindsItsTablesByTheStack(t *testing.T) {
	t.Parallel()
	x, _ := withStack(t)
	x.has(t, "r-1", inbox.StateFailed, nil)
	for _, calls := range commands() {
		for _, args := range calls {
			stranger := x.with("CUSTODY_TABLE", "nowhere", "CUSTODY_HOLDS_TABLE", "nowhere")
			for name, y := range map[string]tool{"flag": stranger, "variable": x.with("CUSTODY_STACK_NAME", "custody")} {
				call := args
				if name == "flag" {
					call = append(args[:len(args):len(args)], "--stack", "custody")
				}
				if a := y.run(t, call...); a.code == 1 || a.code == 2 {
					t.Errorf("%s, by the %s: exit code %d, %s", strings.Join(args, " "), name, a.code, a.stderr)
				}
			}
		}
	}
}

// The command line goes before the environment; there, what names one table before what names the whole stack.
func TestWhatIsNamedMoreExactlyGoesBefore(t *testing.T) {
	t.Parallel()
	x, a := withStack(t)
	a.change(func() {
		a.stacks["other"] = &stackOf{status: "CREATE_COMPLETE", outputs: map[string]string{"Table": "nowhere", "HoldsTable": "nowhere", "Version": "0.1.0"}}
	})
	x.does(t, "runs", "--stack", "other", "--table", "inbox")
	x.with("CUSTODY_TABLE", "inbox").refuses(t, 1, "there is no table nowhere in region us-east-1; the stack's output Table names it", "runs", "--stack", "other")
	x.with("CUSTODY_STACK_NAME", "other").does(t, "runs", "--stack", "custody")
	x.with("CUSTODY_STACK_NAME", "other", "CUSTODY_TABLE", "inbox", "CUSTODY_HOLDS_TABLE", "holds").does(t, "runs")
}

func TestAStackSettlesHowLongADismissedRunStays(t *testing.T) {
	t.Parallel()
	x, _ := withStack(t)
	x.has(t, "r-1", inbox.StateFailed, nil)
	x.does(t, "dismiss", "r-1", "--reason", "x", "--stack", "custody")
	if got := x.does(t, "show", "r-1", "--stack", "custody"); !strings.Contains(got, "(in 6d23h)") && !strings.Contains(got, "(in 7d)") {
		t.Errorf("its item does not expire after the stack's seven days:\n%s", got)
	}
}

func TestAStackThatCannotBeReadIsSaidInWords(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*account)
		tool   func(tool) tool
		code   int
		want   string
	}{
		"none of that name": {func(a *account) { delete(a.stacks, "custody") }, nil, 3, "no stack custody: CloudFormation has none of that name in region us-east-1"},
		"one of something else": {func(a *account) { a.stacks["custody"].outputs = map[string]string{"Api": "x"} }, nil, 1,
			"stack custody is no stack of Custody: it has neither the output Table nor Version"},
		"one of another version": {func(a *account) { a.stacks["custody"].outputs = map[string]string{"Version": "0.0.9"} }, nil, 1,
			"stack custody was written by Custody 0.0.9, which has no output Table: use the tool of that version"},
		"one that is being made": {func(a *account) { a.stacks["custody"] = &stackOf{status: "CREATE_IN_PROGRESS"} }, nil, 1,
			"stack custody has no output Table; it is in the state CREATE_IN_PROGRESS, in which a stack may have none"},
		"one that may not be read": {func(a *account) { a.denied["DescribeStacks"] = true }, nil, 1,
			"read stack custody: the AWS credentials lack the permission cloudformation:DescribeStacks (AccessDenied)"},
		"no region": {nil, func(x tool) tool { return x.with("AWS_REGION", "") }, 1, "no AWS region: set AWS_REGION"},
		"no credentials": {nil, func(x tool) tool { return x.with("AWS_ACCESS_KEY_ID", "", "AWS_SECRET_ACCESS_KEY", "") }, 1,
			"no AWS credentials: set AWS_PROFILE"},
		"no such profile": {nil, func(x tool) tool { return x.with("AWS_PROFILE", "elsewhere") }, 1, `AWS_PROFILE names the profile "elsewhere"`},
		"nobody there": {nil, func(x tool) tool { return x.with("AWS_ENDPOINT_URL_CLOUDFORMATION", "http://127.0.0.1:1") }, 1,
			"read stack custody: no answer: "},
		"a table that no table can be": {func(a *account) { a.stacks["custody"].outputs["Table"] = "no spaces" }, nil, 2, "--table: CUSTODY_TABLE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, a := withStack(t)
			if test.change != nil {
				a.change(func() { test.change(a) })
			}
			y := x.tool
			if test.tool != nil {
				y = test.tool(y)
			}
			y.refuses(t, test.code, test.want, "runs", "--stack", "custody")
		})
	}
}
