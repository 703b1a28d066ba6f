package config

import (
	"errors"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const maxDuration = time.Duration(math.MaxInt64)

// Check tells whether the value may be given to the setting of that name. Its error names the variable, what is wrong and
// what is allowed. It is for those who hand settings on, such as the local stack.
func Check(name, value string) error {
	s, known := Lookup(name)
	if !known {
		return unknown(name)
	}
	if problem := s.check(value); problem != nil {
		return problem
	}
	return nil
}

// check is Check for a setting at hand. It is a pointer and no error, so that callers can collect it.
func (s Setting) check(value string) *Problem {
	var err error
	switch {
	case s.Max != 0:
		err = s.checkNumber(value)
	case len(s.Values) > 0:
		err = s.checkChoice(value)
	default:
		err = s.checkPattern(value)
	}
	if err == nil && s.Longest != 0 {
		err = s.checkDuration(value)
	}
	if err == nil && s.more != nil {
		err = s.more(value)
	}
	if err != nil {
		return s.problem(value, err.Error())
	}
	return nil
}

func (s Setting) checkNumber(value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil:
		return errors.New("is no whole number")
	case n < s.Min || n > s.Max:
		return errors.New("is out of range")
	}
	return nil
}

func (s Setting) checkChoice(value string) error {
	if !slices.Contains(s.Values, value) {
		return errors.New("is none of the values there are")
	}
	return nil
}

// checkPattern matches the whole value, as CloudFormation matches AllowedPattern.
func (s Setting) checkPattern(value string) error {
	if !regexp.MustCompile(`\A(?:` + s.Pattern + `)\z`).MatchString(value) {
		return errors.New("has another form")
	}
	return nil
}

func (s Setting) checkDuration(value string) error {
	d, err := time.ParseDuration(value)
	switch {
	case err != nil: // the pattern holds: only a sum beyond 292 years is left
		return errors.New("is too long")
	case d < s.Shortest:
		return errors.New("is too short")
	case d > s.Longest:
		return errors.New("is too long")
	}
	return nil
}

// bucketNotAddress refuses what S3 refuses and the pattern lets through.
func bucketNotAddress(value string) error {
	if _, err := netip.ParseAddr(value); err == nil {
		return errors.New("looks like an IP address")
	}
	if strings.Contains(value, "..") {
		return errors.New("has two dots in a row")
	}
	return nil
}
