package command

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"custody/internal/signature"
)

// maxKeyLength is the longest object key of S3 in bytes (API reference, "Object key naming guidelines").
const maxKeyLength = 1024

// CheckPrefixes says what is wrong with a stack's prefix templates for one placeholder. A template keeps the placeholder,
// once, and ends in '/'; so each id has a tree of its own, and wh-1 does not reach into wh-17. Two templates may not meet
// either: with `pod/{id}/` and `{id}/` the warehouse named "pod" would own the images of all.
func CheckPrefixes(placeholder string, templates []string) error {
	if len(templates) == 0 {
		return fmt.Errorf("must name at least one prefix, such as pod/%s/", placeholder)
	}
	for i, t := range templates {
		if err := checkPrefix(placeholder, t); err != nil {
			return fmt.Errorf("prefix %q %w", t, err)
		}
		for _, other := range templates[:i] {
			if meet(placeholder, t, other) {
				return fmt.Errorf("prefix %q must not lie within, or be able to meet, prefix %q", t, other)
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
func meet(placeholder, a, b string) bool {
	as, bs := segments(a), segments(b)
	for i := range min(len(as), len(bs)) {
		if !canEqual(placeholder, as[i], bs[i]) {
			return false
		}
	}
	return true
}

func segments(template string) []string { return strings.Split(strings.TrimSuffix(template, "/"), "/") }

// canEqual reports whether two segments can become the same text. Where both hold the placeholder the ids are free, and only
// the literals before and after them can keep the two apart.
func canEqual(placeholder, a, b string) bool {
	aBefore, aAfter, aOpen := strings.Cut(a, placeholder)
	bBefore, bAfter, bOpen := strings.Cut(b, placeholder)
	switch {
	case aOpen && bOpen:
		return (strings.HasPrefix(aBefore, bBefore) || strings.HasPrefix(bBefore, aBefore)) &&
			(strings.HasSuffix(aAfter, bAfter) || strings.HasSuffix(bAfter, aAfter))
	case aOpen:
		return fits(b, aBefore, aAfter)
	case bOpen:
		return fits(a, bBefore, bAfter)
	}
	return a == b
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
