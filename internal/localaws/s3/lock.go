package s3

import (
	"net/http"
	"strings"
	"time"
)

// Retention modes and the two states of a legal hold.
const (
	governance = "GOVERNANCE"
	compliance = "COMPLIANCE"
	holdOn     = "ON"
	holdOff    = "OFF"
)

// lock is what Object Lock knows about one version. Delete markers never have one.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-lock.html
type lock struct {
	hold  string // ON, OFF, or empty while none was ever set
	mode  string // GOVERNANCE, COMPLIANCE or empty
	until time.Time
}

// protects reports whether the version must not be removed at this time.
func (l lock) protects(now time.Time, bypass bool) bool {
	return l.hold == holdOn || l.retains(now) && (l.mode == compliance || !bypass)
}

// retains reports a retention that has not run out.
func (l lock) retains(now time.Time) bool { return l.mode != "" && now.Before(l.until) }

// describe adds the lock to the headers of a read.
func (l lock) describe(h http.Header) {
	if l.mode != "" {
		h.Set("X-Amz-Object-Lock-Mode", l.mode)
		h.Set("X-Amz-Object-Lock-Retain-Until-Date", l.until.UTC().Format(retainTime))
	}
	if l.hold != "" {
		h.Set("X-Amz-Object-Lock-Legal-Hold", l.hold)
	}
}

// retainTime is how S3 writes the end of a retention.
const retainTime = "2006-01-02T15:04:05.000Z"

// bypasses reports x-amz-bypass-governance-retention. Whoever asks is allowed to: there are no
// policies here.
func bypasses(c *call) bool {
	return strings.EqualFold(c.header("X-Amz-Bypass-Governance-Retention"), "true")
}

// missingLock is S3's answer to lock requests on a bucket without Object Lock.
func missingLock() error { return invalidRequest("Bucket is missing Object Lock Configuration") }

// noLock is S3's answer where a version has no hold, or no retention, to show.
func noLock() error {
	return fail(http.StatusNotFound, "NoSuchObjectLockConfiguration", "The specified object does not have a ObjectLock configuration")
}

// onLockable runs f on a version of a bucket that has Object Lock.
func (e *Engine) onLockable(c *call, locked func(*call, func(*bucket) error) error, f func(*version) error) (http.Header, error) {
	return e.onVersion(c, locked, func(b *bucket, v *version) error {
		if !b.lock.enabled {
			return missingLock()
		}
		return f(v)
	})
}

func (e *Engine) getLegalHold(c *call) (reply, error) {
	var hold string
	_, err := e.onLockable(c, e.view, func(v *version) error {
		hold = v.lock.hold
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	if hold == "" {
		return reply{}, noLock()
	}
	d := newDocument()
	d.root("LegalHold")
	d.text("Status", hold)
	d.close("LegalHold")
	return xmlReply(d), nil
}

func (e *Engine) putLegalHold(c *call) (reply, error) {
	var in struct {
		XMLName struct{} `xml:"LegalHold"`
		Status  string
		Unknown unknown `xml:",any"`
	}
	if err := parse(c.payload.data, &in); err != nil {
		return reply{}, err
	}
	if in.Status != holdOn && in.Status != holdOff || len(in.Unknown) > 0 {
		return reply{}, malformedXML()
	}
	header, err := e.onLockable(c, e.change, func(v *version) error {
		v.lock.hold = in.Status
		return nil
	})
	return reply{header: header}, err
}

func (e *Engine) getRetention(c *call) (reply, error) {
	var l lock
	_, err := e.onLockable(c, e.view, func(v *version) error {
		l = v.lock
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	if l.mode == "" {
		return reply{}, noLock()
	}
	d := newDocument()
	d.root("Retention")
	d.text("Mode", l.mode)
	d.text("RetainUntilDate", l.until.UTC().Format(retainTime))
	d.close("Retention")
	return xmlReply(d), nil
}

func (e *Engine) putRetention(c *call) (reply, error) {
	var in struct {
		XMLName         struct{} `xml:"Retention"`
		Mode            string
		RetainUntilDate string
		Unknown         unknown `xml:",any"`
	}
	if err := parse(c.payload.data, &in); err != nil {
		return reply{}, err
	}
	if len(in.Unknown) > 0 {
		return reply{}, malformedXML()
	}
	header, err := e.onLockable(c, e.change, func(v *version) error {
		next, err := readRetention(in.Mode, in.RetainUntilDate, e.now())
		if err != nil {
			return err
		}
		if err := v.lock.allows(next, e.now(), bypasses(c)); err != nil {
			return err
		}
		v.lock.mode, v.lock.until = next.mode, next.until
		return nil
	})
	return reply{header: header}, err
}

// readRetention checks a mode and an end; both empty remove the retention.
func readRetention(mode, until string, now time.Time) (lock, error) {
	if mode == "" && until == "" {
		return lock{}, nil
	}
	if mode != governance && mode != compliance {
		return lock{}, malformedXML()
	}
	end, err := time.Parse(time.RFC3339, until)
	if err != nil {
		return lock{}, malformedXML()
	}
	if !end.After(now) {
		return lock{}, invalidArgument("RetainUntilDate", until, "The retain until date must be in the future!")
	}
	return lock{mode: mode, until: end}, nil
}

// allows reports whether a retention may be replaced: longer in the same mode always; shorter, in the
// other mode or removed only when it is a governance retention that is bypassed.
func (l lock) allows(next lock, now time.Time, bypass bool) error {
	longer := next.mode == l.mode && !next.until.Before(l.until)
	if !l.retains(now) || longer || l.mode == governance && bypass {
		return nil
	}
	return accessDenied("Access Denied because object protected by object lock.")
}
