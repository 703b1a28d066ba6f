package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Lines are set for 60 to 120 columns: below, tables fall apart, above, eyes lose the line.
const (
	narrowest    = 60
	widest       = 120
	widthOfFiles = 100 // where there is no terminal
)

// widthOf is how many columns to write for: the terminal's, else COLUMNS, else a fixed number.
func widthOf(w io.Writer) int {
	width := widthOfFiles
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil {
		width = n
	}
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			width = columns
		}
	}
	return min(max(width, narrowest), widest)
}

const (
	gap         = 2             // stands between two columns
	leastColumn = narrowest / 3 // narrower a last column is not wrapped
)

// grid writes rows with aligned columns. The last column holds what may be long: it is wrapped, and not padded.
func grid(w io.Writer, width int, rows [][]string) {
	widths := widthsOf(rows)
	indent := 0
	for _, columns := range widths[:len(widths)-1] {
		indent += columns + gap
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row[:len(row)-1] {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+gap))
		}
		for i, part := range wrap(row[len(row)-1], max(width-indent, leastColumn)) {
			if i > 0 {
				line.WriteString("\n" + strings.Repeat(" ", indent))
			}
			line.WriteString(part)
		}
		fmt.Fprintln(w, line.String())
	}
}

// widthsOf are the columns' widths, which a row of headings makes one at least.
func widthsOf(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// leastWidth is what the rows need when the last column is wrapped as much as its words allow.
func leastWidth(rows [][]string) int {
	widths := widthsOf(rows)
	total := 0
	for _, columns := range widths[:len(widths)-1] {
		total += columns + gap
	}
	longest, whole := 0, 0
	for _, row := range rows {
		whole = max(whole, utf8.RuneCountInString(row[len(row)-1]))
		for word := range strings.FieldsSeq(row[len(row)-1]) {
			longest = max(longest, utf8.RuneCountInString(word))
		}
	}
	return total + max(longest, min(whole, leastColumn))
}

// fit leaves out the named columns, in that order, until the rows fit or no more may go.
func fit(width int, rows [][]string, mayGo ...string) [][]string {
	for _, heading := range mayGo {
		if leastWidth(rows) <= width {
			break
		}
		column := slices.Index(rows[0], heading)
		for i := range rows {
			rows[i] = slices.Delete(slices.Clone(rows[i]), column, column+1)
		}
	}
	return rows
}

// sheet writes labelled paragraphs: a label, then lines beside it.
type sheet struct {
	out    io.Writer
	width  int
	colors palette
}

// labelWidth holds the longest label and a space.
const labelWidth = 12

// put writes the paragraphs beside the label; empty ones are left out, and a label without any, too.
func (s sheet) put(label string, paragraphs ...string) {
	s.write(label, paragraphs, s.wrapped, func(line string) string { return line })
}

// putState is put for a paragraph that begins with a state.
func (s sheet) putState(label, paragraph string) {
	s.write(label, []string{paragraph}, s.wrapped, s.colors.state)
}

// putAlarm is put for what must not be overlooked.
func (s sheet) putAlarm(label string, paragraphs ...string) {
	s.write(label, paragraphs, s.wrapped, func(line string) string { return s.colors.paint(red, line) })
}

// putWhole is put for commands: a line that was broken would not be pasted as what it is.
func (s sheet) putWhole(label string, commands ...string) {
	s.write(label, commands, func(command string) []string { return []string{command} }, func(line string) string { return line })
}

func (s sheet) wrapped(paragraph string) []string { return wrap(paragraph, s.width-labelWidth) }

func (s sheet) write(label string, paragraphs []string, lines func(string) []string, painted func(string) string) {
	for _, paragraph := range paragraphs {
		if paragraph == "" {
			continue
		}
		for _, line := range lines(printable(paragraph)) {
			fmt.Fprintf(s.out, "%-*s%s\n", labelWidth, label, painted(line))
			label = ""
		}
	}
}

// warn says what does not end the command. What somebody may paste stands in lines of its own, which are never broken.
func warn(w io.Writer, words string, commands ...string) {
	const prefix, indent = "custody: warning: ", "  "
	for i, line := range wrap(prefix+words, widthOf(w)-len(indent)) {
		if i > 0 {
			line = indent + line
		}
		fmt.Fprintln(w, line)
	}
	for _, command := range commands {
		fmt.Fprintln(w, indent+command)
	}
}

// wrap breaks at spaces. A word that is longer than the width stays whole: it is a name that somebody may want to copy.
func wrap(text string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for word := range strings.FieldsSeq(paragraph) {
			if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
				lines = append(lines, line)
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		lines = append(lines, line)
	}
	return lines
}
