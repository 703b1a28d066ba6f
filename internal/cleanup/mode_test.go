package cleanup_test

import (
	"testing"

	"custody/internal/cleanup"
	"custody/internal/command"
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

// A check can be made at any stage of a rollout, since its own runs are dry whatever is enabled.
func TestTheScopeOfAChecksRunsIsNeverDeletedFrom(t *testing.T) {
	t.Parallel()
	d, err := command.NewDecoder(command.Settings{
		Accepted: command.Types(), Bucket: bucket, WarehousePrefixes: []string{"pod/" + command.WarehousePlaceholder + "/"},
		ListingPrefixes: []string{"search/" + command.ListingPlaceholder + "/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Decode([]byte(`{"type":"cleanup.run","run_id":"check-1","warehouse_id":"` + inbox.CheckWarehouse + `","expired_before":"2026-08-30T00:00:00Z"}`))
	if err != nil || c.Scope != inbox.CheckScope {
		t.Fatalf("the scope of its command is %s, error %v", c.Scope, err)
	}
	for _, enabled := range [][]string{nil, {"*"}, {inbox.CheckScope}, {"*", inbox.CheckScope}} {
		if got := (cleanup.Settings{DeleteScopes: enabled}).Mode(c.Scope); got != inbox.ModeDryRun {
			t.Errorf("with %v: mode %s", enabled, got)
		}
	}
}
