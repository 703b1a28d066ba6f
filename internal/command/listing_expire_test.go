package command_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custody/internal/command"
	"custody/internal/inbox"
	"custody/internal/report"
	"custody/internal/signature"
)

const goodListing = `{"listing_id":"4821","generation":3,"expired_at":"2026-08-30T12:00:00+02:00"}`

func listings() command.Settings { return everything(command.ListingExpire) }

func TestListingExpireBecomesARun(t *testing.T) {
	t.Parallel()
	got, err := decoder(t, listings()).Decode([]byte(goodListing))
	if err != nil {
		t.Fatal(err)
	}
	want := command.Command{
		Type:  "listing.expire",
		Run:   inbox.RunKey{Type: "listing.expire", Key: "listing-4821:expiry-3"},
		Scope: "listing:4821",
		Selection: inbox.Selection{
			Bucket: "pods", Prefixes: []string{"search/4821/", "reservations/4821/"}, Cutoff: at(),
		},
		Due: at(), // MinObjectAge is the warehouses' alone
		// printf '["listing.expire","4821","3","2026-08-30T10:00:00Z"]' | sha256sum
		Hash: "4d51486366cfa8022aa02e505ef84a3cffd6a7c734a070cbb76b72e53eb77fb1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
}

func TestAGenerationCountsEveryDigit(t *testing.T) {
	t.Parallel()
	d := decoder(t, listings())
	for _, digits := range []string{"1", "10", "9007199254740992", "9007199254740993", "9007199254740994", "9223372036854775806", "9223372036854775807"} {
		body := strings.Replace(goodListing, ":3,", ":"+digits+",", 1)
		got, err := d.Decode([]byte(body))
		if want := "listing-4821:expiry-" + digits; err != nil || got.Run.Key != want {
			t.Errorf("run key %q, error %v, want %q", got.Run.Key, err, want)
		}
	}
	for _, around := range []string{" 3", "3 ", "\n\t3\r\n"} { // JSON's own whitespace is no part of the number
		body := strings.Replace(goodListing, ":3,", ":"+around+",", 1)
		if got, err := d.Decode([]byte(body)); err != nil || got.Run.Key != "listing-4821:expiry-3" {
			t.Errorf("%q: run key %q, error %v", around, got.Run.Key, err)
		}
	}
}

func TestListingPayloadsThatAreTheSameCommand(t *testing.T) {
	t.Parallel()
	first, err := decoder(t, listings()).Decode([]byte(goodListing))
	if err != nil {
		t.Fatal(err)
	}
	for sentence, body := range map[string]string{
		"with its type":            `{"type":"listing.expire",` + goodListing[1:],
		"in another time zone":     strings.Replace(goodListing, "12:00:00+02:00", "10:00:00Z", 1),
		"with a fraction of zero":  strings.Replace(goodListing, "12:00:00", "12:00:00.000", 1),
		"in another order":         `{"expired_at":"2026-08-30T10:00:00Z","generation":3,"listing_id":"4821"}`,
		"with unknown fields":      `{"reason":"sold","generation_2":4,"previous":{"generation":2,"listing_id":"1"},` + goodListing[1:],
		"with escaped digits":      strings.Replace(goodListing, `"4821"`, `"\u00348\u00321"`, 1),
		"with an escaped name":     strings.Replace(goodListing, `"generation"`, `"gener\u0061tion"`, 1),
		"with a number beyond all": `{"n":1e999,` + goodListing[1:],
	} {
		if got, err := decoder(t, listings()).Decode([]byte(body)); err != nil {
			t.Errorf("%s: %v", sentence, err)
		} else if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

func TestHashOfAListingIsOfItsOwnFields(t *testing.T) {
	t.Parallel()
	other := listings()
	other.Bucket, other.MinObjectAge, other.ListingPrefixes = "elsewhere", 0, []string{"x/{listing_id}/"}
	a, errA := decoder(t, listings()).Decode([]byte(goodListing))
	b, errB := decoder(t, other).Decode([]byte(goodListing))
	if errA != nil || errB != nil || a.Hash != b.Hash || a.Run != b.Run {
		t.Errorf("hashes %s (%v) and %s (%v), runs %s and %s", a.Hash, errA, b.Hash, errB, a.Run, b.Run)
	}
	if cmp.Equal(a.Selection, b.Selection) {
		t.Error("the selections are the same: nothing was changed")
	}
	seen := map[string]string{a.Hash: "the command itself"}
	for sentence, pair := range map[string][2]string{
		"another listing":              {`"4821"`, `"48210"`},
		"another generation":           {":3,", ":4,"},
		"another expiry":               {"12:00:00", "12:00:01"},
		"an expiry of another instant": {"12:00:00", "12:00:00.000000001"},
		"digits that moved over":       {`"4821","generation":3`, `"482","generation":13`},
	} {
		got, err := decoder(t, listings()).Decode([]byte(strings.Replace(goodListing, pair[0], pair[1], 1)))
		if err != nil {
			t.Fatal(err)
		}
		if twin, twice := seen[got.Hash]; twice {
			t.Errorf("%s has the hash of %s", sentence, twin)
		}
		seen[got.Hash] = sentence
	}
	// The same fields by value, but of another type: the type is part of the hash and of the run.
	c, err := decoder(t, everything()).Decode([]byte(`{"type":"cleanup.run","run_id":"4821","warehouse_id":"3","expired_before":"2026-08-30T10:00:00Z"}`))
	if err != nil || seen[c.Hash] != "" || c.Run == a.Run {
		t.Errorf("a cleanup of the same texts: hash of %q, run %s, error %v", seen[c.Hash], c.Run, err)
	}
}

func TestAListingsCutoffIsRoundedDownAndItsDueTimeIsNot(t *testing.T) {
	t.Parallel()
	for fraction, want := range map[string]time.Duration{".999999999": 999999999, ".5": 500 * time.Millisecond, ".000": 0} {
		got, err := decoder(t, listings()).Decode([]byte(strings.Replace(goodListing, "12:00:00", "12:00:00"+fraction, 1)))
		if err != nil || !got.Selection.Cutoff.Equal(at()) || !got.Due.Equal(at().Add(want)) {
			t.Errorf("%s: cutoff %s, due %s, error %v", fraction, got.Selection.Cutoff, got.Due, err)
		}
	}
	edge, err := decoder(t, listings()).Decode([]byte(strings.Replace(goodListing, "2026-08-30T12:00:00+02:00", "1970-01-01T00:00:00.9Z", 1)))
	if err != nil || edge.Selection.Cutoff.Unix() != 0 {
		t.Errorf("cutoff %s, error %v, want the first second there is", edge.Selection.Cutoff, err)
	}
}

// anID draws ids that are meant to run together with what stands around them in a run key.
func anID() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{"4821", "0", "1", ":", "-", ":expiry-", "listing-", "expiry", "a", "."})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 1, 8).Draw(t, "pieces"), "")
	}).Filter(signature.ValidID)
}

