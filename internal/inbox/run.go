package inbox

import (
	"strings"
	"time"
)

// RunKey names a run: the type of the command that started it, and the command's business key.
type RunKey struct {
	Type string // command type, such as "cleanup.run"
	Key  string // run key, such as a run_id; never empty, never holds '#' or '/'
}

// String is the form people read and type: "cleanup.run/r-1".
func (k RunKey) String() string { return k.Type + "/" + k.Key }

const (
	runPrefix      = "run#"
	deliveryPrefix = "delivery#"
)

// ItemKey is the partition key of the run's item in the inbox table.
func (k RunKey) ItemKey() string { return runPrefix + k.Type + "#" + k.Key }

// ParseItemKey reads a partition key of the inbox table; false when it does not name a run.
func ParseItemKey(pk string) (RunKey, bool) {
	rest, isRun := strings.CutPrefix(pk, runPrefix)
	typ, key, found := strings.Cut(rest, "#")
	if !isRun || !found || typ == "" || key == "" || strings.Contains(key, "#") {
		return RunKey{}, false
	}
	return RunKey{Type: typ, Key: key}, true
}

// Selection is what a run may delete. It is fixed when the run is claimed and never recomputed.
type Selection struct {
	Bucket   string    `json:"bucket"`
	Prefixes []string  `json:"prefixes"` // each ends in '/'; worked in this order
	Cutoff   time.Time `json:"cutoff"`   // whole seconds; only versions modified before it may go
}

// Place is where a run is, and what the present scan has seen up to there. It is written as one value.
type Place struct {
	Scan    int    `json:"scan"`    // number of the scan, from 1
	Prefix  int    `json:"prefix"`  // index into Selection.Prefixes
	Key     string `json:"key"`     // last key that is finished in this prefix, "" at its start
	Deleted bool   `json:"deleted"` // whether this scan has sent a delete that succeeded

	// Retained counts the versions that this scan kept, by reason, up to the place.
	Retained map[string]int64 `json:"retained"`
	// RefusedCount counts the versions whose deletion S3 refused in this scan; Refused names the first MaxRefusedNames.
	RefusedCount int64            `json:"refused_count"`
	Refused      []RefusedVersion `json:"refused"`
}

// MaxRefusedNames bounds the refused versions that an item names: 100 keys of 1,024 bytes stay far below the 400 KB that
// DynamoDB allows an item.
const MaxRefusedNames = 100

// StartPlace is the place of a run that has done nothing yet.
func StartPlace() Place {
	return Place{Scan: 1, Retained: map[string]int64{}, Refused: []RefusedVersion{}}
}

// NextScan is the place at the start of the scan after this one.
func (p Place) NextScan() Place {
	next := StartPlace()
	next.Scan = p.Scan + 1
	return next
}

// RefusedVersion is a version that S3 refused to delete, with the code it gave.
type RefusedVersion struct {
	Key       string `json:"key"`
	VersionID string `json:"version_id"`
	Code      string `json:"code"`
}

// Counters are totals over all scans of a run. They are written as absolute values, so a repeated write never counts twice;
// after a crash they are a lower bound.
type Counters struct {
	// Selected counts the versions that the decision let go: in a dry run what a delete run would have sent, else what was
	// sent and answered.
	Selected int64 `json:"selected"`
	Deleted  int64 `json:"deleted"` // versions and delete markers that S3 confirmed as deleted
	Absent   int64 `json:"absent"`  // versions that were already gone when the delete arrived
	Listed   int64 `json:"listed"`  // versions and delete markers seen, over all scans
}

// LastError is why the last slice did not finish the run.
type LastError struct {
	Category Category  `json:"category"`
	Message  string    `json:"message"`
	At       time.Time `json:"at"`
}

// Operation is what an operator did to a run. Two that are equal in everything, to the millisecond, are one that was sent twice.
type Operation struct {
	Move   string    `json:"move"` // retry, release or dismiss
	By     string    `json:"by"`
	Reason string    `json:"reason"` // required to dismiss
	At     time.Time `json:"at"`
}

// Run is the item of a run, as the table holds it. Zero values are attributes that are not there.
type Run struct {
	Type        string    `json:"command_type"`
	Key         string    `json:"run_key"`
	State       State     `json:"state"`
	Scope       string    `json:"scope"`
	Selection   Selection `json:"selection"`
	CommandHash string    `json:"command_hash"` // of the command's own fields, settings of the stack left out
	DeliveryID  string    `json:"delivery_id"`  // the first delivery
	Mode        Mode      `json:"mode,omitempty"`

	Attempts  int        `json:"attempts"` // slices in a row without progress
	Slices    int        `json:"slices"`   // all slices
	LastError *LastError `json:"last_error,omitempty"`
	// Cause is the error of the last slice of a run that was given up; LastError is the ceiling then.
	Cause *LastError `json:"cause,omitempty"`
	// Operation is what an operator did last to the run.
	Operation *Operation `json:"operation,omitempty"`

	LeaseToken     string    `json:"lease_token,omitempty"`
	LeaseExpiresAt time.Time `json:"lease_expires_at,omitzero"`
	LeaseRecord    string    `json:"lease_record,omitempty"` // the stream record the lease was taken for

	Wake          string    `json:"wake,omitempty"`
	WakeAt        time.Time `json:"wake_at,omitzero"`
	WakeCount     int       `json:"wake_count"` // wakes since the last acquire
	NextAttemptAt time.Time `json:"next_attempt_at,omitzero"`

	Place    Place    `json:"place"`
	Counters Counters `json:"counters"`

	ReceivedAt time.Time `json:"received_at"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	EndedAt    time.Time `json:"ended_at,omitzero"`

	Open      string    `json:"open,omitempty"` // partition of the index `open`, see State.OpenIndex
	OpenSince time.Time `json:"open_since,omitzero"`
	TTL       int64     `json:"ttl,omitempty"` // Unix seconds
}

// RunKey is the run's name.
func (r Run) RunKey() RunKey { return RunKey{Type: r.Type, Key: r.Key} }

// NewRun is the item that a claim writes. In the record-only stage it is recorded and carries no wake; otherwise it is
// pending and the given wake starts its first slice.
func NewRun(key RunKey, scope string, sel Selection, commandHash, deliveryID string, receivedAt time.Time) Run {
	return Run{
		Type: key.Type, Key: key.Key, Scope: scope, Selection: sel, CommandHash: commandHash, DeliveryID: deliveryID,
		Place: StartPlace(), ReceivedAt: receivedAt, OpenSince: receivedAt,
	}
}

// Start makes a new run pending, with the wake that starts its first slice.
func (r Run) Start(wake string) Run {
	r.State, r.Open = StatePending, StatePending.OpenIndex()
	r.Wake, r.WakeAt = wake, r.ReceivedAt
	return r
}

// Record makes a new run recorded: claimed, and not started.
func (r Run) Record() Run {
	r.State, r.Open = StateRecorded, StateRecorded.OpenIndex()
	return r
}
