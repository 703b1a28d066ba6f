package command

import (
	"slices"
	"strings"

	"custody/internal/signature"
)

// scopeOf names whose things a run deletes: warehouse:wh-17. The first colon ends the word, so the id may hold others.
func scopeOf(word, id string) string { return word + ":" + id }

// ScopeWords lists the words that the scopes of runs begin with, in the order of RunTypes. What names a scope from outside,
// a hold or a setting, is held to them: under any other word it would mean no run at all, silently.
func ScopeWords() []string {
	var words []string
	for _, name := range RunTypes() {
		words = append(words, kinds()[name].scope)
	}
	return words
}

// ValidScope reports whether some command can start a run of the scope.
func ValidScope(scope string) bool {
	word, id, _ := strings.Cut(scope, ":")
	return slices.Contains(ScopeWords(), word) && signature.ValidID(id)
}

// ScopeRule says in words what ValidScope checks, for messages.
func ScopeRule() string {
	return strings.Join(ScopeWords(), ": or ") + ": and an id, such as " + scopeOf(warehouseScope, "wh-17")
}
