package inbox

import "time"

// What a check after a deployment goes by is reserved for it: nobody's objects are named so, and no run of it ever deletes.
const (
	// CheckWarehouse is the warehouse of the synthetic delivery.
	CheckWarehouse = "custody-check"
	// CheckScope is the scope of its runs. They are dry runs whatever the stack's DeleteScopes say, so that a check can be
	// made at any stage of a rollout.
	CheckScope = "warehouse:" + CheckWarehouse
	// CanaryFolder is where canaries lie: objects that a check puts and the cleanup function deletes, to prove what no dry run
	// can. Behind it a canary's key has one segment, in the alphabet of delivery ids.
	CanaryFolder = CheckWarehouse + "/"
	// CanaryType stands in the place of a command type in the report of a canary. No command has it, so that no run's report
	// can be written to.
	CanaryType = "custody.check"
)

// Canary is what became of a canary: the answer of the cleanup function, and the value that its log line is made of.
type Canary struct {
	Key      string          `json:"key"`
	Outcome  CanaryOutcome   `json:"outcome"`
	Category Category        `json:"category,omitempty"` // of the problem
	Problem  string          `json:"problem,omitempty"`
	Versions []CanaryVersion `json:"versions"` // in the order in which they were to go; never null
	Duration time.Duration   `json:"-"`
}

// CanaryOutcome is how a canary ended.
type CanaryOutcome string

const (
	// CanaryDone is a canary of which no version is left.
	CanaryDone CanaryOutcome = "done"
	// CanaryKept is one of which a version stays, for a reason that stands beside it.
	CanaryKept CanaryOutcome = "kept"
	// CanaryFailed is an error; the versions say what is known of each.
	CanaryFailed CanaryOutcome = "failed"
	// CanaryRefused is a key that is none of a canary, or one with more versions than a check ever makes: nothing was sent.
	CanaryRefused CanaryOutcome = "refused"
)

// MaxCanaryVersions is the most that a canary may have. A check makes three; what has more is somebody's object.
const MaxCanaryVersions = 10

// CanaryVersion is one version of a canary, and its fate.
type CanaryVersion struct {
	ID           string     `json:"version_id"`
	DeleteMarker bool       `json:"delete_marker"`
	Current      bool       `json:"current"`
	Fate         CanaryFate `json:"fate"`
	Detail       string     `json:"detail,omitempty"` // S3's code, or the reason why it stays
}

// CanaryFate is what became of one version of a canary.
type CanaryFate string

const (
	// CanaryDeleted is confirmed by S3.
	CanaryDeleted CanaryFate = "deleted"
	// CanaryAbsent was gone before.
	CanaryAbsent CanaryFate = "absent"
	// CanaryRetained stays: a hold, a tag or a lock covers it, or it is current over one that stays.
	CanaryRetained CanaryFate = "retained"
	// CanaryNotDeleted was refused by S3, or left alone after S3 asked to send it again.
	CanaryNotDeleted CanaryFate = "not_deleted"
	// CanaryUnknown was sent and not answered, or its turn never came.
	CanaryUnknown CanaryFate = "unknown"
)
