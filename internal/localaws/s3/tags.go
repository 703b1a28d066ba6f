package s3

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// tag is one object tag.
type tag struct {
	Key   string
	Value string
}

// Limits of object tags, in characters.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-tagging.html
const (
	mostTags     = 10
	mostTagKey   = 128
	mostTagValue = 256
)

// parseTagging reads the x-amz-tagging header, which is form encoded. It is split by hand: url.Values
// would lose the order, and a key given twice.
func parseTagging(header string) ([]tag, error) {
	if header == "" {
		return nil, nil
	}
	var tags []tag
	for pair := range strings.SplitSeq(header, "&") {
		k, v, _ := strings.Cut(pair, "=")
		key, err1 := url.QueryUnescape(k)
		value, err2 := url.QueryUnescape(v)
		if err1 != nil || err2 != nil {
			return nil, invalidArgument("x-amz-tagging", header, "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.")
		}
		tags = append(tags, tag{key, value})
	}
	return tags, checkTags(tags)
}

func checkTags(tags []tag) error {
	if len(tags) > mostTags {
		return fail(http.StatusBadRequest, "BadRequest", "Object tags cannot be greater than 10")
	}
	seen := map[string]bool{}
	for _, t := range tags {
		switch {
		case t.Key == "" || utf8.RuneCountInString(t.Key) > mostTagKey:
			return invalidTag("The TagKey you have provided is invalid", t)
		case utf8.RuneCountInString(t.Value) > mostTagValue:
			return invalidTag("The TagValue you have provided is invalid", t)
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			return invalidTag("System tags cannot be added/updated by requester", t)
		case seen[t.Key]:
			return invalidTag("Cannot provide multiple Tags with the same key", t)
		}
		seen[t.Key] = true
	}
	return nil
}

func invalidTag(message string, t tag) error {
	return fail(http.StatusBadRequest, "InvalidTag", message).with("TagKey", t.Key).with("TagValue", t.Value)
}

func (e *Engine) getTagging(c *call) (reply, error) {
	var tags []tag
	header, err := e.onVersion(c, e.view, func(_ *bucket, v *version) error {
		tags = v.tags
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	d := newDocument()
	d.root("Tagging")
	d.open("TagSet")
	for _, t := range tags {
		d.open("Tag")
		d.text("Key", t.Key)
		d.text("Value", t.Value)
		d.close("Tag")
	}
	d.close("TagSet")
	d.close("Tagging")
	r := xmlReply(d)
	header.Set("Content-Type", "application/xml")
	r.header = header
	return r, nil
}

func (e *Engine) putTagging(c *call) (reply, error) {
	var in struct {
		XMLName struct{} `xml:"Tagging"`
		TagSet  struct {
			Tags    []tag   `xml:"Tag"`
			Unknown unknown `xml:",any"`
		}
		Unknown unknown `xml:",any"`
	}
	if err := parse(c.payload.data, &in); err != nil {
		return reply{}, err
	}
	if len(in.Unknown)+len(in.TagSet.Unknown) > 0 {
		return reply{}, malformedXML()
	}
	if err := checkTags(in.TagSet.Tags); err != nil {
		return reply{}, err
	}
	header, err := e.onVersion(c, e.change, func(_ *bucket, v *version) error {
		v.tags = in.TagSet.Tags
		return nil
	})
	return reply{header: header}, err
}

func (e *Engine) deleteTagging(c *call) (reply, error) {
	header, err := e.onVersion(c, e.change, func(_ *bucket, v *version) error {
		v.tags = nil
		return nil
	})
	return reply{status: http.StatusNoContent, header: header}, err
}

// onVersion runs f on the version that a subresource request names and returns the answer's headers.
func (e *Engine) onVersion(c *call, locked func(*call, func(*bucket) error) error, f func(*bucket, *version) error) (http.Header, error) {
	header := http.Header{}
	err := locked(c, func(b *bucket) error {
		v, err := e.lookup(b, c)
		if err != nil {
			return err
		}
		if id := b.shownID(v); id != "" {
			header.Set("X-Amz-Version-Id", id)
		}
		return f(b, v)
	})
	return header, err
}
