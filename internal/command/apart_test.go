package command_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"custody/internal/command"
)

// Holds are placed for a warehouse or for a listing: what one may delete must be out of the other's reach.
func TestPrefixesOfTwoTypesThatMeetFailTheStart(t *testing.T) {
	t.Parallel()
	for sentence, pair := range map[string][2]string{
		"the same folder":                             {"pod/{warehouse_id}/", "pod/{listing_id}/"},
		"a folder within the other's":                 {"pod/{warehouse_id}/", "pod/{listing_id}/old/"},
		"a folder around the other's":                 {"pod/{warehouse_id}/old/", "pod/{listing_id}/"},
		"a listing that is called like a folder":      {"pod/{warehouse_id}/", "{listing_id}/"},
		"a warehouse that is called like a folder":    {"{warehouse_id}/", "search/{listing_id}/"},
		"two whose ids become each other's literals":  {"a/{warehouse_id}/x/", "{listing_id}/b/"},
		"an affix that an id can make up for":         {"w{warehouse_id}/", "{listing_id}/"},
		"a literal that is an id with its affix":      {"tmp/w-{warehouse_id}/", "tmp/w-17/{listing_id}/"},
		"the second of the listing's, not the first":  {"pod/{warehouse_id}/", "search/{listing_id}/,pod/{listing_id}/x/"},
		"the second of the warehouse's":               {"labels/{warehouse_id}/,search/{warehouse_id}/", "search/{listing_id}/"},
		"a placeholder that stands for other letters": {"{warehouse_id}/a/", "{listing_id}/a/b/"},
	} {
		for _, order := range [][]string{{command.CleanupRun, command.ListingExpire}, {command.ListingExpire, command.CleanupRun}} {
			s := everything(order...)
			s.WarehousePrefixes, s.ListingPrefixes = strings.Split(pair[0], ","), strings.Split(pair[1], ",")
			_, err := command.NewDecoder(s)
			if err == nil {
				t.Errorf("%s: accepted %v", sentence, pair)
				continue
			}
			names := func(templates []string) bool {
				return slices.ContainsFunc(templates, func(x string) bool { return strings.Contains(err.Error(), fmt.Sprintf("%q", x)) })
			}
			if !names(s.WarehousePrefixes) || !names(s.ListingPrefixes) {
				t.Errorf("%s: the error names not both of them: %v", sentence, err)
			}
			// A stack that takes one of the two alone starts: the other's templates are nobody's.
			for _, alone := range order {
				s.Accepted = []string{alone}
				if _, err := command.NewDecoder(s); err != nil {
					t.Errorf("%s: %s alone: %v", sentence, alone, err)
				}
			}
		}
	}
}

func TestPrefixesOfTwoTypesThatStayApart(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"pod/{warehouse_id}/,labels/{warehouse_id}/", "search/{listing_id}/,reservations/{listing_id}/"},
		{"warehouse/{warehouse_id}/", "listing/{listing_id}/"}, {"{warehouse_id}/pod/", "{listing_id}/search/"},
		{"w-{warehouse_id}/", "l-{listing_id}/"}, {"{warehouse_id}.w/", "{listing_id}.l/"}, {"a/b/{warehouse_id}/", "a/c/{listing_id}/"},
	} {
		s := everything()
		s.WarehousePrefixes, s.ListingPrefixes = strings.Split(pair[0], ","), strings.Split(pair[1], ",")
		if _, err := command.NewDecoder(s); err != nil {
			t.Errorf("%v: %v", pair, err)
		}
	}
}

