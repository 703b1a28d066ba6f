package s3

import (
	"net/http"
	"strings"
	"time"
)

// lockConfiguration is a bucket's Object Lock: on or off, and what new versions get.
type lockConfiguration struct {
	enabled     bool
	mode        string // of the default retention, or empty
	days, years int
}

// until is the end of the default retention for a version written now.
func (l lockConfiguration) until(now time.Time) time.Time {
	return now.AddDate(l.years, 0, l.days)
}

func (e *Engine) getLockConfiguration(c *call) (reply, error) {
	var l lockConfiguration
	err := e.view(c, func(b *bucket) error {
		l = b.lock
		if !l.enabled {
			return fail(http.StatusNotFound, "ObjectLockConfigurationNotFoundError",
				"Object Lock configuration does not exist for this bucket").with("BucketName", b.name)
		}
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	d := newDocument()
	d.root("ObjectLockConfiguration")
	d.text("ObjectLockEnabled", enabled)
	if l.mode != "" {
		d.defaultRetention(l)
	}
	d.close("ObjectLockConfiguration")
	return xmlReply(d), nil
}

func (d *document) defaultRetention(l lockConfiguration) {
	d.open("Rule")
	d.open("DefaultRetention")
	d.text("Mode", l.mode)
	if l.days > 0 {
		d.number("Days", l.days)
	} else {
		d.number("Years", l.years)
	}
	d.close("DefaultRetention")
	d.close("Rule")
}

type lockConfigurationDocument struct {
	XMLName           struct{} `xml:"ObjectLockConfiguration"`
	ObjectLockEnabled string
	Rule              *struct {
		DefaultRetention struct {
			Mode  string
			Days  *int
			Years *int
		}
		Unknown unknown `xml:",any"`
	}
	Unknown unknown `xml:",any"`
}

// putLockConfiguration turns Object Lock on, for good, and sets or removes the default retention.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObjectLockConfiguration.html
func (e *Engine) putLockConfiguration(c *call) (reply, error) {
	var in lockConfigurationDocument
	if err := parse(c.payload.data, &in); err != nil {
		return reply{}, err
	}
	next, err := in.read()
	if err != nil {
		return reply{}, err
	}
	return reply{}, e.change(c, func(b *bucket) error {
		if b.versioning != enabled {
			return fail(http.StatusConflict, "InvalidBucketState",
				"Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration")
		}
		b.lock = next
		return nil
	})
}

func (in lockConfigurationDocument) read() (lockConfiguration, error) {
	l := lockConfiguration{enabled: true}
	if in.ObjectLockEnabled != enabled || len(in.Unknown) > 0 {
		return l, malformedXML()
	}
	if in.Rule == nil {
		return l, nil
	}
	r := in.Rule.DefaultRetention
	oneUnit := (r.Days == nil) != (r.Years == nil)
	if r.Mode != governance && r.Mode != compliance || !oneUnit || len(in.Rule.Unknown) > 0 {
		return l, malformedXML()
	}
	l.mode = r.Mode
	if r.Days != nil {
		l.days = *r.Days
	} else {
		l.years = *r.Years
	}
	if l.days+l.years <= 0 {
		return l, invalidArgument("DefaultRetention", "", "Default retention period must be a positive integer value.")
	}
	return l, nil
}

// lockFor is the lock of a version that is being written: what its headers ask for, else the default.
func (e *Engine) lockFor(b *bucket, c *call) (lock, error) {
	mode, until := c.header("X-Amz-Object-Lock-Mode"), c.header("X-Amz-Object-Lock-Retain-Until-Date")
	hold := c.header("X-Amz-Object-Lock-Legal-Hold")
	asked := mode != "" || until != "" || hold != ""
	switch {
	case asked && !b.lock.enabled:
		return lock{}, missingLock()
	case asked && !c.payload.verified:
		return lock{}, invalidRequest("Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters")
	case (mode == "") != (until == ""):
		return lock{}, invalidArgument("x-amz-object-lock-mode", mode,
			"x-amz-object-lock-retain-until-date and x-amz-object-lock-mode must both be supplied")
	case hold != "" && hold != holdOn && hold != holdOff:
		return lock{}, invalidArgument("x-amz-object-lock-legal-hold", hold, "Legal Hold must be either of 'ON' or 'OFF'")
	}
	l := lock{}
	if mode != "" {
		var err error
		if l, err = readRetention(strings.ToUpper(mode), until, e.now()); err != nil {
			return lock{}, err
		}
	} else if b.lock.mode != "" {
		l = lock{mode: b.lock.mode, until: b.lock.until(e.now())}
	}
	l.hold = hold
	return l, nil
}
