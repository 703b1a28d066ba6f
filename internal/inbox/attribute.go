package inbox

// Attribute is the name of a top-level attribute of a run item that moves read or write.
// The names are those of Run's fields; a test compares them.
type Attribute string

// The attributes of a run item that a move can name.
const (
	AttrState          Attribute = "state"
	AttrMode           Attribute = "mode"
	AttrAttempts       Attribute = "attempts"
	AttrSlices         Attribute = "slices"
	AttrLastError      Attribute = "last_error"
	AttrCause          Attribute = "cause"
	AttrOperation      Attribute = "operation"
	AttrLeaseToken     Attribute = "lease_token"
	AttrLeaseExpiresAt Attribute = "lease_expires_at"
	AttrLeaseRecord    Attribute = "lease_record"
	AttrWake           Attribute = "wake"
	AttrWakeAt         Attribute = "wake_at"
	AttrWakeCount      Attribute = "wake_count"
	AttrNextAttemptAt  Attribute = "next_attempt_at"
	AttrPlace          Attribute = "place"
	AttrCounters       Attribute = "counters"
	AttrStartedAt      Attribute = "started_at"
	AttrEndedAt        Attribute = "ended_at"
	AttrOpen           Attribute = "open"
	AttrOpenSince      Attribute = "open_since"
	AttrTTL            Attribute = "ttl"
)
