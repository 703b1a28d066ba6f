package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

const placeholder = "{warehouse_id}"

// disjointPrefixes refuses templates whose prefixes could hold the same key, be it for two different ids: a key would be
// worked under two scopes, and a hold or a stage for one of them would not reach it under the other.
func disjointPrefixes(value string) error {
	templates := strings.Split(value, ",")
	for i, t := range templates {
		if err := plainPrefix(t); err != nil {
			return err
		}
		for _, other := range templates[:i] {
			if mayOverlap(t, other) {
				return fmt.Errorf("has the prefixes %q and %q, which can overlap", other, t)
			}
		}
	}
	return nil
}

// plainPrefix refuses what is legal in a key and yet almost surely a mistake that would make a run find nothing: a space
// behind a comma, a slash in front, an empty segment.
func plainPrefix(template string) error {
	switch {
	case strings.ContainsFunc(template, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return errors.New("has a space or a control character")
	case strings.HasPrefix(template, "/") || strings.Contains(template, "//"):
		return errors.New("has an empty path segment")
	case len(template) > maxTemplate:
		return fmt.Errorf("has a prefix over %d bytes", maxTemplate)
	}
	return nil
}

// maxTemplate leaves room in a key of 1,024 bytes, which is S3's limit, for an id of 128 and a name behind the prefix.
const maxTemplate = 512

// mayOverlap reports whether some ids make one prefix a prefix of the other. Both end in '/', so whole segments are compared.
func mayOverlap(a, b string) bool {
	as, bs := segments(a), segments(b)
	for i := range min(len(as), len(bs)) {
		if !mayBeEqual(as[i], bs[i]) {
			return false
		}
	}
	return true
}

func segments(template string) []string { return strings.Split(strings.TrimSuffix(template, "/"), "/") }

func mayBeEqual(a, b string) bool {
	switch {
	case a == b:
		return true
	case a == placeholder:
		return b == placeholder || isIdentifier(b)
	case b == placeholder:
		return isIdentifier(a)
	}
	return false
}

func isIdentifier(segment string) bool {
	return regexp.MustCompile(`\A` + identifier + `\z`).MatchString(segment)
}
