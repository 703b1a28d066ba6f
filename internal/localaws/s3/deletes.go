package s3

import (
	"encoding/xml"
	"errors"
	"net/http"
)

// target is one thing to delete; without an id it is the key, which gets a delete marker.
type target struct {
	key   string
	id    string
	hasID bool
}

// outcome is what became of a target.
type outcome struct {
	// id is the version that was removed, or the delete marker that was made.
	id     string
	marker bool
}

// remove deletes one target. That a version is not there is success, as on S3.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObject.html
func (e *Engine) remove(b *bucket, t target, bypass bool) (outcome, error) {
	if t.hasID {
		return e.removeVersion(b, t, bypass)
	}
	if b.versioning == "" {
		e.drop(b, t.key, nullID)
		return outcome{}, nil
	}
	v := &version{key: t.key, marker: true}
	e.store(b, v)
	return outcome{id: v.id, marker: true}, nil
}

func (e *Engine) removeVersion(b *bucket, t target, bypass bool) (outcome, error) {
	v, at := e.find(b, t.key, t.id)
	if v == nil {
		return outcome{id: t.id}, nil
	}
	if v.lock.protects(e.now(), bypass) {
		return outcome{}, accessDenied("Access Denied because object protected by object lock.")
	}
	b.versions.remove(at)
	return outcome{id: v.id, marker: v.marker}, nil
}

func (e *Engine) deleteObject(c *call) (reply, error) {
	t := target{key: c.key, id: c.query.Get("versionId"), hasID: c.query.Has("versionId")}
	if t.hasID {
		if err := e.checkVersionParameter(t.id); err != nil {
			return reply{}, err
		}
	}
	r := reply{status: http.StatusNoContent, header: http.Header{}}
	err := e.change(c, func(b *bucket) error {
		if t.hasID {
			if err := b.checkMFA(c); err != nil {
				return err
			}
		}
		o, err := e.remove(b, t, bypasses(c))
		if err != nil {
			return err
		}
		if o.id != "" {
			r.header.Set("X-Amz-Version-Id", o.id)
		}
		if o.marker {
			r.header.Set("X-Amz-Delete-Marker", "true")
		}
		return nil
	})
	return r, err
}

// batch is the body of DeleteObjects.
type batch struct {
	XMLName xml.Name `xml:"Delete"`
	Quiet   bool
	Objects []batchEntry `xml:"Object"`
	Unknown unknown      `xml:",any"`
}

type batchEntry struct {
	Key       string
	VersionID *string `xml:"VersionId"`
	Unknown   unknown `xml:",any"`
}

// mostTargets is the most entries of one DeleteObjects request.
const mostTargets = 1000

// deleteObjects is DeleteObjects: every entry has its own fate, and the answer is 200 whatever they are.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
func (e *Engine) deleteObjects(c *call) (reply, error) {
	if !c.payload.verified {
		return reply{}, invalidRequest("Missing required header for this request: Content-MD5 OR x-amz-checksum-*")
	}
	in, err := readBatch(c.payload.data)
	if err != nil {
		return reply{}, err
	}
	outcomes := make([]outcome, len(in.Objects))
	errs := make([]error, len(in.Objects))
	err = e.change(c, func(b *bucket) error {
		if in.namesVersions() {
			if err := b.checkMFA(c); err != nil {
				return err // the whole request, as S3 does
			}
		}
		for i, o := range in.Objects {
			outcomes[i], errs[i] = e.removeEntry(b, o, bypasses(c))
		}
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return xmlReply(renderBatch(in, outcomes, errs)), nil
}

// removeEntry deletes one entry. An id that cannot be one is NoSuchVersion here, where DeleteObject
// says InvalidArgument: S3 was seen to answer so.
func (e *Engine) removeEntry(b *bucket, o batchEntry, bypass bool) (outcome, error) {
	if err := keyTooLong(o.Key); err != nil {
		return outcome{}, err
	}
	if o.VersionID == nil {
		return e.remove(b, target{key: o.Key}, bypass)
	}
	if err := e.checkID("VersionId", *o.VersionID); err != nil {
		return outcome{}, noSuchVersion(o.Key, *o.VersionID)
	}
	return e.remove(b, target{key: o.Key, id: *o.VersionID, hasID: true}, bypass)
}

func (in *batch) namesVersions() bool {
	for _, o := range in.Objects {
		if o.VersionID != nil {
			return true
		}
	}
	return false
}

func readBatch(body []byte) (*batch, error) {
	var in batch
	if err := parse(body, &in); err != nil {
		return nil, err
	}
	if err := in.Unknown.refuse("Delete"); err != nil {
		return nil, err
	}
	if len(in.Objects) == 0 || len(in.Objects) > mostTargets {
		return nil, malformedXML()
	}
	for _, o := range in.Objects {
		if err := o.Unknown.refuse("Object"); err != nil {
			return nil, err
		}
		if o.Key == "" {
			return nil, malformedXML()
		}
	}
	return &in, nil
}

// renderBatch names every entry that failed and, unless quiet, every entry that did not.
func renderBatch(in *batch, outcomes []outcome, errs []error) *document {
	const about = 160 // bytes of one <Deleted>
	d := newDocument()
	d.grow(about * len(in.Objects))
	d.root("DeleteResult")
	for i, o := range in.Objects {
		switch {
		case errs[i] != nil:
			d.deleteError(o, errs[i])
		case !in.Quiet:
			d.deleted(o, outcomes[i])
		}
	}
	d.close("DeleteResult")
	return d
}

// deleted: DeleteMarkerVersionId is the marker that was made, or the marker that was removed.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeletedObject.html
func (d *document) deleted(o batchEntry, made outcome) {
	d.open("Deleted")
	d.text("Key", o.Key)
	if o.VersionID != nil {
		d.text("VersionId", *o.VersionID)
	}
	if made.marker {
		d.flag("DeleteMarker", true)
		d.text("DeleteMarkerVersionId", made.id)
	}
	d.close("Deleted")
}

func (d *document) deleteError(o batchEntry, err error) {
	code, message := "InternalError", err.Error()
	if f, ok := errors.AsType[*failure](err); ok {
		code, message = f.code, f.message
	}
	d.open("Error")
	d.text("Key", o.Key)
	if o.VersionID != nil {
		d.text("VersionId", *o.VersionID)
	}
	d.text("Code", code)
	d.text("Message", message)
	d.close("Error")
}
