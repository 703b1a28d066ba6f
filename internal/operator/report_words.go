package operator

import (
	"custody/internal/inbox"
	"custody/internal/report"
	"custody/internal/retention"
)

// Place is where a version is after all, in a word or two.
func Place(r report.Row) string {
	if r.Fate == report.FateDryRun {
		return "would go"
	}
	return string(r.State)
}

// Why is the word that says what became of the versions of a row: the reason of what was kept, the fate of what was selected.
func Why(r report.Row) string {
	switch {
	case r.Decision == report.DecisionKeep:
		return r.Reason
	case r.Code != "":
		return string(r.Fate) + " " + r.Code
	}
	return string(r.Fate)
}

// Means explains a row to somebody who does not know Custody's words.
func Means(r report.Row) string {
	if r.Decision == report.DecisionKeep {
		means := meansReason(retention.Reason(r.Reason))
		if r.State == report.StateUnknown {
			return means + "; but an earlier request of the same scan that had no answer may have removed it"
		}
		return means
	}
	return meansFate(r)
}

func meansFate(r report.Row) string {
	switch r.Fate {
	case report.FateDeleted:
		return "S3 confirmed that it is deleted"
	case report.FateAbsent:
		return "it was gone before the request"
	case report.FateDryRun:
		return "expired and held by nothing: a run that deletes would have deleted it"
	case report.FateLocked:
		return "S3 refused, and the version's Object Lock says why"
	case report.FateRefused:
		if r.Code == report.CodeNotMentioned {
			return "it was sent, and S3's answer did not mention it: it may be gone or not"
		}
		return "S3 refused to delete it, with this code"
	case report.FateTransient:
		return "S3 asked to send it again, or it was not sent in time: the run had not got further"
	case report.FateUnanswered:
		return "the request had no answer: it may be gone or not"
	case report.FateUnknown:
		return "selected, and no outcome is on record: the worker ended in the middle, or is in the middle now. It may be gone or not"
	}
	return "a word that this version does not know"
}

func meansReason(r retention.Reason) string {
	switch r {
	case retention.ReasonLegalHold:
		return "a legal hold in the holds table covers its key"
	case retention.ReasonDisputeEvidence:
		return "a hold as evidence in a dispute covers its key"
	case retention.ReasonActiveManifest:
		return "a hold as part of an active manifest covers its key"
	case retention.ReasonOther:
		return "a hold without a narrower reason covers its key"
	case retention.ReasonStop:
		return "the emergency brake was on"
	case retention.ReasonUnreadableHold:
		return "a row of the holds table could not be understood, and so holds everything of its scope"
	case retention.ReasonTag:
		return "its object tag " + retention.TagKey + " holds it"
	case retention.ReasonLockLegalHold:
		return "a legal hold of S3 Object Lock is on it"
	case retention.ReasonLockRetention:
		return "its retention by S3 Object Lock is not over"
	case retention.ReasonYoung:
		return "it was modified at or after the cutoff"
	case retention.ReasonCurrentOverKept:
		return "it is the current version of its key, and an older one stays that would come back"
	case retention.ReasonNullVersion:
		return "it has the version id null in a bucket whose versioning is suspended: a writer may be replacing it"
	case retention.ReasonIncomplete:
		return "its listing lacked what the decision needs"
	}
	return "a reason that this version does not know"
}

// NothingReported says why a run may have no report objects.
func NothingReported(run *inbox.Run) string {
	switch {
	case run == nil:
		return "either it never was, or it selected and kept nothing, or its objects were removed or lie in another bucket"
	case run.Slices == 0:
		return "no slice has worked on it yet"
	case run.Counters.Selected == 0 && len(run.Place.Retained) == 0 && run.State != inbox.StateDone:
		words := "no slice has put a selection on record, so nothing was deleted"
		if run.LastError != nil {
			words += "; its last error is " + string(run.LastError.Category)
		}
		return words
	case run.Counters.Selected == 0 && len(run.Place.Retained) == 0:
		return "it has met no version older than its cutoff"
	}
	return "it has met versions older than its cutoff, so its objects lie in another bucket or were removed, or its stack writes no report"
}
