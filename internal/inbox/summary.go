package inbox

import "time"

// DeliverySummary is what became of one request: the one value that the webhook hands out for the log and the metrics.
// It holds no body, no signature and no key.
type DeliverySummary struct {
	DeliveryID  string
	KeyID       string // the key that verified the request, or the id that was asked for; never the key
	CommandType string
	RunKey      string
	Scope       string

	ReservationID string // of a command that starts no run

	Outcome    Outcome
	Status     int           // of the answer
	Signature  string        // "valid", "invalid", "malformed", "stale", "missing", "unknown_key", "no_key", "" when not looked at
	Problem    string        // why, for the log alone; names the field and what is allowed
	BodyBytes  int           // decoded
	Age        time.Duration // receipt minus the command's due time, else minus the delivery timestamp; 0 when unknown
	AckLatency time.Duration // from the function URL's receipt to the answer
	Panicked   bool
}

// SliceOutcome is how one stream record ended.
type SliceOutcome string

const (
	// SliceCompleted ended the run: done.
	SliceCompleted SliceOutcome = "completed"
	// SliceYielded used up its budget; a new wake goes on.
	SliceYielded SliceOutcome = "yielded"
	// SliceParked met a passing error; the next attempt has a time.
	SliceParked SliceOutcome = "parked"
	// SliceFailed met an error no retry can cure: failed.
	SliceFailed SliceOutcome = "failed"
	// SliceNotAcquired is a record that is late, repeated, or not due: nothing was done.
	SliceNotAcquired SliceOutcome = "not_acquired"
	// SliceLeaseLost is a worker that was refused at a write: another one, or an operator, has the run.
	SliceLeaseLost SliceOutcome = "lease_lost"
	// SliceDropped is a record that is no run or does not decode. It never blocks the shard.
	SliceDropped SliceOutcome = "dropped"
	// SliceUnwritten is a run whose item could not be written: the record is reported as failed, for the stream to retry.
	SliceUnwritten SliceOutcome = "unwritten"
)

// SliceSummary is what one stream record led to: the one value that the cleanup function hands out for the log and the metrics.
// Its counts are those of the slice, not of the run.
type SliceSummary struct {
	Record   string // identity of the stream record
	Run      RunKey
	Scope    string
	Outcome  SliceOutcome
	Mode     Mode
	Category Category // of the error, "" without one
	Problem  string   // the error in words, for the log alone

	Scan, Slices, Attempts           int
	Pages, Batches                   int
	Listed, Deleted, Absent, Refused int64
	RefusedVersions                  []RefusedVersion // the first MaxRefusedNames of them
	Retained                         map[string]int64 // by reason

	Duration          time.Duration
	InboxToCompletion time.Duration // receipt to done; 0 unless the run was completed
}

// SweepSummary is what one tick of the sweeper saw and did.
type SweepSummary struct {
	// Open counts the rows of open runs that were read, those that could not be understood among them.
	Open int
	// Failed and Recorded count the rows of their partitions, each up to 10,000. They are -1 where nothing could be read, since
	// a zero would say that all is well; a reading that broke off gives the rows up to there.
	Failed, Recorded int
	// Counted says that Open and OldestOpenAge may be published: the time of at least one open row is known (the oldest comes
	// first, so a reading that broke off behind it is enough), or all of the partition was read and it is empty. It is false
	// where the index could not be read, or has rows and none of them tells its time: silence starts an alarm, a zero ends one.
	Counted         bool
	OldestOpenAge   time.Duration // of the row that is open for the longest, understood or not; 0 when nothing is open
	Woken, GivenUp  int
	Refused         int // moves that met a run which had moved on: an expected answer
	BadRows, Errors int
	Limited         bool // the tick's limit of moves was reached

	// OldestOverdue is how long the oldest held reservation is past its deadline; 0 when none is. It may be published only where
	// ReservationsRead: a stack without reservations has no such age, and one whose table cannot be read does not know it.
	OldestOverdue    time.Duration
	ReservationsRead bool

	Problem  string // the first error in words
	Duration time.Duration
}
