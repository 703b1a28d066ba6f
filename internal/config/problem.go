package config

import (
	"fmt"
	"strings"
)

// Problem is one setting that is wrong.
type Problem struct {
	Variable string
	What     string // what is wrong with it; shows the value unless it is secret
	Allowed  string // what is allowed, in words
}

func (p *Problem) Error() string {
	if p.Allowed == "" {
		return p.Variable + " " + p.What
	}
	return fmt.Sprintf("%s %s; allowed is %s", p.Variable, p.What, p.Allowed)
}

// Problems is everything that is wrong with an environment, in the order of the catalogue.
type Problems []*Problem

func (ps Problems) Error() string {
	lines := make([]string, 0, len(ps))
	for _, p := range ps {
		lines = append(lines, p.Error())
	}
	return "settings: " + strings.Join(lines, "; and ")
}

// Unwrap lists the problems, for those who show them one by one.
func (ps Problems) Unwrap() []error {
	errs := make([]error, 0, len(ps))
	for _, p := range ps {
		errs = append(errs, p)
	}
	return errs
}

func (s Setting) problem(value, what string) *Problem {
	switch {
	case s.Secret:
		what = "(not shown) " + what
	case value == "":
		what = "is empty and " + what
	default:
		what = fmt.Sprintf("%q %s", shorten(value), what)
	}
	return &Problem{Variable: s.Name, What: what, Allowed: s.Allowed}
}

// maxShown keeps a pasted file out of the log line.
const maxShown = 200

func shorten(value string) string {
	if len(value) <= maxShown {
		return value
	}
	return value[:maxShown] + "…"
}

func unknown(name string) *Problem {
	what := "is no setting of this version"
	if near := nearest(name); near != "" {
		what += "; the nearest name is " + near
	}
	return &Problem{Variable: name, What: what}
}

// nearest is the setting whose name is at most two letters away, which is a slip and not another word.
func nearest(name string) string {
	best, distance := "", 3
	for _, s := range Settings() {
		if d := edits(name, s.Name); d < distance {
			best, distance = s.Name, d
		}
	}
	return best
}

// edits counts the letters to insert, remove or replace between a and b (Levenshtein).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
