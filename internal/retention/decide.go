package retention

import "time"

// Facts is what a decision rests on, besides the version itself.
type Facts struct {
	Cutoff time.Time // the run's, as it was stored; never recomputed
	Now    time.Time // when the holds were read
	Holds  Cover     // of the run's scope and for all, by that time
	// VersioningEnabled says whether the bucket's versioning is Enabled now. It matters for null versions alone.
	VersioningEnabled bool
	// Marks is what the version's own tags and locks say, as they were read before the holds.
	Marks Marks
	// OthersStay says whether another version of the same key stays. It matters for the current version alone.
	OthersStay bool
}

// Decision is what is to become of a version.
type Decision struct {
	Delete bool
	Reason Reason // why it stays; "" when it goes
}

var remove = Decision{Delete: true}

func keep(r Reason) Decision { return Decision{Reason: r} }

// Decide says whether the version may be deleted. Every rule can only keep; what no rule keeps goes.
func Decide(v Version, f Facts) Decision {
	switch {
	case v.Key == "" || v.ID == "" || v.LastModified.IsZero() || v.Currency == CurrencyUnknown:
		return keep(ReasonIncomplete)
	case !Expired(v, f.Cutoff):
		return keep(ReasonYoung)
	case v.ID == NullID && !f.VersioningEnabled:
		return keep(ReasonNullVersion)
	}
	if reason := f.Holds.of(v.Key); reason != "" {
		return keep(reason)
	}
	if reason, marked := f.Marks.keeps(f.Now); marked {
		return keep(reason)
	}
	if v.Currency == Current && f.OthersStay {
		return keep(ReasonCurrentOverKept)
	}
	return remove
}

// Expired reports whether the version was modified before the cutoff. Equal is kept: S3 lists whole seconds, so a version that
// shows the cutoff's own second may be younger.
func Expired(v Version, cutoff time.Time) bool {
	return !v.LastModified.IsZero() && v.LastModified.Before(cutoff)
}

// keeps is the reason that the version itself gives to stay.
func (m Marks) keeps(now time.Time) (Reason, bool) {
	switch {
	case m.LegalHold:
		return ReasonLockLegalHold, true
	case now.Before(m.RetainUntil):
		return ReasonLockRetention, true
	case m.TagHold:
		return ReasonTag, true
	}
	return "", false
}
