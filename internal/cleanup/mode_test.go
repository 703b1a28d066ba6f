package cleanup_test

import (
	"testing"

	"custody/internal/cleanup"
	"custody/internal/inbox"
)

func TestOnlyEnabledScopesAreDeletedFrom(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scopes []string
		want   inbox.Mode
	}{
		"none is enabled":          {nil, inbox.ModeDryRun},
		"all are":                  {[]string{"*"}, inbox.ModeDelete},
		"this one is":              {[]string{"warehouse:wh-1", scope}, inbox.ModeDelete},
		"another one is":           {[]string{"warehouse:wh-1"}, inbox.ModeDryRun},
		"one that it begins with":  {[]string{"warehouse:wh-"}, inbox.ModeDryRun},
		"one that begins with it":  {[]string{scope + "1"}, inbox.ModeDryRun},
		"a star is no wildcard":    {[]string{"warehouse:*"}, inbox.ModeDryRun},
		"an empty entry is nobody": {[]string{""}, inbox.ModeDryRun},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (cleanup.Settings{DeleteScopes: test.scopes}).Mode(scope); got != test.want {
				t.Errorf("mode %s, want %s", got, test.want)
			}
		})
	}
}
