package s3

import "encoding/base64"

// objectsRequest is a ListObjectsV2 request as it was understood.
type objectsRequest struct {
	question
	asked             int
	startAfter, token string
	fetchOwner        bool
	encode            encoder
	encoded           bool
}

// listObjects is ListObjectsV2: current objects only.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
func (e *Engine) listObjects(c *call) (reply, error) {
	q, err := readObjectsRequest(c)
	if err != nil {
		return reply{}, err
	}
	var p page
	err = e.view(c, func(b *bucket) error {
		p = b.page(q.question)
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return xmlReply(renderObjects(c, q, p)), nil
}

func readObjectsRequest(c *call) (q objectsRequest, err error) {
	if v := c.query.Get("list-type"); v != "2" {
		return q, invalidArgument("list-type", v, "list-type must be 2")
	}
	if q.most, q.asked, err = maxKeys(c); err != nil {
		return q, err
	}
	if q.encode, err = encoderFor(c); err != nil {
		return q, err
	}
	if err = noNull(c, "prefix", "start-after", "delimiter"); err != nil {
		return q, err
	}
	q.encoded = c.query.Has("encoding-type")
	q.currentOnly = true
	q.fetchOwner = c.query.Get("fetch-owner") == "true"
	q.prefix, q.delimiter = c.query.Get("prefix"), c.query.Get("delimiter")
	q.startAfter = c.query.Get("start-after")
	q.after = q.startAfter
	if c.query.Has("continuation-token") {
		q.token = c.query.Get("continuation-token")
		q.after, err = readToken(q.token)
	}
	q.resumed = q.after != ""
	return q, err
}

// readToken is the key that a continuation token resumes behind. It wins over start-after.
func readToken(token string) (string, error) {
	key, err := base64.URLEncoding.DecodeString(token)
	if err != nil || len(key) == 0 {
		return "", invalidArgument("continuation-token", token, "The continuation token provided is incorrect")
	}
	return string(key), nil
}

func renderObjects(c *call, q objectsRequest, p page) *document {
	d := newDocument()
	d.grow(512 + entrySize*p.size())
	d.root("ListBucketResult")
	d.text("Name", c.bucket)
	d.text("Prefix", q.encode(q.prefix))
	if q.token != "" {
		d.text("ContinuationToken", q.token)
	}
	if p.truncated {
		d.text("NextContinuationToken", base64.URLEncoding.EncodeToString([]byte(p.lastKey)))
	}
	if q.startAfter != "" {
		d.text("StartAfter", q.encode(q.startAfter))
	}
	d.number("KeyCount", p.size())
	d.number("MaxKeys", q.asked)
	if q.delimiter != "" {
		d.text("Delimiter", q.encode(q.delimiter))
	}
	if q.encoded {
		d.text("EncodingType", "url")
	}
	d.flag("IsTruncated", p.truncated)
	for _, v := range p.entries {
		renderObject(d, c.caller, q, v)
	}
	d.commonPrefixes(q.encode, p.prefixes)
	d.close("ListBucketResult")
	return d
}

func renderObject(d *document, owner string, q objectsRequest, v entry) {
	d.open("Contents")
	d.text("Key", q.encode(v.key))
	d.time("LastModified", v.modified)
	d.content(v.version)
	if q.fetchOwner {
		d.owner(owner)
	}
	d.text("StorageClass", "STANDARD")
	d.close("Contents")
}