func TestNoTwoListingsShareARunKey(t *testing.T) {
	t.Parallel()
	d := decoder(t, listings())
	rapid.Check(t, func(t *rapid.T) {
		decode := func(name string) (string, int64, command.Command) {
			id := anID().Draw(t, name)
			generation := rapid.OneOf(rapid.Int64Range(1, 1200), rapid.Int64Min(1)).Draw(t, name+"'s generation")
			c, err := d.Decode(fmt.Appendf(nil, `{"listing_id":%q,"generation":%d,"expired_at":"2026-08-30T12:00:00Z"}`, id, generation))
			if err != nil {
				t.Fatal(err)
			}
			return id, generation, c
		}
		id, generation, one := decode("one")
		otherID, otherGeneration, other := decode("other")
		same := id == otherID && generation == otherGeneration
		if same != (one.Run == other.Run) || same != (one.Hash == other.Hash) {
			t.Fatalf("%s of %d and %s of %d: runs %s and %s", id, generation, otherID, otherGeneration, one.Run, other.Run)
		}
		if (id == otherID) != (one.Scope == other.Scope) || !command.ValidScope(one.Scope) {
			t.Fatalf("scopes %s and %s", one.Scope, other.Scope)
		}
		// It can be read back from the inbox, and it has a folder of its own in the report.
		if back, ok := inbox.ParseItemKey(one.Run.ItemKey()); !ok || back != one.Run {
			t.Fatalf("%s reads back as %s", one.Run.ItemKey(), back)
		}
		folder, err := report.Prefix(one.Run.Type, one.Run.Key)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := report.Prefix(other.Run.Type, other.Run.Key)
		if err != nil || !same && (strings.HasPrefix(folder, theirs) || strings.HasPrefix(theirs, folder)) {
			t.Fatalf("%s and %s, error %v", folder, theirs, err)
		}
	})
}

func TestTheLongestListingFitsEverywhere(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("L", signature.MaxIDLength)
	body := strings.NewReplacer(`"4821"`, `"`+longest+`"`, ":3,", ":9223372036854775807,").Replace(goodListing)
	c, err := decoder(t, listings()).Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Run.Key) != 163 {
		t.Errorf("the longest run key has %d characters", len(c.Run.Key))
	}
	name := report.Name{Kind: report.KindSelection, CommandType: c.Run.Type, RunKey: c.Run.Key, Slice: 999_999,
		LeaseToken: strings.Repeat("T", 128), Scan: 9_999, Batch: 999_999, Try: 99}
	object, err := name.Object()
	if err != nil || len(object) > 1024 {
		t.Errorf("%d bytes, error %v", len(object), err)
	}
	if back, err := report.ParseName(object); err != nil || back != name {
		t.Errorf("reads back as %+v, error %v", back, err)
	}
	if len(c.Run.ItemKey()) > 2048 || !command.ValidScope(c.Scope) {
		t.Errorf("item key of %d bytes, scope %s", len(c.Run.ItemKey()), c.Scope)
	}
}
