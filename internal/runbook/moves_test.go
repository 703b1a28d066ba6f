package runbook_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custody/internal/inbox"
	"custody/internal/operator"
)

// request is what DynamoDB is asked, as JSON has it.
type request map[string]any

// filled are the three lines that a person fills in, with everything in the texts that a quotation can be broken by.
type filled struct{ pk, who, why string }

func hard() filled {
	return filled{pk: "run#cleanup.run#r-1", who: `you "\" $HOME ü`, why: "`id` $(id) %s \\n & it's over \"now\""}
}

// lines is the block that a person fills in, filled in.
func (f filled) lines(t *testing.T) string {
	t.Helper()
	script := blockOf(t, operations, toFillIn).script
	for name, value := range map[string]string{"pk": f.pk, "who": f.who, "why": f.why} {
		line := regexp.MustCompile(`(?m)^` + name + `='[^']*'$`)
		if n := len(line.FindAllString(script, -1)); n != 1 {
			t.Fatalf("the block to fill in has %d lines for %s:\n%s", n, name, script)
		}
		quoted := name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		script = line.ReplaceAllLiteralString(script, quoted)
	}
	return script
}

// byHand is the one block that makes the operator's move.
func byHand(t *testing.T, move inbox.Move) block {
	t.Helper()
	var found []block
	for _, b := range blocksOf(t, operations) {
		if strings.Contains(b.script, fmt.Sprintf(`"move":{"S":%q}`, move.Name)) {
			found = append(found, b)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s has %d blocks that %s a run, want 1", operations, len(found), move.Name)
	}
	return found[0]
}

func operatorsMoves() []inbox.Move {
	return slices.DeleteFunc(inbox.Moves(), func(m inbox.Move) bool { return m.By != inbox.ActorOperator })
}

// Each of the operator's moves stands in the docs as one command that does what the move does: to an item in every state and of
// every shape it answers alike and leaves the same item behind. Here the command is taken from what the shell hands to the AWS CLI.
func TestEachMoveByHandIsTheMove(t *testing.T) {
	t.Parallel()
	for _, move := range operatorsMoves() {
		t.Run(move.Name, func(t *testing.T) {
			t.Parallel()
			before := time.Now().Truncate(time.Second) // the shell's clock has whole seconds
			first := handedOn(t, byHand(t, move), "sh")
			after := time.Now()
			w := newTwins(t)
			made := w.compare(t, move, first, hard())
			checkGenerated(t, made, before, after)
			if again := w.compare(t, move, handedOn(t, byHand(t, move), anotherShell()), hard()); made.wake != "" && made.wake == again.wake {
				t.Errorf("two uses of the block set the same wake %s: the second would leave no stream record", made.wake)
			}
		})
	}
}

// handedOn runs the block with a stand-in for the AWS CLI, which refuses a second call, and reads what it was given.
func handedOn(t *testing.T, b block, program string) request {
	t.Helper()
	bin := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(bin, "aws"))
	}
	if err != nil {
		t.Fatal(err)
	}
	s := newSandbox(t, bin)
	s.program = program
	given := filepath.Join(s.dir, "arguments")
	s.env = append(s.env, argumentsFile+"="+given)
	if r := s.shell(t, hard().lines(t)+b.script); r.code != 0 {
		t.Fatalf("block %q ended with %d:\n%s", b.name, r.code, r.stderr)
	}
	text, err := os.ReadFile(given)
	if err != nil {
		t.Fatalf("block %q did not call the AWS CLI: %v", b.name, err)
	}
	var arguments []string
	if err := json.Unmarshal(text, &arguments); err != nil {
		t.Fatal(err)
	}
	return requestOf(t, arguments)
}

// requestOf is what `aws dynamodb update-item` with these arguments asks. What only shapes the answer is left out.
func requestOf(t *testing.T, arguments []string) request {
	t.Helper()
	if len(arguments) < 2 || !slices.Equal(arguments[:2], []string{"dynamodb", "update-item"}) {
		t.Fatalf("the command is aws %v, want dynamodb update-item", arguments)
	}
	asked := request{}
	texts := map[string]string{"--table-name": "TableName", "--condition-expression": "ConditionExpression",
		"--update-expression": "UpdateExpression", "--return-values": "ReturnValues"}
	values := map[string]string{"--key": "Key", "--expression-attribute-names": "ExpressionAttributeNames",
		"--expression-attribute-values": "ExpressionAttributeValues"}
	for pair := range slices.Chunk(arguments[2:], 2) {
		if len(pair) != 2 {
			t.Fatalf("%s has no value", pair[0])
		}
		switch flag, value := pair[0], pair[1]; {
		case texts[flag] != "":
			asked[texts[flag]] = value
		case values[flag] != "":
			var decoded any
			if err := json.Unmarshal([]byte(value), &decoded); err != nil {
				t.Fatalf("%s is no JSON: %v\n%s", flag, err, value)
			}
			asked[values[flag]] = decoded
		case flag == "--query" || flag == "--output":
		default:
			t.Fatalf("the test does not know what %s does", flag)
		}
	}
	return asked
}

