package main_test

import (
	"strings"
	"testing"

	"custody/internal/inbox"
)

// What lets deletions go on is asked for; what ends them never is.
func TestARemovalAndAResumeAreAskedFor(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.does(t, hold("case-4", "--prefix", "pod/wh-17/4/", "--note", "the fourth")...)
	x.does(t, "stop", "--reason", "incident 7", "--by", "alice")
	for _, test := range []struct {
		args                  []string
		question, shown, done string
	}{
		{[]string{"hold", "remove", "case-4", "--scope", "warehouse:wh-17"}, "Remove it, so that what it covers may be deleted? [y/N]",
			`prefix "pod/wh-17/4/", legal_hold (the fourth)`, "hold case-4 of warehouse:wh-17 removed"},
		{[]string{"resume"}, "Lift it, so that runs go on deleting? [y/N]", "the brake is on for every scope, by alice since ", "is lifted"},
	} {
		name := "custody " + strings.Join(test.args[:len(test.args)-strings.Count(strings.Join(test.args, " "), "case-4")*3], " ")
		x.refuses(t, 2, name+" asks first, and there is no terminal to ask on: give --yes", test.args...)
		for _, answer := range []string{"n\n", "\x03", "\x04"} {
			p := x.onTerminal(t, 100, 24, test.args...)
			p.until(t, test.question)
			p.types(t, answer)
			if code, shown := p.end(t); code != 1 || !strings.Contains(shown, "not confirmed, so nothing was done") || !strings.Contains(shown, test.shown) {
				t.Errorf("%v, answer %q: exit code %d\n%s", test.args, answer, code, shown)
			}
		}
		if list := x.does(t, "hold", "list"); strings.Count(list, "in force") != 1 || !strings.Contains(list, "case-4") && test.args[0] == "hold" {
			t.Errorf("after a no:\n%s", list)
		}
		p := x.onTerminal(t, 100, 24, test.args...)
		p.until(t, test.question)
		p.types(t, "yes\n")
		if code, shown := p.end(t); code != 0 || !strings.Contains(shown, test.done) {
			t.Errorf("%v: exit code %d\n%s", test.args, code, shown)
		}
	}
	if list := x.does(t, "hold", "list"); list != "no holds\n" {
		t.Errorf("left is\n%s", list)
	}
}

// The yes was given to what was shown, and to nothing that came instead.
func TestAHoldThatIsChangedDuringTheQuestionStays(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.does(t, hold("case-4", "--prefix", "pod/wh-17/4/")...)
	p := x.onTerminal(t, 100, 24, "hold", "remove", "case-4", "--scope", "warehouse:wh-17")
	p.until(t, "Remove it, ")
	x.does(t, "hold", "remove", "case-4", "--scope", "warehouse:wh-17", "--yes")
	x.does(t, "hold", "add", "case-4", "--scope", "warehouse:wh-17", "--prefix", "pod/", "--reason", "dispute_evidence", "--by", "bob")
	p.types(t, "y\n")
	code, shown := p.end(t)
	if words := "hold case-4 of warehouse:wh-17 was changed after it was shown, and stays; now it says: prefix \"pod/\", dispute_evidence, by bob, since "; code != 4 ||
		!strings.Contains(shown, words) {
		t.Errorf("exit code %d\n%s", code, shown)
	}
	if list := x.does(t, "hold", "list"); !strings.Contains(list, `prefix "pod/", dispute_evidence`) {
		t.Errorf("left is\n%s", list)
	}
}

func TestHoldsAreCounted(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.odd(t)
	x.does(t, hold("case-4", "--key", "pod/wh-17/a")...)
	x.does(t, "stop", "--scope", "warehouse:wh-17", "--reason", "incident 7")
	want := "3 in force, 1 over; the brake is ON in 1; 1 cannot be understood, and while they stand nothing of their scope is deleted\n"
	for _, columns := range []string{"60", "80", "120"} {
		text := x.with("COLUMNS", columns).does(t, "hold", "list")
		if !strings.HasSuffix(strings.Join(strings.Fields(text), " "), strings.TrimSpace(want)) {
			t.Errorf("%s columns:\n%s", columns, text)
		}
		fits(t, text, map[string]int{"60": 60, "80": 80, "120": 120}[columns])
	}
}

// What is to be pasted stands in one line, however narrow the terminal is.
func TestCommandsAreNeverBroken(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	long := "r-" + strings.Repeat("long.", 20)
	x.has(t, long, inbox.StatePending, parked)
	x.does(t, hold("case-4", "--key", "pod/wh-17/a")...)
	x.does(t, "stop", "--scope", "warehouse:wh-17", "--reason", "incident 7")
	for _, columns := range []string{"60", "80", "120"} {
		text := x.with("COLUMNS", columns).does(t, "show", long)
		for _, command := range []string{
			"custody dismiss cleanup.run/" + long + " --reason '...'", "custody resume --scope warehouse:wh-17", "custody hold list --scope warehouse:wh-17",
		} {
			if !strings.Contains(text, " "+command+"\n") {
				t.Errorf("%s columns: %q is broken in\n%s", columns, command, text)
			}
		}
		fits(t, text, map[string]int{"60": 60, "80": 80, "120": 120}[columns], long, "labels/wh-17/")
	}
}
