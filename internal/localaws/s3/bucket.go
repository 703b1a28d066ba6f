package s3

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// defaultRegion is the region of a bucket that was made without a location.
const defaultRegion = "us-east-1"

// bucket is one bucket and everything in it, guarded by the engine's lock.
type bucket struct {
	name     string
	owner    string // the account that made it
	created  time.Time
	location string // the LocationConstraint it was made with, or empty
	// versioning is Enabled, Suspended, or empty while it was never enabled.
	versioning string
	mfaDelete  string // Enabled, Disabled, or empty while it was never set
	lock       lockConfiguration
	versions   index
	// nulls has the sequence number of each key's last null version, also when that is deleted: a
	// listing resumed at the marker "null" has to know where it stood.
	nulls map[string]uint64
}

// bucketName is the general rule for bucket names; reserved prefixes and suffixes are left out.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

func validName(name string) bool {
	return bucketName.MatchString(name) && !strings.Contains(name, "..")
}

// createBucket refuses a bucket that is there already. S3 does so in every region but us-east-1, which
// answers 200 for compatibility; who can live with the refusal can live with that.
func (e *Engine) createBucket(c *call) (reply, error) {
	if !validName(c.bucket) {
		return reply{}, fail(http.StatusBadRequest, "InvalidBucketName", "The specified bucket is not valid.").with("BucketName", c.bucket)
	}
	if err := onlyPrivate(c); err != nil {
		return reply{}, err
	}
	location, err := readLocation(c.payload.data)
	if err != nil {
		return reply{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if there := e.buckets[c.bucket]; there != nil && there.owner != c.caller {
		return reply{}, fail(http.StatusConflict, "BucketAlreadyExists",
			"The requested bucket name is not available. The bucket namespace is shared by all users of the system. "+
				"Please select a different name and try again.").with("BucketName", c.bucket)
	} else if there != nil {
		return reply{}, fail(http.StatusConflict, "BucketAlreadyOwnedByYou",
			"Your previous request to create the named bucket succeeded and you already own it.").with("BucketName", c.bucket)
	}
	b := &bucket{name: c.bucket, owner: c.caller, created: e.now(), location: location, nulls: map[string]uint64{}}
	if strings.EqualFold(c.header("X-Amz-Bucket-Object-Lock-Enabled"), "true") {
		b.lock.enabled, b.versioning = true, enabled // Object Lock brings versioning with it
	}
	e.buckets[c.bucket] = b
	return reply{header: http.Header{"Location": {"/" + c.bucket}}}, nil
}

// readLocation is the LocationConstraint of a CreateBucket body, empty without one.
func readLocation(body []byte) (string, error) {
	if len(body) == 0 {
		return "", nil
	}
	var in struct {
		XMLName            struct{} `xml:"CreateBucketConfiguration"`
		LocationConstraint string
		Unknown            unknown `xml:",any"`
	}
	if err := parse(body, &in); err != nil {
		return "", err
	}
	if err := in.Unknown.refuse("CreateBucketConfiguration"); err != nil {
		return "", err
	}
	if in.LocationConstraint == defaultRegion {
		// us-east-1 is spelled by leaving the element out.
		return "", fail(http.StatusBadRequest, "InvalidLocationConstraint", "The specified location-constraint is not valid").
			with("LocationConstraint", in.LocationConstraint)
	}
	return in.LocationConstraint, nil
}

func (e *Engine) headBucket(c *call) (reply, error) {
	r := reply{header: http.Header{}}
	err := e.view(c, func(b *bucket) error {
		r.header.Set("X-Amz-Bucket-Region", b.region())
		return nil
	})
	return r, err
}

// region is where the bucket says it lives.
func (b *bucket) region() string {
	if b.location == "" {
		return defaultRegion
	}
	return b.location
}

func (e *Engine) deleteBucket(c *call) (reply, error) {
	err := e.change(c, func(b *bucket) error {
		if !b.versions.empty() {
			return fail(http.StatusConflict, "BucketNotEmpty",
				"The bucket you tried to delete is not empty. You must delete all versions in the bucket.").with("BucketName", b.name)
		}
		delete(e.buckets, b.name)
		return nil
	})
	return reply{status: http.StatusNoContent}, err
}

func (e *Engine) getLocation(c *call) (reply, error) {
	d := newDocument()
	err := e.view(c, func(b *bucket) error {
		d.root("LocationConstraint")
		d.b = appendEscaped(d.b, b.location)
		d.close("LocationConstraint")
		return nil
	})
	return xmlReply(d), err
}

func (e *Engine) listBuckets(c *call) (reply, error) {
	most := 10000
	if c.query.Has("max-buckets") {
		n, err := strconv.Atoi(c.query.Get("max-buckets"))
		if err != nil || n < 1 || n > most {
			return reply{}, invalidArgument("max-buckets", c.query.Get("max-buckets"), "max-buckets must be an integer between 1 and 10000")
		}
		most = n
	}
	found, more := e.bucketsBehind(c.caller, c.query.Get("continuation-token"), c.query.Get("prefix"), most)
	d := newDocument()
	d.root("ListAllMyBucketsResult")
	d.owner(c.caller)
	d.open("Buckets")
	for _, b := range found {
		d.open("Bucket")
		d.text("Name", b.name)
		d.time("CreationDate", b.created)
		d.text("BucketRegion", b.region())
		d.close("Bucket")
	}
	d.close("Buckets")
	if more {
		d.text("ContinuationToken", found[len(found)-1].name)
	}
	d.close("ListAllMyBucketsResult")
	return xmlReply(d), nil
}

// bucketsBehind lists an account's buckets by name; the continuation token is the last name of the page before.
func (e *Engine) bucketsBehind(owner, after, prefix string, most int) (found []*bucket, more bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(e.buckets)) {
		if name <= after || !strings.HasPrefix(name, prefix) || e.buckets[name].owner != owner {
			continue
		}
		if len(found) == most {
			return found, true
		}
		found = append(found, e.buckets[name])
	}
	return found, false
}

// owner writes the owner of a bucket or of what is in it: S3 has a canonical user id here, the engine an account.
func (d *document) owner(account string) {
	d.open("Owner")
	d.text("ID", account)
	d.close("Owner")
}