// Whatever templates pass, and whatever warehouse and listing are called, no key lies in both selections, nor in those of two
// listings. The decoded commands are asked, not the templates.
func TestNoKeyLiesInTwoSelections(t *testing.T) {
	t.Parallel()
	template := func(placeholder string) *rapid.Generator[string] {
		segment := rapid.SampledFrom([]string{"a", "b", "ab", "a-", placeholder, "a" + placeholder, placeholder + "b", "a-" + placeholder, placeholder + ".b"})
		return rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(segment, 1, 3).Draw(t, "segments"), "/") + "/"
		}).Filter(func(s string) bool { return strings.Count(s, placeholder) == 1 })
	}
	id := rapid.StringMatching(`[ab][ab.:-]{0,2}`)
	started := 0
	rapid.Check(t, func(t *rapid.T) {
		s := everything()
		s.WarehousePrefixes = rapid.SliceOfN(template(command.WarehousePlaceholder), 1, 2).Draw(t, "warehouse")
		s.ListingPrefixes = rapid.SliceOfN(template(command.ListingPlaceholder), 1, 2).Draw(t, "listing")
		d, err := command.NewDecoder(s)
		if err != nil {
			return
		}
		started++
		one, other := id.Draw(t, "one listing"), id.Draw(t, "another")
		prefixes := map[string][]string{}
		for _, body := range []string{
			fmt.Sprintf(`{"type":"cleanup.run","run_id":"r","warehouse_id":%q,"expired_before":"2026-08-30T10:00:00Z"}`, id.Draw(t, "warehouse")),
			fmt.Sprintf(`{"type":"listing.expire","listing_id":%q,"generation":1,"expired_at":"2026-08-30T10:00:00Z"}`, one),
			fmt.Sprintf(`{"type":"listing.expire","listing_id":%q,"generation":2,"expired_at":"2026-08-30T10:00:00Z"}`, other),
		} {
			c, err := d.Decode([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			prefixes[c.Scope] = c.Selection.Prefixes // two generations of one listing have the same
		}
		for scope, own := range prefixes {
			for otherScope, others := range prefixes {
				for i, x := range own {
					for j, y := range others {
						if (scope != otherScope || i != j) && (strings.HasPrefix(x, y) || strings.HasPrefix(y, x)) {
							t.Fatalf("%s of %s and %s of %s share keys", x, scope, y, otherScope)
						}
					}
				}
			}
		}
	})
	if started == 0 {
		t.Error("no draw of templates passed the check, so nothing was tried")
	}
}

func TestListing4821NeverReachesWhatOnlyBeginsLikeIt(t *testing.T) {
	t.Parallel()
	c, err := decoder(t, listings()).Decode([]byte(goodListing))
	if err != nil {
		t.Fatal(err)
	}
	reaches := func(key string) bool {
		return slices.ContainsFunc(c.Selection.Prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
	}
	for _, key := range []string{"search/4821/a", "reservations/4821/", "search/4821//x", "search/4821/../48210/a"} {
		if !reaches(key) {
			t.Errorf("%s is not reached", key)
		}
	}
	for _, key := range []string{
		"search/48210/a", "search/4821", "search/4821-old/a", "search/4821:x/a", "search/4821.bak/a", "reservations/48210/a", "reservations/482/1/a",
		"search/4821\\a", "search//4821/a", "/search/4821/a", "Search/4821/a", "pod/4821/a", "4821/a",
	} {
		if reaches(key) {
			t.Errorf("%s is reached", key)
		}
	}
}

func TestScopesThatCommandsMake(t *testing.T) {
	t.Parallel()
	if got, want := strings.Join(command.ScopeWords(), " "), "warehouse listing"; got != want {
		t.Errorf("scope words %q, want %q", got, want)
	}
	for _, scope := range []string{"warehouse:wh-17", "listing:4821", "listing:a:b", "listing:" + strings.Repeat("9", 128)} {
		if !command.ValidScope(scope) {
			t.Errorf("%s is refused", scope)
		}
	}
	for _, scope := range []string{
		"", "*", ":", "listing", "listing:", "listing:*", "listing:48/21", "listing: 4821", "Listing:4821", "listings:4821", "reservation:res-7", ":4821",
		"listing:" + strings.Repeat("9", 129), "listing:4821\n", "warehouse;wh-17", "warehouse:#",
	} {
		if command.ValidScope(scope) {
			t.Errorf("%q passes", scope)
		}
	}
	if got, want := command.ScopeRule(), "warehouse: or listing: and an id, such as warehouse:wh-17"; got != want {
		t.Errorf("rule %q, want %q", got, want)
	}
	// Every scope that a command has is one that settings and holds take.
	d := decoder(t, everything())
	for _, s := range samples() {
		c, err := d.Decode([]byte(s.with("note", "1")))
		if err != nil || (c.Expiry == nil) != command.ValidScope(c.Scope) {
			t.Errorf("%s: scope %q, error %v", s.commandType, c.Scope, err)
		}
	}
}
