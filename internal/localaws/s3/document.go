package s3

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	namespace = "http://s3.amazonaws.com/doc/2006-03-01/"
	// listTime has whole seconds: S3 lists no fractions, which is why a version shown at the cutoff's
	// own second may be younger than the cutoff.
	listTime = "2006-01-02T15:04:05.000Z"
)

// document builds an answer. encoding/xml is not used for it: it turns characters that XML 1.0
// forbids into U+FFFD, where S3 sends them as numeric references that no XML 1.0 parser accepts.
// Custody must meet those as they are, so the engine must be able to send them.
type document struct{ b []byte }

func newDocument() *document {
	return &document{b: append(make([]byte, 0, 512), xml.Header...)}
}

func (d *document) bytes() []byte { return d.b }

// grow makes room for n more bytes.
func (d *document) grow(n int) {
	d.b = append(make([]byte, 0, len(d.b)+n), d.b...)
}

// root opens the document's outermost element in S3's namespace.
func (d *document) root(name string) {
	d.b = append(d.b, '<')
	d.b = append(d.b, name...)
	d.b = append(d.b, ` xmlns="`+namespace+`">`...)
}

func (d *document) open(name string) {
	d.b = append(d.b, '<')
	d.b = append(d.b, name...)
	d.b = append(d.b, '>')
}

func (d *document) close(name string) {
	d.b = append(d.b, '<', '/')
	d.b = append(d.b, name...)
	d.b = append(d.b, '>')
}

// text writes an element with escaped text; an empty one is written as <Name/>, as S3 does.
func (d *document) text(name, value string) {
	if value == "" {
		d.b = append(d.b, '<')
		d.b = append(d.b, name...)
		d.b = append(d.b, '/', '>')
		return
	}
	d.open(name)
	d.b = appendEscaped(d.b, value)
	d.close(name)
}

func (d *document) flag(name string, value bool) { d.text(name, strconv.FormatBool(value)) }

func (d *document) number(name string, value int) { d.text(name, strconv.Itoa(value)) }

func (d *document) time(name string, t time.Time) {
	d.open(name)
	d.b = t.UTC().Truncate(time.Second).AppendFormat(d.b, listTime)
	d.close(name)
}

// appendEscaped escapes as S3 does. Control characters and noncharacters become decimal references:
// seen in answers of S3 as <ArgumentValue>&#0;</ArgumentValue>. Tab, CR and LF are written so too, or
// a parser would normalize them away.
func appendEscaped(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '&':
			b = append(b, "&amp;"...)
		case c == '<':
			b = append(b, "&lt;"...)
		case c == '>':
			b = append(b, "&gt;"...)
		case c == '"':
			b = append(b, "&quot;"...)
		case c < 0x20:
			b = appendReference(b, rune(c))
		case c == 0xEF && isNoncharacter(s[i:]):
			r, size := utf8.DecodeRuneInString(s[i:])
			b = appendReference(b, r)
			i += size - 1
		default:
			b = append(b, c)
		}
	}
	return b
}

func appendReference(b []byte, r rune) []byte {
	b = append(b, '&', '#')
	b = strconv.AppendInt(b, int64(r), 10)
	return append(b, ';')
}

// isNoncharacter reports U+FFFE and U+FFFF, which XML 1.0 leaves out of its characters.
func isNoncharacter(s string) bool {
	return strings.HasPrefix(s, "\uFFFE") || strings.HasPrefix(s, "\uFFFF")
}

// xmlReply is a finished document as an answer.
func xmlReply(d *document) reply {
	return reply{header: http.Header{"Content-Type": {"application/xml"}}, body: d.bytes()}
}

// unknown collects elements that a request has and the engine does not know.
type unknown []struct{ XMLName xml.Name }

// refuse names the first unknown element.
func (u unknown) refuse(parent string) error {
	if len(u) == 0 {
		return nil
	}
	return notImplemented("<%s> in <%s>", u[0].XMLName.Local, parent)
}

// parse reads a request document strictly: one root, nothing behind it.
func parse(body []byte, into any) error {
	d := xml.NewDecoder(strings.NewReader(string(body)))
	if err := d.Decode(into); err != nil {
		return malformedXML()
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return malformedXML()
	}
	return nil
}
