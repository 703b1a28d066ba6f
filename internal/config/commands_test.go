package config_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"custody/internal/command"
	"custody/internal/config"
)

// The patterns that the template shares name the command types; what scopes there are follows from the types.
func TestEveryCommandTypeAndEveryScopeCanBeSet(t *testing.T) {
	t.Parallel()
	types := command.Types()
	for _, value := range append(types, strings.Join(types, ",")) {
		if err := config.Check("CUSTODY_COMMANDS", value); err != nil {
			t.Errorf("%s: %v", value, err)
		}
	}
	scopes, _ := config.Lookup("CUSTODY_DELETE_SCOPES")
	for _, word := range command.ScopeWords() {
		if err := config.Check("CUSTODY_DELETE_SCOPES", word+":4821"); err != nil {
			t.Errorf("%s: %v", word, err)
		}
		if !strings.Contains(scopes.Allowed, word) {
			t.Errorf("what is allowed does not name %s: %s", word, scopes.Allowed)
		}
	}
	for _, value := range []string{"reservation:r-1", "listings:4821", "listing:48/21", "listing", "Listing:4821", "cleanup.run:wh-17"} {
		if err := config.Check("CUSTODY_DELETE_SCOPES", value); err == nil {
			t.Errorf("the scope %s, which no run has, is accepted", value)
		}
	}
}

// The template has the patterns alone, so they take and refuse what the decoder does, and nothing is found by a function's start only.
func TestThePatternsTakeTheListsThatTheDecoderTakes(t *testing.T) {
	t.Parallel()
	lists, longest := [][]string{{}}, [][]string{{}}
	for range len(command.Types()) + 1 {
		var longer [][]string
		for _, list := range longest {
			for _, one := range append(command.Types(), "cleanup-run") {
				longer = append(longer, append(slices.Clone(list), one))
			}
		}
		lists, longest = append(lists, longer...), longer
	}
	for _, list := range lists {
		value := strings.Join(list, ",")
		if got, want := matches(t, "CUSTODY_COMMANDS", value), command.CheckTypes(list); got != (want == nil) {
			t.Errorf("the pattern takes %q: %v; the decoder says %v", value, got, want)
		}
	}
	for _, scope := range []string{"warehouse:wh-17", "listing:4821", "warehous:wh-17", "reservation:r-1", "warehouse:", "warehouse:-", "listing:a/b"} {
		if got, want := matches(t, "CUSTODY_DELETE_SCOPES", scope), command.ValidScope(scope); got != want {
			t.Errorf("the pattern takes %q: %v; the decoder does: %v", scope, got, want)
		}
	}
}

func matches(t *testing.T, variable, value string) bool {
	t.Helper()
	s, known := config.Lookup(variable)
	if !known {
		t.Fatalf("there is no setting %s", variable)
	}
	return regexp.MustCompile(`\A(?:` + s.Pattern + `)\z`).MatchString(value)
}
