package invariants

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // the digest of a request body, as S3 takes it
	"encoding/base64"
	"encoding/xml"
	"strings"
)

// Unmentioned is the answer for a version that S3 leaves out of its own.
const Unmentioned = "-"

// serveObjects lets the engine answer, save for the versions that are refused in its place.
func (w *World) serveObjects(x exchange) *answer {
	if x.call.Operation != "DeleteObjects" || w.options.Refuse == nil {
		return serve(w.objects, w.paged(x.request), x.body)
	}
	var in struct {
		Objects []target `xml:"Object"`
	}
	if err := xml.Unmarshal(x.body, &in); err != nil {
		return serve(w.objects, x.request, x.body)
	}
	var rest, refused bytes.Buffer
	for _, t := range in.Objects {
		code := ""
		if v := w.observer.keys[t.Key].find(*t.VersionID); v != nil {
			code = w.options.Refuse(t.Key, v.n)
		}
		switch code {
		case "":
			rest.WriteString("<Object><Key>" + escaped(t.Key) + "</Key><VersionId>" + *t.VersionID + "</VersionId></Object>")
		case Unmentioned:
		default:
			refused.WriteString("<Error><Key>" + escaped(t.Key) + "</Key><VersionId>" + *t.VersionID + "</VersionId><Code>" + code +
				"</Code><Message>injected</Message></Error>")
		}
	}
	a := newAnswer()
	a.header.Set("Content-Type", "application/xml")
	a.body.WriteString("<DeleteResult></DeleteResult>")
	if rest.Len() > 0 {
		a = w.deleteRest(x, rest.String())
	}
	whole := strings.Replace(a.body.String(), "</DeleteResult>", refused.String()+"</DeleteResult>", 1)
	a.body.Reset()
	a.body.WriteString(whole)
	a.header.Del("Content-Length")
	return a
}

func (w *World) deleteRest(x exchange, objects string) *answer {
	body := []byte("<Delete>" + objects + "</Delete>")
	r := x.request.Clone(context.WithoutCancel(x.request.Context()))
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Amz-Checksum-") || strings.HasPrefix(name, "X-Amz-Sdk-Checksum") || name == "X-Amz-Content-Sha256" {
			r.Header.Del(name)
		}
	}
	sum := md5.Sum(body) //nolint:gosec // see above
	r.Header.Set("Content-Md5", base64.StdEncoding.EncodeToString(sum[:]))
	return serve(w.objects, r, body)
}

func escaped(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text))
	return out.String()
}
