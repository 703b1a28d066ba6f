package operator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"custody/internal/command"
	"custody/internal/retention"
)

const (
	maxKey    = 1024 // bytes of an S3 object key (S3 User Guide, "Naming Amazon S3 objects")
	maxHoldID = 1024 // bytes of a sort key (DynamoDB's quotas)
	maxNote   = 1000
)

// Reasons are the words that a hold may give; the brake's is not among them, since `stop` covers a whole scope.
func Reasons() []retention.Reason {
	return []retention.Reason{
		retention.ReasonLegalHold, retention.ReasonDisputeEvidence, retention.ReasonActiveManifest, retention.ReasonOther,
	}
}

// CheckScope says what is wrong with a scope. A hold on one that no run has would protect nothing, silently.
func CheckScope(scope string) error {
	if scope == retention.ScopeAll || command.ValidScope(scope) {
		return nil
	}
	return invalid("scope", "is %q, it must be * for all, or %s", scope, command.ScopeRule())
}

// CheckHold says everything that is wrong with a hold that is to be added.
func CheckHold(row retention.Row, now time.Time) error {
	problems := []error{checkID(row.ID), checkNotBrake(row.ID), CheckScope(row.Scope), checkCovered(row.Hold), checkReason(row.Reason),
		checkText("note", row.Note, maxNote), checkText("by", row.By, maxBy)}
	if row.By == "" {
		problems = append(problems, invalid("by", "is empty: who placed a hold is kept in it"))
	}
	if !row.InForce(now) {
		problems = append(problems, invalid("expiry", "is %s, it must be in the future", row.ExpiresAt.UTC().Format(time.RFC3339)))
	}
	return errors.Join(problems...)
}

func checkID(id string) error {
	if id == "" {
		return invalid("id", "is empty, it must be a name of your choice, such as dispute-991")
	}
	return checkText("id", id, maxHoldID)
}

// checkNotBrake keeps the brake's name free: a hold under it would keep the brake from being put on.
func checkNotBrake(id string) error {
	if id != StopID {
		return nil
	}
	return invalid("id", "is %s, the emergency brake's own: `custody stop` puts it on", id)
}

func checkReason(r retention.Reason) error {
	if slices.Contains(Reasons(), r) {
		return nil
	}
	words := make([]string, len(Reasons()))
	for i, known := range Reasons() {
		words[i] = string(known)
	}
	problem := fmt.Sprintf("is %q, it must be one of %s", r, strings.Join(words, ", "))
	if r == retention.ReasonStop {
		problem += "; the emergency brake is `custody stop`"
	}
	return invalid("reason", "%s", problem)
}

func checkCovered(h retention.Hold) error {
	switch {
	case h.Key == "" && h.Prefix == "":
		return invalid("key or prefix", "is missing: a hold covers exactly one key, or what begins with one prefix")
	case h.Key != "" && h.Prefix != "":
		return invalid("key and prefix", "are both given: a hold covers exactly one of them")
	case h.Key != "":
		return checkKey("key", h.Key)
	}
	return checkKey("prefix", h.Prefix)
}

func checkKey(field, key string) error {
	switch {
	case len(key) > maxKey:
		return invalid(field, "has %d bytes, an object key has at most %d", len(key), maxKey)
	case !utf8.ValidString(key):
		return invalid(field, "is %q, it must be UTF-8", key)
	}
	return nil
}

// Warnings are what is allowed and probably not meant.
func Warnings(h retention.Hold) []string {
	var all []string
	if h.Prefix != "" && !strings.HasSuffix(h.Prefix, "/") {
		all = append(all, fmt.Sprintf("prefix %q does not end in /: it also covers keys such as %q", h.Prefix, h.Prefix+"1/a"))
	}
	if h.Key != "" && strings.HasSuffix(h.Key, "/") {
		all = append(all, fmt.Sprintf("key %q ends in /: it covers that one key and nothing below it; a prefix would", h.Key))
	}
	for _, covered := range []string{h.Key, h.Prefix} {
		switch {
		case strings.HasPrefix(covered, "s3://"):
			all = append(all, fmt.Sprintf("%q begins with s3://: keys are written without the bucket", covered))
		case strings.HasPrefix(covered, "/"):
			all = append(all, fmt.Sprintf("%q begins with /: keys seldom do", covered))
		}
	}
	return all
}
