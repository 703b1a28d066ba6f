package config_test

import (
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
