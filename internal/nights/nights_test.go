package nights_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// night is what the page does not say: the world that the operator wakes up in.
type night struct {
	settings map[string]string // over those of the local stack
	// unalarmed is a night of which no alarm tells, but a person.
	unalarmed bool
	// functions makes another folder of the functions than the built one; nil is that one.
	functions func(t *testing.T, w *world) string
	// arrange is what was before the page begins.
	arrange func(t *testing.T, w *world)
	// events are what the world does meanwhile, by the words of the page's directives.
	events map[string]func(t *testing.T, w *world)
	// after is what must be true in the end, above all in the bucket.
	after func(t *testing.T, w *world)
}

func nights() map[string]night {
	return map[string]night{
		"dead-sweeper":     deadSweeper(),
		"poison-run":       poisonRun(),
		"rotated-key":      rotatedKey(),
		"mfa-delete":       mfaDelete(),
		"holds-unreadable": holdsUnreadable(),
		"stuck-stream":     stuckStream(),
		"wrong-cutoff":     wrongCutoff(),
		"report-bucket":    reportBucket(),
	}
}

func TestNights(t *testing.T) {
	t.Parallel()
	for name, n := range nights() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, name, n)
		})
	}
}

// play goes through a page from its beginning to its end.
func play(t *testing.T, name string, n night) {
	parts, all := readPage(t, pagePath(name)), alarms(t)
	began := time.Now()
	w := begin(t, n)
	last, happened := time.Now(), map[string]bool{} // when the world last began to do something
	n.arrange(t, w)
	for i := range parts {
		p := &parts[i]
		switch a, known := all[p.name]; {
		case p.kind == terminal:
			w.terminal(t, p)
		case p.kind == event:
			happens, ok := n.events[p.name]
			if !ok {
				t.Fatalf("%s:%d: the night has no event %q", name, p.line, p.name)
			}
			happened[p.name] = true
			last = time.Now()
			happens(t, w)
		case p.kind == prose:
		case !known:
			t.Fatalf("%s:%d: the template has no alarm %s on one metric", name, p.line, p.name)
		case p.kind == alarmOn:
			w.goesOn(t, a, last)
			p.shows(t, a)
		default:
			w.goesOff(t, a, last)
		}
	}
	for words := range n.events {
		if !happened[words] {
			t.Errorf("the page never comes to %q", words)
		}
	}
	n.after(t, w)
	t.Logf("the night took %s", time.Since(began).Round(time.Millisecond))
	if recording() && !t.Failed() {
		record(t, pagePath(name), parts)
	}
}

// terminal types what stands in a terminal, and compares what is printed.
func (w *world) terminal(t *testing.T, p *part) {
	t.Helper()
	for i := range p.entries {
		e := &p.entries[i]
		allowed(t, e.command)
		printed := w.shell.types(t, e.command)
		switch diff := cmp.Diff(compared(e.printed), compared(printed)); {
		case diff == "":
		case recording():
			e.printed = printed
		default:
			t.Errorf("line %d: %s%s\nprints otherwise than the page (-page +printed); `make docs` records the pages anew:\n%s", p.line, prompt, e.command, diff)
		}
	}
	p.lines = terminalLines(p.entries)
}

// shows compares the quotation behind an alarm with the template.
func (p *part) shows(t *testing.T, a alarm) {
	t.Helper()
	switch diff := cmp.Diff([]string(a.quotation()), []string(p.quote)); {
	case diff == "":
	case recording():
		p.lines = append(p.lines[:1:1], a.quotation()...)
	default:
		t.Errorf("line %d: the alarm is shown otherwise than the template has it (-template +page):\n%s", p.line, diff)
	}
}

var spaces = regexp.MustCompile(`(?:\\\n)?\s+`)

// allowed checks that a command is one of the tool, or stands so in the runbook.
func allowed(t *testing.T, command string) {
	t.Helper()
	if strings.HasPrefix(command, "custody ") {
		return
	}
	text, err := os.ReadFile(filepath.Join(root, "docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	plain := func(s string) string { return spaces.ReplaceAllString(s, " ") }
	if !strings.Contains(plain(string(text)), plain(command)) {
		t.Fatalf("this is typed, and is neither a command of the tool nor one that stands in docs/operations.md:\n%s", command)
	}
}

// A night begins with its alarm, unless nothing but a person tells of it, and ends where no alarm is on any more.
func TestNightsGoFromTheAlarmToItsEnd(t *testing.T) {
	t.Parallel()
	for name, n := range nights() {
		on, told := map[string]bool{}, false
		for _, p := range readPage(t, pagePath(name)) {
			switch p.kind {
			case alarmOn:
				on[p.name], told = true, true
			case alarmOff:
				delete(on, p.name)
			case prose, event:
			case terminal:
				if !told && !n.unalarmed {
					t.Errorf("%s:%d: something is typed before an alarm is on", name, p.line)
				}
			}
		}
		if told == n.unalarmed || len(on) > 0 {
			t.Errorf("%s: an alarm is on: %t; on in the end: %v", name, told, on)
		}
	}
}

// Each night has its page, each page its night, and the index has a line for each.
func TestTheIndexHasEveryNight(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(pagePath("README"))
	if err != nil {
		t.Fatal(err)
	}
	var indexed, played []string
	for _, m := range regexp.MustCompile(`(?m)^\| \[[^]]+\]\(([a-z0-9-]+)\.md\) \|`).FindAllStringSubmatch(string(text), -1) {
		indexed = append(indexed, m[1])
	}
	for name := range nights() {
		played = append(played, name)
	}
	slices.Sort(indexed)
	slices.Sort(played)
	if diff := cmp.Diff(played, pages(t)); diff != "" {
		t.Errorf("pages (-nights +docs/nights):\n%s", diff)
	}
	if diff := cmp.Diff(played, indexed); diff != "" {
		t.Errorf("lines of the index (-nights +docs/nights/README.md):\n%s", diff)
	}
	for _, v := range varying {
		if !strings.Contains(string(text), v.what) {
			t.Errorf("the index does not say that these are not compared: %s", v.what)
		}
	}
}
