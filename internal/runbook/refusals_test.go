package runbook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"custody/internal/inbox"
)

// The same comparison as with the stand-in, with what the real AWS CLI sends.
func TestRunbookMovesByHandAsTheAWSCLISendsThem(t *testing.T) {
	t.Parallel()
	switchedOn(t)
	for _, move := range operatorsMoves() {
		t.Run(move.Name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			claim(t, s.inbox, "r-1")
			s.asked()
			s.shell(t, hard().lines(t)+byHand(t, move).script) // refused or not
			asked := s.asked()
			if len(asked) != 1 {
				t.Fatalf("the block asked UpdateItem %d times, want once", len(asked))
			}
			newTwins(t).compare(t, move, asked[0], hard())
		})
	}
}

// What the command says when it does not make the move is what the page says it says, and nothing was written.
func TestRunbookRefusals(t *testing.T) {
	t.Parallel()
	switchedOn(t)
	explained := explanations(t)
	usual := filled{pk: "run#cleanup.run#r-1", who: "you", why: "policy mended"}
	change := func(f func(*filled)) filled { changed := usual; f(&changed); return changed }
	for name, c := range map[string]struct {
		move   inbox.Move
		filled filled
		before string
		said   string
	}{
		"a state that does not allow it":       {inbox.Retry(), usual, "", "ConditionalCheckFailedException"},
		"a release of what is at work":         {inbox.Release(), usual, "", "ConditionalCheckFailedException"},
		"no such run":                          {inbox.Dismiss(), change(func(f *filled) { f.pk = "run#cleanup.run#r-9" }), "", "ConditionalCheckFailedException"},
		"a delivery in the place of a run":     {inbox.Dismiss(), change(func(f *filled) { f.pk = "delivery#d-1" }), "", "ConditionalCheckFailedException"},
		"the key is empty":                     {inbox.Dismiss(), change(func(f *filled) { f.pk = "" }), "", "fill in"},
		"nobody did it":                        {inbox.Dismiss(), change(func(f *filled) { f.who = "" }), "", "fill in"},
		"a dismissal without a reason":         {inbox.Dismiss(), change(func(f *filled) { f.why = "" }), "", "fill in"},
		"a line break in the reason":           {inbox.Dismiss(), change(func(f *filled) { f.why = "one\ntwo" }), "", "Invalid JSON"},
		"a table that is not there":            {inbox.Dismiss(), usual, "CUSTODY_TABLE=elsewhere\n", "any other error"},
		"the variable of the table is not set": {inbox.Dismiss(), usual, "CUSTODY_TABLE=\n", "any other error"},
		"an endpoint where nobody listens":     {inbox.Dismiss(), usual, "export AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:1\n", "any other error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(explained, c.said) {
				t.Fatalf("the page does not explain %q", c.said)
			}
			s := newSandbox(t)
			claim(t, s.inbox, "r-1")
			before := s.everything(t)
			r := s.shell(t, c.before+c.filled.lines(t)+byHand(t, c.move).script)
			if r.code == 0 || c.said != "any other error" && !strings.Contains(r.stderr, c.said) {
				t.Errorf("it ended with %d, and did not say %q:\n%s%s", r.code, c.said, r.stdout, r.stderr)
			}
			same(t, before, s.everything(t))
		})
	}
}

// A person who does not know whether it was done gives the same block again.
func TestRunbookMoveMadeTwice(t *testing.T) {
	t.Parallel()
	switchedOn(t)
	usual := filled{pk: "run#cleanup.run#r-1", who: "you", why: "policy mended"}
	for name, c := range moveCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			c.prepare(t, s)
			script := usual.lines(t) + blockOf(t, operations, name).script
			if r := s.shell(t, script); r.code != 0 {
				t.Fatalf("it ended with %d: %s", r.code, r.stderr)
			}
			before := s.everything(t)
			r := s.shell(t, script)
			if r.code == 0 {
				t.Errorf("the second time it said %q", r.stdout)
			}
			says(t, r.stderr, "ConditionalCheckFailedException")
			same(t, before, s.everything(t))
		})
	}
}

// explanations are the rows under the blocks: what the command says, and what it means.
func explanations(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, operations))
	if err != nil {
		t.Fatal(err)
	}
	_, rows, found := strings.Cut(string(page), "\n| the command says | what it means |\n")
	if !found {
		t.Fatalf("%s does not say what the commands answer", operations)
	}
	rows, _, _ = strings.Cut(rows, "\n\n")
	return rows
}

// everything is all items of the inbox, by key.
func (s *sandbox) everything(t *testing.T) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	all, err := s.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(inboxTable), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range all.Items {
		plain := map[string]any{}
		if err := attributevalue.UnmarshalMap(item, &plain); err != nil {
			t.Fatal(err)
		}
		found[plain["pk"].(string)] = plain
	}
	return found
}
