package config

import (
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reader holds the checked values of one function's settings. A value that is wrong is not in it, and reads as zero.
type reader struct {
	values   map[string]string
	problems Problems
}

func newReader(f Function, environ []string) *reader {
	given := map[string]string{}
	r := &reader{values: map[string]string{}}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, Prefix) {
			continue
		}
		given[name] = value
	}
	for _, s := range For(f) {
		r.take(s, given)
	}
	r.refuseUnknown(given)
	return r
}

// take checks one setting. A setting that is given and empty is taken at its word, not as one that is not given.
func (r *reader) take(s Setting, given map[string]string) {
	value, isGiven := given[s.Name]
	if !isGiven && s.Required {
		r.problems = append(r.problems, &Problem{Variable: s.Name, What: "is not given", Allowed: s.Allowed})
		return
	}
	if !isGiven {
		value = s.Default
	}
	if problem := s.check(value); problem != nil {
		r.problems = append(r.problems, problem)
		return
	}
	r.values[s.Name] = value
}

func (r *reader) refuseUnknown(given map[string]string) {
	var names []string
	for name := range given {
		if _, known := Lookup(name); !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		r.problems = append(r.problems, unknown(name))
	}
}

// exactlyOne adds a problem unless one of the two is set. It says nothing where one of them was wrong already.
func (r *reader) exactlyOne(a, b string) {
	va, aRight := r.values[a]
	vb, bRight := r.values[b]
	if !aRight || !bRight || (va == "") != (vb == "") {
		return
	}
	what := "and " + b + " are both given"
	if va == "" {
		what = "and " + b + " are both empty"
	}
	r.problems = append(r.problems, &Problem{Variable: a, What: what, Allowed: "exactly one of them"})
}

// neededFor adds a problem where the list has the word and the setting is empty.
func (r *reader) neededFor(name, list, word string) {
	value, right := r.values[name]
	if !right || value != "" || !slices.Contains(r.list(list), word) {
		return
	}
	setting, _ := Lookup(name)
	r.problems = append(r.problems, &Problem{
		Variable: name, What: "is empty, and " + list + " has " + word, Allowed: "then the name of a table: " + setting.Allowed,
	})
}

func (r *reader) text(name string) string { return r.values[name] }

func (r *reader) list(name string) []string {
	if r.values[name] == "" {
		return nil
	}
	return strings.Split(r.values[name], ",")
}

// NoReport is the report bucket's name where no report is written.
const NoReport = "none"

// reportBucket is a bucket's name, or "" where no report is wanted. The stack always says which: a report that is missing by
// accident would be missed when it is needed. In the bucket that is cleaned up, a selection could reach it.
func (r *reader) reportBucket(name, cleaned string) string {
	setting, _ := Lookup(name)
	value, right := r.values[name]
	switch {
	case !right:
		return ""
	case value == "":
		r.problems = append(r.problems, &Problem{Variable: name, What: "is empty", Allowed: setting.Allowed})
	case value == r.values[cleaned]:
		r.problems = append(r.problems, &Problem{Variable: name, What: "is the bucket that is cleaned up", Allowed: setting.Allowed})
	case value == NoReport:
		return ""
	}
	return value
}

// The conversions below cannot fail for a value that was checked; one that was wrong is zero, and err says so.

func (r *reader) number(name string) int {
	n, _ := strconv.Atoi(r.values[name])
	return n
}

func (r *reader) duration(name string) time.Duration {
	d, _ := time.ParseDuration(r.values[name])
	return d
}

func (r *reader) level(name string) slog.Level {
	if r.values[name] == "DEBUG" {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return r.problems
}
