package architecture_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

const scalePage = "docs/scale.md"

// A reader puts the page's numbers into a decision. Those that the code or the template makes are compared where they stand.
func TestDocsScaleHasTheNumbersOfTheCode(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	var want, got [][]string
	for _, row := range tableOf(t, scalePage, "file", "name", "value", "what it bounds") {
		got = append(got, row[:3])
		want = append(want, []string{row[0], row[1], numberAt(t, tpl, row[0], row[1])})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("numbers (-code +docs):\n%s", diff)
	}
	if len(got) < 30 {
		t.Errorf("only %d numbers are found: are they written otherwise now?", len(got))
	}
}

// numberAt is the text of a constant, of a resource's property, or of a parameter's default.
func numberAt(t *testing.T, tpl template, file, name string) string {
	t.Helper()
	if file != "template.yaml" {
		return constant(t, file, name)
	}
	resource, property, isProperty := strings.Cut(name, ".")
	value := at(tpl.Parameters, name, "Default")
	if isProperty {
		value = at(tpl.properties(resource), property)
	}
	if value == nil {
		t.Fatalf("the template has no %s", name)
	}
	return text(value)
}

// constant is what stands behind the name of a constant: most of these are of nobody's concern but their package's.
func constant(t *testing.T, file, name string) string {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, filepath.Join(root, file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var value bytes.Buffer
	for node := range ast.Preorder(parsed) {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, id := range spec.Names {
			if id.Name == name && i < len(spec.Values) {
				if err := printer.Fprint(&value, set, spec.Values[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if value.Len() == 0 {
		t.Fatalf("%s has no constant %s with a value", file, name)
	}
	return value.String()
}

// What the page reckons from those numbers is reckoned again. What is assumed (shards, latencies) is the page's.
func TestDocsScaleReckonsRightly(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	number := func(file, name string) float64 {
		value, err := strconv.ParseFloat(strings.TrimSuffix(numberAt(t, tpl, file, name), "s"), 64)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	budget, limit := number("template.yaml", "SliceBudget"), number("template.yaml", "SweepLimit")
	batches, batch := number("template.yaml", "DeleteConcurrency"), number("internal/s3versions/delete.go", "MaxDelete")
	const billion = 1e9
	lanes := 4 * number("template.yaml", "CleanupMapping.ParallelizationFactor")
	tags := batches * number("internal/s3versions/singles.go", "singles") / 0.02
	want := map[string]string{
		"slices at once":                                 spelt(lanes),
		"short runs a second, 2 s each":                  spelt(lanes / 2),
		"large runs before one waits for an hour":        spelt(lanes * 3600 / budget),
		"turn of 10,000 large runs, in seconds":          spelt(10_000 * budget / lanes),
		"large runs before records are older than a day": spelt(lanes * number("template.yaml", "CleanupMapping.MaximumRecordAgeInSeconds") / budget),
		"short runs a second in the index":               spelt(1000 / indexUnits(t)),
		"wakes an hour":                                  spelt(limit * 60),
		"tags a second, 20 ms each":                      spelt(tags),
		"versions a second without tags, 1.5 s a batch":  spelt(batches * batch / 1.5),
		"seconds for 1 billion versions with tags":       spelt(billion / tags),
		"slices for them":                                spelt(math.Floor(billion / tags / budget)),
		"report objects for them":                        spelt(2 * billion / batch),
	}
	got := map[string]string{}
	for _, row := range tableOf(t, scalePage, "what", "calculation", "result") {
		got[row[0]] = row[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-reckoned +docs):\n%s", diff)
	}
}

// indexUnits is what a short run writes of the index, by the page's own table of its steps.
func indexUnits(t *testing.T) float64 {
	t.Helper()
	sum := 0
	for _, row := range tableOf(t, scalePage, "step of a short run", "units of the table", "units of the index") {
		n, err := strconv.Atoi(row[2])
		if err != nil {
			t.Fatal(err)
		}
		if row[0] != "together" {
			sum += n
		} else if n != sum {
			t.Errorf("the steps write %d units of the index, and the page says %d together", sum, n)
		}
	}
	return float64(sum)
}

// spelt writes a number as the page does.
func spelt(x float64) string {
	digits := strconv.Itoa(int(math.Round(x)))
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Which moves touch the index is a matter of the moves and of what the template projects.
func TestDocsScaleHasWhatAMoveWritesOfTheIndex(t *testing.T) {
	t.Parallel()
	projected := indexAttributes(t)
	var want [][]string
	for _, m := range inbox.Moves() {
		if len(m.From) == 0 {
			continue // an insert writes all of its row
		}
		var names []string
		if m.To != "" && slices.ContainsFunc(m.From, func(s inbox.State) bool { return s != m.To }) {
			names = append(names, string(inbox.AttrState))
		}
		for _, e := range m.Then {
			if slices.Contains(projected, string(e.Attr)) {
				names = append(names, string(e.Attr))
			}
		}
		slices.Sort(names)
		want = append(want, []string{m.Name, strings.Join(slices.Compact(names), ", ")})
	}
	if diff := cmp.Diff(want, tableOf(t, scalePage, "move", "attributes of the index that it writes")); diff != "" {
		t.Errorf("moves (-code +docs):\n%s", diff)
	}
}

// indexAttributes are the keys of the index and what it projects.
func indexAttributes(t *testing.T) []string {
	t.Helper()
	names := []string{"pk"}
	for _, index := range list(at(readTemplate(t).properties("InboxTable"), "GlobalSecondaryIndexes")) {
		for _, key := range list(at(index, "KeySchema")) {
			names = append(names, text(at(key, "AttributeName")))
		}
		for _, name := range list(at(index, "Projection", "NonKeyAttributes")) {
			names = append(names, text(name))
		}
	}
	return names
}
