package retention

import "time"

// Version is one object version or delete marker, as a listing showed it.
type Version struct {
	Key          string
	ID           string    // "null" for one written while versioning was off or suspended
	LastModified time.Time // S3 lists whole seconds
	DeleteMarker bool
	Currency     Currency
	Size         int64 // bytes; 0 for a delete marker
}

// Currency says whether a version is the one that readers of its key see. It is told by IsLatest alone, never by order:
// S3 answers versions and delete markers as two lists, with times in whole seconds.
type Currency int

const (
	// CurrencyUnknown is a listing that did not say. Such a version is kept.
	CurrencyUnknown Currency = iota
	// Current is what readers of the key see.
	Current
	// Noncurrent is an older version; removing it changes nothing that readers see.
	Noncurrent
)

// NullID is the version id of what was written while the bucket's versioning was off or suspended.
const NullID = "null"

// Marker is a position behind one version in the order of a listing. The zero Marker is the start.
// A Marker without a version id stands behind every version of its key.
type Marker struct {
	Key       string
	VersionID string
}

// Page is one page of a listing. Versions holds the keys in byte order, all that the page has of one key side by side.
type Page struct {
	Versions []Version
	Next     Marker // zero at the end
}

// Bucket is what a bucket's configuration says about deleting versions.
type Bucket struct {
	Versioning Versioning
	MFADelete  bool // deleting a version asks for a second factor, which no function has
	ObjectLock bool // versions may be locked, and are asked for it before they are sent
}

// Marks is what a version itself says against its deletion. Delete markers have none and are never asked.
type Marks struct {
	Absent      bool      // the version is gone: nothing is left to decide
	TagHold     bool      // the object tag TagKey has a value other than TagOff
	LegalHold   bool      // Object Lock: a legal hold
	RetainUntil time.Time // Object Lock: retention, in whichever mode; zero without one
}

// Ask is which marks of a version are to be read.
type Ask struct {
	Tags  bool // the object tags: one request for each version
	Locks bool // legal hold and retention: two requests for each version; only for buckets that have Object Lock
}

// Any reports whether anything is asked.
func (a Ask) Any() bool { return a.Tags || a.Locks }

// The object tag that keeps a version, and the value that lifts it.
const (
	TagKey = "custody-hold"
	TagOff = "false"
)

// Versioning is a bucket's versioning state.
type Versioning string

// The versioning states of S3. A bucket whose versioning was never enabled has no state at all.
const (
	VersioningNever     Versioning = ""
	VersioningEnabled   Versioning = "Enabled"
	VersioningSuspended Versioning = "Suspended"
)

// Fate is what S3 said became of one version that was to be deleted.
type Fate struct {
	Kind   FateKind
	Code   string // S3's error code, for FateTransient, FateLocked and FateRefused
	Reason Reason // why it stays, for FateLocked
}

// CodeHoldsTooOld is the code of a version that was not sent, since the holds that allowed it had grown too old. It is not S3's.
const CodeHoldsTooOld = "HoldsTooOld"

// FateKind sorts fates by what follows from them.
type FateKind int

const (
	// FateTransient is a version that S3 asked to send again, or that was not sent in time: nothing is known of it.
	FateTransient FateKind = iota
	// FateDeleted is confirmed: the version is gone.
	FateDeleted
	// FateAbsent is success too: it was gone before.
	FateAbsent
	// FateLocked is a refusal that the version's Object Lock explains: it is retained.
	FateLocked
	// FateRefused is any other answer, and no answer.
	FateRefused
)
