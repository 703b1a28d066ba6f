package command_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"custody/internal/command"
)

func TestPrefixTemplatesThatMayWiden(t *testing.T) {
	t.Parallel()
	for sentence, templates := range map[string]string{
		"no template":                               "",
		"an empty template":                         "pod/{warehouse_id}/,",
		"no placeholder":                            "pod/",
		"another placeholder":                       "pod/{listing_id}/",
		"the placeholder twice":                     "pod/{warehouse_id}/{warehouse_id}/",
		"another brace beside it":                   "pod/{warehouse_id}}/",
		"no slash at the end":                       "pod/{warehouse_id}",
		"a slash at the start":                      "/pod/{warehouse_id}/",
		"an empty segment":                          "pod//{warehouse_id}/",
		"a space":                                   "pod/{warehouse_id}/, labels/{warehouse_id}/",
		"a control character":                       "pod\x01/{warehouse_id}/",
		"invalid UTF-8":                             "pod\xff/{warehouse_id}/",
		"no room for a name":                        strings.Repeat("p", 1000) + "/{warehouse_id}/",
		"the same template twice":                   "pod/{warehouse_id}/,pod/{warehouse_id}/",
		"one within the other":                      "pod/{warehouse_id}/,pod/{warehouse_id}/old/",
		"one that an id turns into the other's":     "pod/{warehouse_id}/,{warehouse_id}/",
		"two that ids turn into each other":         "{warehouse_id}/x/,y/{warehouse_id}/",
		"one whose affix is part of the other's":    "p{warehouse_id}/,pod-{warehouse_id}/",
		"one that an id turns into a deeper folder": "a/b/{warehouse_id}/,a/{warehouse_id}/",
	} {
		var list []string
		if templates != "" {
			list = strings.Split(templates, ",")
		}
		if err := command.CheckPrefixes(command.WarehousePlaceholder, list); err == nil {
			t.Errorf("%s: accepted %q", sentence, templates)
		}
	}
	for _, templates := range []string{
		"pod/{warehouse_id}/,labels/{warehouse_id}/", "{warehouse_id}/pod/,{warehouse_id}/labels/", "{warehouse_id}/",
		"pod-{warehouse_id}/,labels-{warehouse_id}/", "pod/{warehouse_id}.old/,pod/{warehouse_id}.new/", "тест/{warehouse_id}/",
	} {
		if err := command.CheckPrefixes(command.WarehousePlaceholder, strings.Split(templates, ",")); err != nil {
			t.Errorf("%q: %v", templates, err)
		}
	}
}

// No two warehouses share a key, whatever templates the check lets through and whatever the warehouses are called.
func TestNoIDReachesIntoAnothersSelection(t *testing.T) {
	t.Parallel()
	segment := rapid.SampledFrom([]string{"a", "b", "ab", "{warehouse_id}", "a{warehouse_id}", "{warehouse_id}b", "a-{warehouse_id}"})
	template := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(segment, 1, 3).Draw(t, "segments"), "/") + "/"
	})
	id := rapid.StringMatching(`[ab][ab-]{0,2}`)
	rapid.Check(t, func(t *rapid.T) {
		templates := rapid.SliceOfN(template, 1, 3).Draw(t, "templates")
		if command.CheckPrefixes(command.WarehousePlaceholder, templates) != nil {
			return
		}
		one, other := id.Draw(t, "one"), id.Draw(t, "other")
		for i, a := range templates {
			for j, b := range templates {
				if i == j && one == other {
					continue
				}
				x := strings.ReplaceAll(a, command.WarehousePlaceholder, one)
				y := strings.ReplaceAll(b, command.WarehousePlaceholder, other)
				if strings.HasPrefix(x, y) || strings.HasPrefix(y, x) {
					t.Fatalf("%s of %s and %s of %s", x, one, y, other)
				}
			}
		}
	})
}
