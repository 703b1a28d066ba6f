package cleanup

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"custody/internal/inbox"
	"custody/internal/report"
	"custody/internal/retention"
)

// runs is the inbox table.
type runs interface {
	// Move makes one conditional write and returns the run behind it. *inbox.Refused says that the condition did not hold;
	// any other error that the move may or may not have been made.
	Move(ctx context.Context, key inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error)
}

// holds is the holds table.
type holds interface {
	// Covering reads the holds of the scope and those for all, with strong consistency. An error means that nothing may be deleted.
	Covering(ctx context.Context, scope string) ([]retention.Hold, error)
}

// bucketReader lists object versions and reads what is to be known of them.
type bucketReader interface {
	// Bucket reads the bucket's versioning and Object Lock configuration.
	Bucket(ctx context.Context, bucket string) (retention.Bucket, error)
	// Versioning reads the bucket's versioning state alone.
	Versioning(ctx context.Context, bucket string) (retention.Versioning, error)
	// Marks reads what the versions say themselves, in their order. Delete markers say nothing and are not asked. An error means
	// that nothing may be deleted; a version that is gone is marked absent, and is no error.
	Marks(ctx context.Context, bucket string, vs []retention.Version, ask retention.Ask) ([]retention.Marks, error)
	// Page returns one page of versions behind the marker, in S3's order of keys. A zero Next is the end.
	// It is an error, not a loop, when the store names the same marker again.
	Page(ctx context.Context, bucket, prefix string, after retention.Marker) (retention.Page, error)
}

// versions lists and deletes object versions.
type versions interface {
	bucketReader
	// Delete removes exactly the given versions, at most batchSize, and says of each what became of it, in their order.
	// A version that is already absent counts as success. Nothing is sent at or after sendBefore. An error means that
	// nothing is known of any of them.
	Delete(ctx context.Context, bucket string, vs []retention.Version, sendBefore time.Time) ([]retention.Fate, error)
}

// Settings is what a stack sets for its slices.
type Settings struct {
	DeleteScopes      []string      // scopes whose runs may delete; "*" for all; the others are dry runs
	CheckTags         bool          // object tags are read, and keep what they mark
	DeleteConcurrency int           // batches on their way at once
	SliceBudget       time.Duration // a slice yields after it
	LeaseDuration     time.Duration
	ScanCeiling       int // scans of one run, all counted
	AttemptCeiling    int // slices in a row without progress
	Retention         time.Duration
}

// Mode is the mode that a run of the scope is pinned to by its first slice. The scope of a check is none that can be enabled.
func (s Settings) Mode(scope string) inbox.Mode {
	if scope == inbox.CheckScope {
		return inbox.ModeDryRun
	}
	for _, allowed := range s.DeleteScopes {
		if allowed == "*" || allowed == scope {
			return inbox.ModeDelete
		}
	}
	return inbox.ModeDryRun
}

// Worker works one stream record at a time.
type Worker struct {
	// Jitter picks a part of the given time, below it; New sets a random one. A history that is to be repeated needs another.
	Jitter func(time.Duration) time.Duration
	// Reports takes the audit trail; New leaves it nil, and then none is written.
	Reports Reports

	runs     runs
	holds    holds
	versions versions
	settings Settings
	now      func() time.Time
	encoder  report.Encoder
	newID    func() string // lease tokens and wakes; never the same twice
}

// New makes a worker. The clock gives the function's own time; newID gives a value that was never used before.
func New(r runs, h holds, v versions, s Settings, now func() time.Time, newID func() string) *Worker {
	return &Worker{Jitter: rand.N[time.Duration], runs: r, holds: h, versions: v, settings: s, now: now, newID: newID}
}

const (
	// reserve is kept of the function's own time for the answers on their way and the last write (spec: 15 s).
	reserve = 15 * time.Second
	// lastWrite bounds the write that ends a slice. It runs on when the function's context is cancelled.
	lastWrite = 5 * time.Second
)

var (
	errOutOfBudget   = errors.New("the slice's budget is used up")
	errOutOfTime     = errors.New("the function's own time is used up")
	errRunMovedOn    = errors.New("the run has moved on without this worker")
	errItemUnwritten = errors.New("the run's item could not be written")
)

// Parked runs wait between half and all of a delay that doubles with each attempt without progress. Half of it is certain:
// with twelve attempts the waits add up to three hours at least, so an outage of an hour fails nothing.
const (
	firstDelay = 30 * time.Second
	lastDelay  = time.Hour
)

func (w *Worker) nextAttempt(now time.Time, attempts int) time.Time {
	delay := firstDelay
	for range attempts {
		if delay *= 2; delay >= lastDelay {
			delay = lastDelay
			break
		}
	}
	return now.Add(max(firstDelay, delay/2+w.Jitter(delay/2)))
}
