package retention

import (
	"strings"
	"time"
)

// Reason is why a version stays. Each is counted apart in the item, the metrics and the report.
type Reason string

// The reasons that a row of the holds table may name.
const (
	ReasonLegalHold       Reason = "legal_hold"
	ReasonDisputeEvidence Reason = "dispute_evidence"
	ReasonActiveManifest  Reason = "active_manifest"
	ReasonOther           Reason = "other"
	// ReasonStop is the emergency brake: runs that it covers delete nothing.
	ReasonStop Reason = "stop"
)

// The reasons that the decision itself gives.
const (
	// ReasonUnreadableHold is a row of the holds table that could not be understood: it holds its whole scope.
	ReasonUnreadableHold Reason = "unreadable_hold"
	// ReasonTag is an object tag that marks the version.
	ReasonTag Reason = "tag"
	// ReasonLockLegalHold is a legal hold of S3's Object Lock on the version.
	ReasonLockLegalHold Reason = "lock_legal_hold"
	// ReasonLockRetention is a retention period of S3's Object Lock on the version; governance mode is never bypassed.
	ReasonLockRetention Reason = "lock_retention"
	// ReasonYoung is a version modified at or after the cutoff. It is not expired and not counted as retained.
	ReasonYoung Reason = "young"
	// ReasonCurrentOverKept is a current version whose removal would bring an older one back.
	ReasonCurrentOverKept Reason = "current_over_kept"
	// ReasonNullVersion is a null version in a bucket whose versioning is not enabled: a writer may be replacing it.
	ReasonNullVersion Reason = "null_version"
	// ReasonIncomplete is a version whose listing lacks what the decision needs: the id, the time, or whether it is current.
	ReasonIncomplete Reason = "incomplete_listing"
)

// Reasons lists every reason for which an expired version is retained; ReasonYoung is none, since such a version has not expired.
func Reasons() []Reason {
	return []Reason{
		ReasonLegalHold, ReasonDisputeEvidence, ReasonActiveManifest, ReasonOther, ReasonStop, ReasonUnreadableHold,
		ReasonTag, ReasonLockLegalHold, ReasonLockRetention, ReasonCurrentOverKept, ReasonNullVersion, ReasonIncomplete,
	}
}

// HoldReason reads the word that a writer of the holds table chose; false for one that is not in the list.
func HoldReason(word string) (Reason, bool) {
	switch r := Reason(word); r {
	case ReasonLegalHold, ReasonDisputeEvidence, ReasonActiveManifest, ReasonOther, ReasonStop:
		return r, true
	default:
		return "", false
	}
}

// Hold is a reason not to delete. It covers one key, the keys under a prefix, or everything of its scope.
type Hold struct {
	Scope     string // a scope, or ScopeAll
	ID        string
	Key       string    // exact key, "" for none
	Prefix    string    // key prefix, "" for none
	Reason    Reason    // of HoldReason, or ReasonUnreadableHold
	ExpiresAt time.Time // zero: never; the hold is over at that second
}

// ScopeAll is the scope of holds that cover every run.
const ScopeAll = "*"

// InForce reports whether the hold still counts.
func (h Hold) InForce(now time.Time) bool { return h.ExpiresAt.IsZero() || now.Before(h.ExpiresAt) }

// Covers reports whether the hold covers the key. A hold with neither key nor prefix covers everything: rows that cannot be
// understood and the emergency brake are of this kind.
func (h Hold) Covers(key string) bool {
	switch {
	case h.Key != "":
		return h.Key == key
	case h.Prefix != "":
		return strings.HasPrefix(key, h.Prefix)
	}
	return true
}

// Stopped reports whether the emergency brake is on among the holds.
func Stopped(holds []Hold, now time.Time) bool {
	for _, h := range holds {
		if h.Reason == ReasonStop && h.InForce(now) {
			return true
		}
	}
	return false
}
