package architecture_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

// tableOf gives the rows of the one table whose heading row begins with the given cells, without backquotes.
func tableOf(t *testing.T, file string, heading ...string) [][]string {
	t.Helper()
	var rows [][]string
	inside := false
	for line := range strings.Lines(readRoot(t, file)) {
		cells := cellsOf(line)
		switch {
		case cells == nil:
			inside = false
		case len(cells) >= len(heading) && slices.Equal(cells[:len(heading)], heading):
			inside = true
		case inside && !strings.HasPrefix(cells[0], "---"):
			rows = append(rows, cells)
		}
	}
	if rows == nil {
		t.Fatalf("%s has no table with the heading %v", file, heading)
	}
	return rows
}

func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "`", "")
	}
	return cells
}

// columns keeps the first n cells of every row.
func columns(rows [][]string, n int) [][]string {
	var kept [][]string
	for _, row := range rows {
		kept = append(kept, row[:n])
	}
	return kept
}

// sectionsOf gives the text under each third-level heading of one chapter.
func sectionsOf(t *testing.T, file, chapter string) map[string]string {
	t.Helper()
	_, text, found := strings.Cut(readRoot(t, file), "\n## "+chapter+"\n")
	if !found {
		t.Fatalf("%s has no chapter %q", file, chapter)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	sections := map[string]string{}
	for _, section := range strings.Split(text, "\n### ")[1:] {
		name, body, _ := strings.Cut(section, "\n")
		if _, twice := sections[name]; twice {
			t.Errorf("%s: %s has two headings", file, name)
		}
		sections[name] = body
	}
	return sections
}

// pages are README, changelog and docs.
func pages(t *testing.T) []string {
	t.Helper()
	found := []string{"README.md", "CHANGELOG.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" { // what lies beside the pages are programs
			return err
		}
		below, err := filepath.Rel(root, path)
		found = append(found, filepath.ToSlash(below))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDocsLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(readRoot(t, page), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s leads to %s, which is not there", page, m[1])
			} else if anchor != "" && !slices.Contains(anchors(readRoot(t, file)), anchor) {
				t.Errorf("%s leads to %s, but there is no such heading", page, m[1])
			}
		}
	}
}

// anchors are the headings as GitHub names them.
func anchors(page string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

func TestDocsNameTargetsAndFlagsThatThereAre(t *testing.T) {
	t.Parallel()
	makefile, tool := readRoot(t, "Makefile"), readRoot(t, "internal/cmd/custody/local.go")
	target := regexp.MustCompile("(?m)(?:^|`)make ([a-z0-9/-]+)")
	for _, page := range pages(t) {
		for _, m := range target.FindAllStringSubmatch(readRoot(t, page), -1) {
			if !regexp.MustCompile("(?m)^" + m[1] + "( .*)?:").MatchString(makefile) {
				t.Errorf("%s names `make %s`, which the Makefile does not have", page, m[1])
			}
		}
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`f\.\w+Var\(&flags\.\w+, "([a-z0-9-]+)"`).FindAllStringSubmatch(tool, -1) {
		want = append(want, "--"+m[1])
	}
	for _, row := range tableOf(t, "docs/local-testing.md", "flag", "effect") {
		flag, _, _ := strings.Cut(row[0], " ")
		got = append(got, flag)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags of custody local (-tool +docs):\n%s", diff)
	}
}

// A name in the docs that the tool does not have is found at night, by the person who types it.
func TestDocsNameCommandsThatThereAre(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, m := range inbox.Moves() {
		known[m.Name] = m.By == inbox.ActorOperator // the commands of these are made from the table of moves
	}
	use := regexp.MustCompile(`Use: +"([a-z]+)[" ]`)
	for _, file := range filesOf(t, "internal/cmd/custody") {
		for _, m := range use.FindAllStringSubmatch(readRoot(t, "internal/cmd/custody/"+file), -1) {
			known[m[1]] = true
		}
	}
	mention := regexp.MustCompile("(?m)(?:^|`|bin/)custody ([a-z]+)(?: ([a-z]+))?")
	for _, page := range pages(t) {
		if page == "docs/custody.md" {
			continue // the tool's own words, which its own test compares
		}
		for _, m := range mention.FindAllStringSubmatch(readRoot(t, page), -1) {
			names := m[1:2]
			if m[1] == "hold" && m[2] != "" {
				names = m[1:]
			}
			for _, name := range names {
				if !known[name] {
					t.Errorf("%s names `custody %s`, which the tool does not have", page, strings.Join(names, " "))
				}
			}
		}
	}
}

func filesOf(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), "_test.go") {
			names = append(names, entry.Name())
		}
	}
	return names
}