// generated is what a use of the block made up.
type generated struct {
	wake string
	at   time.Time
}

func checkGenerated(t *testing.T, made generated, before, after time.Time) {
	t.Helper()
	if made.at.Before(before) || made.at.After(after) {
		t.Errorf("the move says it was made at %s, it was between %s and %s", made.at, before, after)
	}
	if made.wake != "" && !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(made.wake) {
		t.Errorf("the wake is %q, want 16 random bytes in hexadecimal", made.wake)
	}
}

// compare holds the request against the move for every state and mode, bare and full, and for random items.
func (w *twins) compare(t *testing.T, move inbox.Move, asked request, f filled) generated {
	t.Helper()
	checkAddress(t, asked, f)
	w.complete(t, move)
	var made generated
	count := map[bool]int{}
	check := func(t fataler, item map[string]any) {
		g, done := w.both(t, move, asked, f, item)
		count[done]++
		if done {
			made = g
		}
	}
	check(t, nil)
	for _, state := range append(w.of[inbox.AttrState], nil) {
		for _, mode := range append(w.of[inbox.AttrMode], nil) {
			for _, shape := range []map[string]any{w.bare(), w.full()} {
				check(t, with(with(shape, inbox.AttrState, state), inbox.AttrMode, mode))
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) { check(rt, w.any(rt)) })
	if count[true] == 0 || count[false] == 0 {
		t.Errorf("%s was made %d times and refused %d times: one of them was never compared", move.Name, count[true], count[false])
	}
	return made
}

// checkAddress is about table and key, which the comparison sets by itself.
func checkAddress(t *testing.T, asked request, f filled) {
	t.Helper()
	want := request{"TableName": inboxTable, "Key": map[string]any{"pk": map[string]any{"S": f.pk}}, "ReturnValues": "ALL_NEW"}
	got := request{"TableName": asked["TableName"], "Key": asked["Key"], "ReturnValues": asked["ReturnValues"]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the block addresses (-want +got):\n%s", diff)
	}
}

// fataler is a test, or one of its random cases.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// both makes the move by hand and by the tool on equal items, and says whether it was made.
func (w *twins) both(t fataler, move inbox.Move, asked request, f filled, item map[string]any) (generated, bool) {
	t.Helper()
	w.n++
	key := inbox.RunKey{Type: "cleanup.run", Key: fmt.Sprintf("r-%d", w.n)}
	pk := map[string]any{"pk": map[string]any{"S": key.ItemKey()}}
	if item != nil {
		maps.Copy(item, pk)
		for _, table := range []string{tableByHand, tableByTool} {
			w.must(t, "PutItem", request{"TableName": table, "Item": item})
		}
	}
	mine := maps.Clone(asked)
	mine["TableName"], mine["Key"] = tableByHand, pk
	refusal, answer := w.call(t, "UpdateItem", mine)
	if refusal != "" && refusal != "ConditionalCheckFailedException" {
		t.Fatalf("%s by hand: %s: %v", move.Name, refusal, answer)
	}
	g := generatedIn(w.item(t, tableByHand, pk))
	err := w.byTool(move, key, g, f)
	if refused := isRefused(err); err != nil && !refused {
		t.Fatalf("%s by the tool: %v", move.Name, err)
	} else if refused != (refusal != "") {
		t.Fatalf("%s of %v: by hand %q, by the tool %v", move.Name, item, refusal, err)
	}
	if diff := cmp.Diff(w.item(t, tableByTool, pk), w.item(t, tableByHand, pk)); diff != "" {
		t.Fatalf("%s of %v (-by the tool +by hand):\n%s", move.Name, item, diff)
	}
	return g, refusal == ""
}

func isRefused(err error) bool {
	_, refused := errors.AsType[*operator.RefusedError](err)
	_, missing := errors.AsType[*operator.NotFoundError](err)
	return refused || missing
}
