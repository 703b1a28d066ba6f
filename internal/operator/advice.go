package operator

import "custody/internal/inbox"

// Advice is an error category in words: what it means and what cures it. The runbook has more under a heading of its name.
type Advice struct {
	Means string
	Do    string
}

// Runbook is the document whose headings are the categories.
const Runbook = "docs/operations.md"

// Heading is where the runbook says more about a category, as the text of a link.
func Heading(c inbox.Category) string { return Runbook + "#" + string(c) }

// Advise explains a category.
func Advise(c inbox.Category) Advice {
	if c.Permanent() {
		return advisePermanent(c)
	}
	switch c {
	case inbox.CategoryThrottled:
		return Advice{"S3 or DynamoDB asked for fewer requests", "nothing: it goes on by itself; lower DeleteConcurrency where it lasts"}
	case inbox.CategoryUnavailable:
		return Advice{"S3 or DynamoDB did not answer, or answered that it cannot now", "nothing: it goes on by itself when they answer again"}
	case inbox.CategoryListingBroken:
		return Advice{"a listing named no place to go on from", "nothing at first: it is listed again; where it lasts, look at the object store"}
	case inbox.CategoryStopped:
		return Advice{"the emergency brake is on", "`custody resume` when it may go on; it then does so by itself"}
	case inbox.CategoryInternal:
		return Advice{"an error that no other category names", "read the message; look at the stack's own tables, roles and settings"}
	default:
		return Advice{"a category that this version does not know", "read the message; use the tool of the stack's version"}
	}
}

func advisePermanent(c inbox.Category) Advice {
	switch c {
	case inbox.CategoryAttemptCeiling:
		return Advice{"too many slices in a row made no progress", "cure what the last slices met, then retry it"}
	case inbox.CategoryNoSuchBucket:
		return Advice{"the bucket of the selection does not exist", "make the bucket again, then retry it; or dismiss it"}
	case inbox.CategoryAccessDenied:
		return Advice{"the cleanup role may not do what the run needs", "compare the bucket's policy and the role with the template, then retry it"}
	case inbox.CategoryWrongOwner:
		return Advice{"the bucket belongs to another account than BucketOwner", "find out whose it is before anything else; then set BucketOwner and retry it, or dismiss it"}
	case inbox.CategoryVersioningOff:
		return Advice{"the bucket's versioning was never enabled", "enable versioning, then retry it; or dismiss it"}
	case inbox.CategoryMFADelete:
		return Advice{"the bucket wants a second factor for deleting versions, which no function has", "turn MFA delete off, then retry it; or dismiss it"}
	case inbox.CategoryWrongRegion:
		return Advice{"the bucket is in another region than the stack", "use a stack in the bucket's region, and dismiss it here"}
	case inbox.CategoryVersionsRefused:
		return Advice{"S3 refused to delete some versions; Refused names them", "cure the codes that S3 gave, then retry it"}
	case inbox.CategoryNotConverging:
		return Advice{"every scan still found something to delete", "find out who writes versions older than the cutoff, then retry it"}
	case inbox.CategoryKeyTooLarge:
		return Advice{"one key keeps more versions than a whole slice can list", "thin out that key's versions or raise SliceBudget, then retry it"}
	case inbox.CategoryReportUnwritable:
		return Advice{"the report bucket does not exist, is another account's, or may not be written", "make ReportBucket writable for the cleanup role, then retry it"}
	default:
		return Advice{"a category that this version does not know", "read the message; use the tool of the stack's version"}
	}
}
