package s3

// versionsRequest is a ListObjectVersions request as it was understood.
type versionsRequest struct {
	question
	asked    int    // max-keys, repeated in the answer
	idMarker string // version-id-marker
	encode   encoder
	encoded  bool
}

// listVersions is ListObjectVersions.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectVersions.html
func (e *Engine) listVersions(c *call) (reply, error) {
	q, err := e.readVersionsRequest(c)
	if err != nil {
		return reply{}, err
	}
	var p page
	err = e.view(c, func(b *bucket) error {
		if q.idMarker != "" {
			q.afterSeq = e.seqOf(b, q.after, q.idMarker)
		}
		p = b.page(q.question)
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return xmlReply(renderVersions(c, q, p)), nil
}

// readVersionsRequest checks in the order in which S3 was seen to: max-keys, the version id marker,
// the encoding, then U+0000.
func (e *Engine) readVersionsRequest(c *call) (q versionsRequest, err error) {
	if q.most, q.asked, err = maxKeys(c); err != nil {
		return q, err
	}
	if q.idMarker, err = e.readIDMarker(c); err != nil {
		return q, err
	}
	if q.encode, err = encoderFor(c); err != nil {
		return q, err
	}
	if err = noNull(c, "prefix", "key-marker", "delimiter"); err != nil {
		return q, err
	}
	q.encoded = c.query.Has("encoding-type")
	q.prefix, q.delimiter = c.query.Get("prefix"), c.query.Get("delimiter")
	q.after = c.query.Get("key-marker")
	q.resumed = q.after != ""
	return q, nil
}

// readIDMarker is the version-id-marker. A key marker that is absent and one that is empty are told
// apart, as S3 does.
func (e *Engine) readIDMarker(c *call) (string, error) {
	id := c.query.Get("version-id-marker")
	switch {
	case !c.query.Has("version-id-marker"):
		return "", nil
	case !c.query.Has("key-marker"):
		return "", invalidArgument("version-id-marker", id, "A version-id marker cannot be specified without a key marker.")
	case id == "":
		return "", invalidArgument("version-id-marker", id, "A version-id marker cannot be empty.")
	}
	return id, e.checkID("version-id-marker", id)
}

// entrySize is about what one entry takes in the answer, keys of usual length given.
const entrySize = 480

func renderVersions(c *call, q versionsRequest, p page) *document {
	d := newDocument()
	d.grow(512 + entrySize*p.size())
	d.root("ListVersionsResult")
	d.text("Name", c.bucket)
	d.text("Prefix", q.encode(q.prefix))
	d.text("KeyMarker", q.encode(q.after))
	d.text("VersionIdMarker", q.idMarker)
	if p.truncated {
		d.text("NextKeyMarker", q.encode(p.lastKey))
		if p.lastID != "" {
			d.text("NextVersionIdMarker", p.lastID)
		}
	}
	d.number("MaxKeys", q.asked)
	if q.delimiter != "" {
		d.text("Delimiter", q.encode(q.delimiter))
	}
	if q.encoded {
		d.text("EncodingType", "url")
	}
	d.flag("IsTruncated", p.truncated)
	for _, v := range p.entries {
		renderVersion(d, c.caller, q.encode, v)
	}
	d.commonPrefixes(q.encode, p.prefixes)
	d.close("ListVersionsResult")
	return d
}

// renderVersion writes versions and delete markers as they come, one list in S3's order; the SDKs make
// two lists of it and lose that order.
func renderVersion(d *document, owner string, encode encoder, v entry) {
	name := "Version"
	if v.marker {
		name = "DeleteMarker"
	}
	d.open(name)
	d.text("Key", encode(v.key))
	d.text("VersionId", v.id)
	d.flag("IsLatest", v.latest)
	d.time("LastModified", v.modified)
	if v.marker {
		d.owner(owner)
	} else {
		d.content(v.version)
		d.owner(owner)
		d.text("StorageClass", "STANDARD")
	}
	d.close(name)
}

// content writes what a listing says about an object's bytes.
func (d *document) content(v *version) {
	d.text("ETag", v.object.etag)
	for name := range v.object.sums {
		d.text("ChecksumAlgorithm", checksumName(name))
		d.text("ChecksumType", "FULL_OBJECT")
	}
	d.number("Size", len(v.object.body))
}

func (d *document) commonPrefixes(encode encoder, prefixes []string) {
	for _, p := range prefixes {
		d.open("CommonPrefixes")
		d.text("Prefix", encode(p))
		d.close("CommonPrefixes")
	}
}
