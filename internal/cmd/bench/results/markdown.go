package results

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Markdown is the run as a page: the machine, the table of results, and below it, marked as such, what they were made of.
func (r Run) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmarks\n\n%s, %d cores, %s, %s, commit %s, %s. Rounds: %d, unless a line says otherwise.\n\n",
		r.Machine.CPU, r.Machine.Cores, r.Machine.OS, r.Machine.Go, orNone(r.Commit), r.At.UTC().Format(time.RFC3339), r.Rounds)
	list(&b, "Sizes", r.Sizes)
	list(&b, "Versions", r.Versions)
	b.WriteString("| measure | contender | against | median | range | rounds | target | met |\n|---|---|---|---|---|---|---|---|\n")
	for _, f := range r.Figures {
		b.WriteString(f.row())
	}
	r.writeLeftOut(&b)
	r.writeContext(&b)
	return b.String()
}

func (f Figure) row() string {
	met := ""
	if f.Met != nil {
		met = map[bool]string{true: "yes", false: "**no**"}[*f.Met]
	}
	median, span, rounds := f.Missing, "", ""
	if f.Missing == "" {
		median = short(f.Median) + " " + f.Unit
		span = short(f.Min) + " – " + short(f.Max)
		rounds = strconv.Itoa(len(f.Rounds))
	}
	if f.Note != "" {
		median += " (" + f.Note + ")"
	}
	cells := []string{f.Measure, f.Contender, f.Against, median, span, rounds, f.Target.String(), met}
	for i, cell := range cells {
		cells[i] = inCell(cell)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// inCell keeps a reason, such as what a program said at its end, from ending the cell or the line.
func inCell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

func list[V any](b *strings.Builder, title string, values map[string]V) {
	if len(values) == 0 {
		return
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, fmt.Sprintf("%s %v", name, values[name]))
	}
	fmt.Fprintf(b, "%s: %s.\n\n", title, strings.Join(parts, ", "))
}

func (r Run) writeLeftOut(b *strings.Builder) {
	if len(r.LeftOut) == 0 {
		return
	}
	b.WriteString("\nLeft out:\n\n")
	for _, who := range r.LeftOut {
		fmt.Fprintf(b, "- %s\n", strings.Join(strings.Fields(who), " "))
	}
}

// writeContext has each speed once, though many ratios are made of it.
func (r Run) writeContext(b *strings.Builder) {
	b.WriteString("\n## Context, no result\n\n" +
		"What the ratios were made of. Absolute figures depend on the machine and on what else it does; only the ratios above are meant to be read.\n\n")
	seen := map[string]bool{}
	for _, f := range r.Figures {
		for _, who := range slices.Sorted(maps.Keys(f.Context)) {
			line := fmt.Sprintf("- %s: %s: %s\n", f.Measure, who, joined(f.Context[who]))
			if !seen[line] {
				b.WriteString(line)
			}
			seen[line] = true
		}
	}
}

func joined(values []float64) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = short(v)
	}
	return strings.Join(out, ", ")
}

// short has three digits that count, and never an exponent.
func short(x float64) string {
	digits := 2
	if x != 0 {
		digits = max(0, 2-int(math.Floor(math.Log10(math.Abs(x)))))
	}
	s := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

func orNone(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
