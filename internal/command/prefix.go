package command

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"custody/internal/signature"
)

// maxKeyLength is the longest object key of S3 in bytes (API reference, "Object key naming guidelines").
const maxKeyLength = 1024

// Template is a key prefix with a placeholder for the id of a scope.
type Template struct{ Placeholder, Text string }

func templates(placeholder string, texts []string) []Template {
	all := make([]Template, len(texts))
	for i, text := range texts {
		all[i] = Template{placeholder, text}
	}
	return all
}

// CheckPrefixes says what is wrong with a stack's prefix templates for one placeholder. A template keeps the placeholder,
// once, and ends in '/'; so each id has a tree of its own, and wh-1 does not reach into wh-17. Two templates may not meet
// either: with `pod/{id}/` and `{id}/` the warehouse named "pod" would own the images of all.
func CheckPrefixes(placeholder string, texts []string) error {
	return checkTemplates(templates(placeholder, texts))
}

func checkTemplates(all []Template) error {
	if len(all) == 0 {
		return errors.New("must name at least one key prefix")
	}
	for _, t := range all {
		if err := checkPrefix(t.Placeholder, t.Text); err != nil {
			return fmt.Errorf("prefix %q %w", t.Text, err)
		}
	}
	return checkApart(all)
}

func checkApart(all []Template) error {
	for i, t := range all {
		for _, other := range all[:i] {
			if meet(t, other) {
				return fmt.Errorf("prefix %q must not lie within, or be able to meet, prefix %q", t.Text, other.Text)
			}
		}
	}
	return nil
}

func checkPrefix(placeholder, template string) error {
	rest := strings.Replace(template, placeholder, "", 1)
	switch {
	case rest == template:
		return fmt.Errorf("must keep its placeholder %s", placeholder)
	case strings.ContainsAny(rest, "{}"):
		return fmt.Errorf("must hold %s once and no other braces", placeholder)
	case !strings.HasSuffix(template, "/"):
		return fmt.Errorf("must end in /")
	case strings.HasPrefix(template, "/") || strings.Contains(template, "//"):
		return fmt.Errorf("must not hold an empty segment")
	case !utf8.ValidString(template) || strings.ContainsFunc(template, unplain):
		return fmt.Errorf("must be of printable characters without spaces")
	case len(rest)+signature.MaxIDLength >= maxKeyLength:
		return fmt.Errorf("must leave room for an id and a name within %d bytes", maxKeyLength)
	}
	return nil
}

func unplain(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }

// meet reports whether the prefixes of two templates can lie one within the other, be it for one id or for two.
func meet(a, b Template) bool {
	as, bs := a.segments(), b.segments()
	for i := range min(len(as), len(bs)) {
		if !canEqual(as[i], bs[i]) {
			return false
		}
	}
	return true
}

// segment is one level of a template: what stands before and behind the id, or a literal.
type segment struct {
	before, after string
	open          bool // holds the placeholder
}

func (t Template) segments() []segment {
	var all []segment
	for text := range strings.SplitSeq(strings.TrimSuffix(t.Text, "/"), "/") {
		before, after, open := strings.Cut(text, t.Placeholder)
		all = append(all, segment{before, after, open})
	}
	return all
}

// canEqual reports whether two segments can become the same text. Where both hold a placeholder the ids are free, and only
// the literals before and after them can keep the two apart.
func canEqual(a, b segment) bool {
	switch {
	case a.open && b.open:
		return (strings.HasPrefix(a.before, b.before) || strings.HasPrefix(b.before, a.before)) &&
			(strings.HasSuffix(a.after, b.after) || strings.HasSuffix(b.after, a.after))
	case a.open:
		return fits(b.before, a.before, a.after)
	case b.open:
		return fits(a.before, b.before, b.after)
	}
	return a.before == b.before
}

// fits reports whether some id between before and after makes the literal segment.
func fits(literal, before, after string) bool {
	rest, ok := strings.CutPrefix(literal, before)
	id, ok2 := strings.CutSuffix(rest, after)
	return ok && ok2 && signature.ValidID(id)
}

func fillPrefixes(templates []string, placeholder, id string) []string {
	filled := make([]string, len(templates))
	for i, t := range templates {
		filled[i] = strings.Replace(t, placeholder, id, 1)
	}
	return filled
}
