package inbox

import (
	"errors"
	"fmt"
	"time"
)

// Category is why a slice did not finish its run, from a closed list: it stands in the item, the log line, the metric
// dimension and the docs, where each has a heading with what to do.
type Category string

// Passing errors park the run: it goes on by itself.
const (
	// CategoryThrottled is S3 or DynamoDB asking for fewer requests.
	CategoryThrottled Category = "throttled"
	// CategoryUnavailable is a 5xx, a timeout or a network error of S3 or DynamoDB.
	CategoryUnavailable Category = "unavailable"
	// CategoryListingBroken is a truncated page without a marker, or with the marker that was sent.
	CategoryListingBroken Category = "listing_broken"
	// CategoryStopped is the emergency brake: a hold with the reason `stop` covers the run.
	CategoryStopped Category = "stopped"
	// CategoryInternal is an error that no other category names.
	CategoryInternal Category = "internal"
)

// Permanent errors fail the run: an operator acts, then retries it.
const (
	// CategoryAttemptCeiling is a run whose slices made no progress too many times in a row.
	CategoryAttemptCeiling Category = "attempt_ceiling"
	// CategoryNoSuchBucket is a selection whose bucket does not exist.
	CategoryNoSuchBucket Category = "no_such_bucket"
	// CategoryAccessDenied is a role that may not do what the run needs.
	CategoryAccessDenied Category = "access_denied"
	// CategoryWrongOwner is a bucket that belongs to another account than BucketOwner.
	CategoryWrongOwner Category = "wrong_owner"
	// CategoryVersioningOff is a bucket whose versioning was never enabled.
	CategoryVersioningOff Category = "versioning_off"
	// CategoryMFADelete is a bucket that wants a second factor for deleting versions.
	CategoryMFADelete Category = "mfa_delete"
	// CategoryWrongRegion is a bucket in another region than the stack.
	CategoryWrongRegion Category = "wrong_region"
	// CategoryVersionsRefused is a scan at whose end S3 had refused to delete some versions.
	CategoryVersionsRefused Category = "versions_refused"
	// CategoryNotConverging is a run that reached the ceiling of scans and still found something to delete.
	CategoryNotConverging Category = "not_converging"
	// CategoryKeyTooLarge is one key whose kept versions take more than a whole slice to list.
	CategoryKeyTooLarge Category = "key_too_large"
	// CategoryReportUnwritable is a report bucket that does not exist, belongs to another account, or may not be written: what
	// cannot be put on record is not deleted.
	CategoryReportUnwritable Category = "report_unwritable"
)

// Categories lists every category.
func Categories() []Category {
	return []Category{
		CategoryThrottled, CategoryUnavailable, CategoryListingBroken, CategoryStopped, CategoryInternal,
		CategoryAttemptCeiling, CategoryNoSuchBucket, CategoryAccessDenied, CategoryWrongOwner, CategoryVersioningOff,
		CategoryMFADelete, CategoryWrongRegion, CategoryVersionsRefused, CategoryNotConverging, CategoryKeyTooLarge,
		CategoryReportUnwritable,
	}
}

// Permanent reports whether no retry can cure the category.
func (c Category) Permanent() bool {
	switch c {
	case CategoryThrottled, CategoryUnavailable, CategoryListingBroken, CategoryStopped, CategoryInternal:
		return false
	case CategoryAttemptCeiling, CategoryNoSuchBucket, CategoryAccessDenied, CategoryWrongOwner, CategoryVersioningOff,
		CategoryMFADelete, CategoryWrongRegion, CategoryVersionsRefused, CategoryNotConverging, CategoryKeyTooLarge,
		CategoryReportUnwritable:
		return true
	}
	return false
}

// Failure is an error with its category. Adapters make it, since only they know their vendor's codes.
type Failure struct {
	Category Category
	Err      error
}

// Failed gives the error a category.
func Failed(c Category, err error) *Failure { return &Failure{Category: c, Err: err} }

func (f *Failure) Error() string { return fmt.Sprintf("%s: %v", f.Category, f.Err) }

// Unwrap gives the vendor-free cause.
func (f *Failure) Unwrap() error { return f.Err }

// CategoryOf is the category of an error; CategoryInternal where it has none.
func CategoryOf(err error) Category {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Category
	}
	return CategoryInternal
}

// Refused is the answer to a move whose condition did not hold. It is an answer, not a failure of the store.
type Refused struct {
	Move string
	Run  *Run // what the store holds; nil when there is no such run
}

func (r *Refused) Error() string {
	if r.Run == nil {
		return fmt.Sprintf("%s refused: no such run", r.Move)
	}
	return fmt.Sprintf("%s refused: run %s is %s", r.Move, r.Run.RunKey(), r.Run.State)
}

// ErrUnavailable is a store that did not answer, or answered that it cannot now. What was asked may have been done.
var ErrUnavailable = errors.New("store unavailable")

// ErrTooLarge is an item that would not fit into the 400 KB that DynamoDB allows.
var ErrTooLarge = errors.New("item too large")

// BadRow is a row of the index that could not be understood. The sweep passes it by, and counts its age all the same.
type BadRow struct {
	ItemKey   string
	OpenSince time.Time // since when it is in the index; zero where even that cannot be read
	Err       error
}

func (b *BadRow) Error() string { return fmt.Sprintf("row %q: %v", b.ItemKey, b.Err) }

// Unwrap gives the cause.
func (b *BadRow) Unwrap() error { return b.Err }
