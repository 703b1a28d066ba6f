package command

import (
	"fmt"
	"strconv"
	"time"

	"custody/internal/inbox"
)

// ListingExpire asks to remove the stale search and reservation data of one listing that has expired.
const ListingExpire = "listing.expire"

// ListingPlaceholder stands for the listing's id in the stack's listing prefixes.
const ListingPlaceholder = "{listing_id}"

const listingScope = "listing"

func listingExpire() kind {
	return kind{
		scope:    listingScope,
		prefixes: func(s Settings) []Template { return templates(ListingPlaceholder, s.ListingPrefixes) },
		names:    []string{"listing_id", "generation", "expired_at"},
		build:    buildListingExpire,
	}
}

// buildListingExpire takes listing and generation as the business key: whatever its delivery id, a listing expires once in
// each generation, and a listing that was renewed and expires again has a new one. The last colon of the run key ends the
// listing's id, since a generation has none, so no two listings share a key. Unlike a warehouse, a listing has nothing left
// to upload once it has expired, so it is due at once.
func buildListingExpire(f *fields, s Settings) Command {
	listing, generation, expiredAt := f.id("listing_id"), f.positive("generation"), f.time("expired_at")
	number := strconv.FormatInt(generation, 10)
	return Command{
		Type:  ListingExpire,
		Run:   inbox.RunKey{Type: ListingExpire, Key: fmt.Sprintf("listing-%s:expiry-%s", listing, number)},
		Scope: scopeOf(listingScope, listing),
		Selection: inbox.Selection{
			Bucket:   s.Bucket,
			Prefixes: fillPrefixes(s.ListingPrefixes, ListingPlaceholder, listing),
			Cutoff:   cutoff(expiredAt),
		},
		Due:  expiredAt,
		Hash: hash(ListingExpire, listing, number, expiredAt.Format(time.RFC3339Nano)),
	}
}
