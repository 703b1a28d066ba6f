package main_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

// hold is `hold add` with what every hold needs.
func hold(id string, more ...string) []string {
	return append([]string{"hold", "add", id, "--scope", "warehouse:wh-17", "--reason", "legal_hold", "--by", "alice"}, more...)
}

func TestHolds(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	if got := x.does(t, "hold", "list"); got != "no holds\n" {
		t.Errorf("of an empty table: %q", got)
	}
	later := time.Now().Add(49*time.Hour + 30*time.Minute).UTC().Truncate(time.Second).Format(time.RFC3339)
	for _, step := range []struct {
		args []string
		want string
	}{
		{hold("case-4", "--key", "pod/wh-17/a"), `hold case-4 of warehouse:wh-17 added: key "pod/wh-17/a", legal_hold, until it is removed`},
		{hold("case-4", "--key", "pod/wh-17/a"), `hold case-4 of warehouse:wh-17 was there already: key "pod/wh-17/a", legal_hold, until it is removed`},
		{hold("case-5", "--prefix", "pod/wh-17/5/", "--note", "the fifth", "--expires", later),
			`hold case-5 of warehouse:wh-17 added: prefix "pod/wh-17/5/", legal_hold, until ` + later + ` (in 2d1h)`},
	} {
		if diff := cmp.Diff(step.want+"\n", x.does(t, step.args...)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	x.odd(t)
	want := `
SCOPE            ID      UNTIL                 BY     COVERS
*                odd     no end                -      everything of its scope, unreadable_hold:
                                                      reason is not one of legal_hold,
                                                      dispute_evidence, active_manifest, other, stop
                                                      (\x1b[2Jwhy)
*                old     OVER                  -      key "k", other
warehouse:wh-17  case-4  no end                alice  key "pod/wh-17/a", legal_hold
warehouse:wh-17  case-5  ` + later + `  alice  prefix "pod/wh-17/5/", legal_hold (the fifth)

3 in force, 1 over; 1 cannot be understood, and while they stand nothing of their scope is deleted
`
	if diff := cmp.Diff(want, "\n"+x.does(t, "hold", "list")); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if got := x.does(t, "hold", "list", "--scope", "warehouse:wh-18"); strings.Contains(got, "case-4") || !strings.Contains(got, "odd") {
		t.Errorf("of another scope:\n%s", got)
	}
	if got := x.does(t, "hold", "remove", "case-4", "--scope", "warehouse:wh-17", "--yes"); got != `hold case-4 of warehouse:wh-17 removed: it covered key "pod/wh-17/a", legal_hold`+"\n" {
		t.Errorf("remove: %q", got)
	}
	x.refuses(t, 3, "no hold case-4 of warehouse:wh-17: looked up row case-4 of scope warehouse:wh-17 (table holds, region us-east-1)",
		"hold", "remove", "case-4", "--scope", "warehouse:wh-17")
}

// odd writes rows as other systems do: one that cannot be understood, and one that is over.
func (x *tables) odd(t *testing.T) {
	t.Helper()
	s := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	for _, item := range []map[string]types.AttributeValue{
		{"scope": s("*"), "hold_id": s("odd"), "reason": s("legal hold"), "note": s("\x1b[2Jwhy")},
		{"scope": s("*"), "hold_id": s("old"), "reason": s("other"), "key": s("k"), "expires_at": &types.AttributeValueMemberN{Value: "1"}},
	} {
		if _, err := x.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("holds"), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHoldsAsJSON(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.odd(t)
	added := objects(t, x.does(t, hold("case-5", "--prefix", "pod/<5>/", "--note", "n", "--expires", "2999-01-01T00:00:00.5+01:00", "--json")...))
	row := map[string]any{
		"scope": "warehouse:wh-17", "hold_id": "case-5", "prefix": "pod/<5>/", "reason": "legal_hold", "note": "n", "by": "alice",
		"expires_at": "2998-12-31T23:00:01Z", "in_force": true,
	}
	change := map[string]any{"done": "added", "already": false}
	for name, value := range row {
		change[name] = value
	}
	if diff := cmp.Diff([]map[string]any{change}, withoutCreation(added)); diff != "" {
		t.Errorf("add (-want +got):\n%s", diff)
	}
	want := []map[string]any{
		{"scope": "*", "hold_id": "odd", "reason": "unreadable_hold", "note": "\x1b[2Jwhy", "in_force": true,
			"problem": "reason is not one of legal_hold, dispute_evidence, active_manifest, other, stop"},
		{"scope": "*", "hold_id": "old", "reason": "other", "key": "k", "expires_at": "1970-01-01T00:00:01Z", "in_force": false},
		row,
	}
	listed := objects(t, x.does(t, "hold", "list", "--json"))
	for i, made := range []bool{false, false, true} {
		if _, has := listed[i]["created_at"]; has != made {
			t.Errorf("created_at of %v", listed[i])
		}
	}
	if diff := cmp.Diff(want, withoutCreation(listed)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	change["done"] = "removed"
	removed := objects(t, x.does(t, "hold", "remove", "case-5", "--scope", "warehouse:wh-17", "--yes", "--json"))
	if diff := cmp.Diff([]map[string]any{change}, withoutCreation(removed)); diff != "" {
		t.Errorf("remove (-want +got):\n%s", diff)
	}
}

func withoutCreation(all []map[string]any) []map[string]any {
	for _, o := range all {
		delete(o, "created_at")
	}
	return all
}

func TestAHoldThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	for _, test := range []struct {
		want string
		args []string
	}{
		{"needs an ID", []string{"hold", "add"}},
		{"is something not quoted?", []string{"hold", "add", "a", "b"}},
		{"key or prefix is missing", hold("a")},
		{"key and prefix are both given", hold("a", "--key", "k", "--prefix", "p/")},
		{`reason is "stop", it must be one of`, hold("a", "--key", "k", "--reason", "stop")},
		{`scope is "wh-17", it must be * for all`, hold("a", "--key", "k", "--scope", "wh-17")},
		{`--expires is "tomorrow", it must be an RFC 3339 time`, hold("a", "--key", "k", "--expires", "tomorrow")},
		{"expiry is 2020-01-01T00:00:00Z, it must be in the future", hold("a", "--key", "k", "--expires", "2020-01-01T00:00:00Z")},
		{"id is custody-stop, the emergency brake's own", hold("custody-stop", "--key", "k")},
		{`scope is "", it must be`, []string{"hold", "remove", "a"}},
		{"needs an ID", []string{"hold", "remove"}},
		{`scope is "wh-17"`, []string{"hold", "list", "--scope", "wh-17"}},
		{`scope is ""`, []string{"hold", "list", "--scope", ""}},
		{`has no command "lift"`, []string{"hold", "lift"}},
		{"needs --reason", []string{"stop"}},
		{"reason is empty", []string{"stop", "--reason", " "}},
		{`scope is "wh-17"`, []string{"stop", "--reason", "x", "--scope", "wh-17"}},
		{`scope is "wh-17"`, []string{"resume", "--scope", "wh-17"}},
		{"takes no argument", []string{"stop", "warehouse:wh-17", "--reason", "x"}},
		{"takes no argument", []string{"resume", "warehouse:wh-17"}},
		{"takes no argument", []string{"runs", "r-1"}},
	} {
		x.refuses(t, 2, test.want, test.args...)
	}
	if got := x.does(t, "hold", "list"); got != "no holds\n" {
		t.Errorf("something was written:\n%s", got)
	}
}

func TestAHoldThatIsProbablyNotMeantIsAddedWithAWarning(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	a := x.run(t, hold("a", "--prefix", "pod/wh-17")...)
	want := "custody: warning: prefix \"pod/wh-17\" does not end in /: it also covers keys such as \"pod/wh-171/a\"\n"
	if a.code != 0 || !strings.Contains(a.stdout, "added") || a.stderr != want {
		t.Errorf("exit code %d\n%s\n%s", a.code, a.stdout, a.stderr)
	}
	x.refuses(t, 4, `hold a of warehouse:wh-17 exists already (prefix "pod/wh-17", legal_hold); remove it first, or choose another id`,
		hold("a", "--prefix", "pod/wh-17/")...)
}

var secondsAgo = regexp.MustCompile(`\(\d+s ago\)`)

func TestTheBrake(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	stop := func(args ...string) []string {
		return append([]string{"stop", "--by", "alice", "--reason", "incident 7"}, args...)
	}
	timelessly := func(args ...string) string { return strings.Join(lines(x.does(t, args...)), "\n") }
	x.refuses(t, 3, "no brake to lift for *: looked up row custody-stop of scope * (table holds, region us-east-1)", "resume")
	for _, step := range []struct {
		args []string
		want string
	}{
		{stop(), "every scope stopped, by alice since T (0s ago): incident 7\n`custody resume` lifts it"},
		{stop(), "every scope was stopped already, by alice since T (0s ago): incident 7\n`custody resume` lifts it"},
		{stop("--scope", "warehouse:wh-17"), "scope warehouse:wh-17 stopped, by alice since T (0s ago): incident 7\n`custody resume --scope warehouse:wh-17` lifts it"},
		{[]string{"resume", "--yes", "--scope", "warehouse:wh-17"}, "the brake for scope warehouse:wh-17 is lifted; it was on by alice since T (0s ago): incident 7\n" +
			"still stopped: every scope, by alice since T (0s ago): incident 7\n`custody resume` lifts that"},
		{[]string{"resume", "--yes"}, "the brake for every scope is lifted; it was on by alice since T (0s ago): incident 7\n" +
			"parked runs (category stopped) go on by themselves"},
	} {
		got := secondsAgo.ReplaceAllString(timelessly(step.args...), "(0s ago)")
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", step.args, diff)
		}
	}
	stopped := objects(t, x.does(t, stop("--json")...))
	want := map[string]any{"done": "stopped", "already": false, "scope": "*", "hold_id": "custody-stop", "reason": "stop", "note": "incident 7",
		"by": "alice", "in_force": true}
	if diff := cmp.Diff([]map[string]any{want}, withoutCreation(stopped)); diff != "" {
		t.Errorf("stop as JSON (-want +got):\n%s", diff)
	}
	want["done"], want["still_stopped_by"] = "resumed", []any{}
	if diff := cmp.Diff([]map[string]any{want}, withoutCreation(objects(t, x.does(t, "resume", "--yes", "--json")))); diff != "" {
		t.Errorf("resume as JSON (-want +got):\n%s", diff)
	}
}
