package nights_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// part is a piece of a page: prose, a directive, or what was typed in a terminal. Joined, the lines of all parts are the page.
type part struct {
	line  int      // of the page, counted from 1
	lines []string // as they stand there, without their ends

	kind    partKind
	name    string    // of a directive: what the world does, or the alarm
	entries []typed   // of a terminal
	quote   alarmText // of an alarm that is on: what the page shows of it
}

type partKind int

const (
	prose partKind = iota
	terminal
	event    // <!-- world: … -->: the world does something
	alarmOn  // <!-- alarm on: NAME -->, with the alarm's name and description in a quotation behind it
	alarmOff // <!-- alarm off: NAME -->
)

// typed is a command, and what was printed.
type typed struct {
	command string // without the prompts
	printed []string
}

// alarmText is a quotation, in its lines.
type alarmText []string

// The prompts of a shell: a command goes on in the lines with the second one, which nothing that is printed begins with.
const (
	prompt      = "$ "
	furtherLine = "> "
)

var directive = regexp.MustCompile(`^<!-- (world|alarm on|alarm off): (.+) -->$`)

// readPage cuts a page into its parts.
func readPage(t *testing.T, path string) []part {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var parts []part
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i := 0; i < len(lines); {
		p := part{line: i + 1}
		n, err := p.read(lines[i:])
		if err != nil {
			t.Fatalf("%s:%d: %v", path, p.line, err)
		}
		i += n
		parts = append(parts, p)
	}
	return parts
}

// read takes the part at the beginning of the lines, and says how many lines it has.
func (p *part) read(lines []string) (n int, err error) {
	n = 1
	m := directive.FindStringSubmatch(lines[0])
	switch {
	case lines[0] == "```console":
		p.kind = terminal
		for n < len(lines) && lines[n] != "```" {
			n++
		}
		if n == len(lines) {
			return n, fmt.Errorf("a block is not closed")
		}
		p.entries, err = entriesOf(lines[1:n])
		n++
	case m != nil:
		p.kind, p.name = map[string]partKind{"world": event, "alarm on": alarmOn, "alarm off": alarmOff}[m[1]], m[2]
		for p.kind == alarmOn && n < len(lines) && strings.HasPrefix(lines[n], ">") {
			n++
		}
		p.quote = lines[1:n]
	case strings.HasPrefix(lines[0], "<!--"):
		return n, fmt.Errorf("the comment %s is no directive", lines[0])
	}
	p.lines = lines[:n]
	return n, err
}

func entriesOf(lines []string) ([]typed, error) {
	var entries []typed
	for _, line := range lines {
		last := len(entries) - 1
		switch command, begins := strings.CutPrefix(line, prompt); {
		case begins:
			entries = append(entries, typed{command: command})
		case last < 0:
			return nil, fmt.Errorf("a terminal begins with %q", prompt)
		case strings.HasPrefix(line, furtherLine) && len(entries[last].printed) == 0:
			entries[last].command += "\n" + strings.TrimPrefix(line, furtherLine)
		default:
			entries[last].printed = append(entries[last].printed, line)
		}
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("a terminal in which nothing is typed")
	}
	return entries, nil
}

// terminalLines is a terminal as it stands in a page.
func terminalLines(entries []typed) []string {
	lines := []string{"```console"}
	for _, e := range entries {
		lines = append(lines, strings.Split(prompt+strings.ReplaceAll(e.command, "\n", "\n"+furtherLine), "\n")...)
		lines = append(lines, e.printed...)
	}
	return append(lines, "```")
}

// record writes a page with its terminals and quotations as they were now.
func record(t *testing.T, path string, parts []part) {
	t.Helper()
	var lines []string
	for _, p := range parts {
		lines = append(lines, p.lines...)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// recording says that pages are to be written, and not only compared.
func recording() bool { return os.Getenv("CUSTODY_TEST_WRITE_NIGHTS") != "" }

// pages lists the names of the recorded nights.
func pages(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "docs/nights/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		if name := strings.TrimSuffix(filepath.Base(path), ".md"); name != "README" {
			names = append(names, name)
		}
	}
	return names
}

func pagePath(name string) string { return filepath.Join(root, "docs/nights", name+".md") }
