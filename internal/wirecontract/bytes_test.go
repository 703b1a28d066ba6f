package wirecontract_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// What is verified is what was sent, whatever Lambda makes of it on the way: the hash that is stored is the sender's own.
func TestBytesArriveAsTheyWereSent(t *testing.T) {
	t.Parallel()
	for _, sc := range schemes() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, sc)
			for _, contentType := range []string{"application/json", "application/json; charset=utf-8", "application/json; charset=utf-16",
				"APPLICATION/JSON", "application/json;", "text/plain", "text/plain; charset=latin-1", "application/xml", "application/octet-stream",
				"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/cloudevents+json", "image/png", "nonsense", ""} {
				for sentence, change := range map[string]func(string) string{
					"as it is":                  func(b string) string { return b },
					"with a newline at its end": func(b string) string { return b + "\n" },
					"with CRLF":                 func(b string) string { return "\r\n" + strings.ReplaceAll(b, ",", ",\r\n") + "\r\n" },
					"with emoji and umlauts":    func(b string) string { return strings.Replace(b, "mark", "🙂 ü ﷽ \u2028 mark", 1) },
					"with blanks and tabs":      func(b string) string { return " \t " + b + " \t " },
					"with characters of HTML":   func(b string) string { return strings.Replace(b, "mark", "<&>'+%2F mark", 1) },
				} {
					m := s.delivery()
					m.contentType = contentType
					m.body = []byte(change(string(m.body)))
					s.expect(t, fmt.Sprintf("%s as %q", sentence, contentType), m, "204 accepted")
					sum := sha256.Sum256(m.body)
					if got := s.item(t.Context(), t, "delivery#"+m.id)["body_sha256"]; got != hex.EncodeToString(sum[:]) {
						t.Errorf("%s as %q: another body was stored: %s", sentence, contentType, got)
					}
				}
			}
		})
	}
}

// Bytes that are no text survive under a binary type, and are then no command: 422. Under a text type Lambda itself replaces them,
// and what arrives is not what was signed.
func TestBytesThatAreNoText(t *testing.T) {
	t.Parallel()
	s := open(t, schemes()[0])
	for sentence, raw := range map[string]string{
		"a lone continuation byte": "\x80", "an overlong slash": "\xc0\xaf", "a surrogate": "\xed\xa0\x80", "all ones": "\xff\xff",
		"half of an emoji": "\xf0\x9f",
	} {
		for contentType, want := range map[string]string{
			"application/octet-stream": "422 rejected", "": "422 rejected", "application/json": "401 rejected", "text/plain": "401 rejected",
		} {
			m := s.delivery()
			m.contentType = contentType
			m.body = bytes.Replace(m.body, []byte("wh-17"), []byte("wh-17"+raw), 1)
			s.expect(t, sentence+" as "+contentType, m, want)
		}
	}
}

// Every bit that is signed counts: one of each byte of the body is turned, and each digit of the timestamp and of the signature
// becomes another.
func TestNothingThatIsSignedCanBeChanged(t *testing.T) {
	t.Parallel()
	for _, sc := range schemes() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, sc)
			id := s.fresh()
			good := s.message(id, s.body(id))
			refused := func(sentence string, change func(*message)) {
				m := good
				m.edits = nil
				change(&m)
				s.expect(t, sentence, m, "401 rejected")
			}
			for at := range good.body {
				refused(fmt.Sprintf("bit %d of byte %d", at%8, at), func(m *message) {
					m.onTheWay = func(b []byte) []byte { b[at] ^= 1 << (at % 8); return b }
				})
			}
			for at := range good.timestamp {
				refused(fmt.Sprintf("digit %d of the timestamp", at), func(m *message) {
					m.alter(sc.timestamp, func(d string) string { return turned(d, at, "0123456789") })
				})
			}
			_, _, signature := good.signed()
			for at := max(0, len(signature)-64); at < len(signature); at++ {
				refused(fmt.Sprintf("character %d of the signature", at), func(m *message) {
					m.alter(sc.signature, func(v string) string { return turned(v, at, "0123456789abcdef") })
				})
			}
			if sc.name == "standard-webhooks" { // the one scheme that signs the id
				refused("another id", func(m *message) { m.alter(sc.id, func(id string) string { return id + "x" }) })
			}
			s.expect(t, "and the delivery itself", good, "204 accepted")
		})
	}
}

// turned replaces one character by the next of the alphabet, or by its first.
func turned(text string, at int, alphabet string) string {
	next := alphabet[(strings.IndexByte(alphabet, text[at])+1)%len(alphabet)]
	return text[:at] + string(next) + text[at+1:]
}

// Any match of a list of signatures wins, and five are looked at.
func TestSeveralSignatures(t *testing.T) {
	t.Parallel()
	s := open(t, schemes()[1])
	other := func(n int) string { return strings.Repeat("v1,"+strings.Repeat("A", 43)+"= ", n) }
	for sentence, c := range map[string]struct {
		change func(string) string
		want   string
	}{
		"the last of five":                        {func(v string) string { return other(4) + v }, "204 accepted"},
		"the sixth":                               {func(v string) string { return other(5) + v }, "401 rejected"},
		"the first of a hundred":                  {func(v string) string { return v + " " + strings.TrimSpace(other(99)) }, "204 accepted"},
		"behind others of the asymmetric version": {func(v string) string { return strings.Repeat("v1a,AAAA ", 20) + v }, "204 accepted"},
		"behind one that is no base64":            {func(v string) string { return "v1,no! " + v }, "204 accepted"},
		"twice":                                   {func(v string) string { return v + " " + v }, "204 accepted"},
		"with a comma between":                    {func(v string) string { return other(1)[:47] + "," + v }, "401 rejected"},
		"behind two headers that were joined":     {func(v string) string { return other(1)[:47] + "," + other(1) + v }, "401 rejected"},
		"none but those of others":                {func(string) string { return strings.TrimSpace(other(5)) }, "401 rejected"},
		"of another secret":                       {func(v string) string { return strings.ToLower(v) }, "401 rejected"},
	} {
		m := s.delivery()
		m.alter(s.scheme.signature, c.change)
		s.expect(t, sentence, m, c.want)
	}
}

// The digits of a MAC may have either case, and of the timestamped scheme the prefix may be missing.
func TestSpellingsOfASignature(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scheme scheme
		change func(string) string
	}{
		{schemes()[0], func(v string) string { return strings.TrimPrefix(v, "sha256=") }},
		{schemes()[0], func(v string) string { return "sha256=" + strings.ToUpper(strings.TrimPrefix(v, "sha256=")) }},
		{schemes()[0], func(v string) string { return zigzag(strings.TrimPrefix(v, "sha256=")) }},
		{schemes()[2], strings.ToUpper},
		{schemes()[2], zigzag},
	} {
		t.Run(c.scheme.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, c.scheme)
			m := s.delivery()
			m.alter(c.scheme.signature, c.change)
			s.expect(t, "another spelling", m, "204 accepted")
		})
	}
}

// The highest cap holds, and above an event of 6 MB it is Lambda that answers.
func TestLargestBodies(t *testing.T) {
	t.Parallel()
	const highest = 4 << 20
	s := open(t, schemes()[0], fmt.Sprint("CUSTODY_MAX_BODY_BYTES=", highest))
	for sentence, c := range map[string]struct {
		size        int
		contentType string
		want        string
	}{
		"the highest cap as text":                {highest, "application/json", "204 accepted"},
		"the highest cap as binary":              {highest, "application/octet-stream", "204 accepted"},
		"one more as text":                       {highest + 1, "application/json", "413 rejected"},
		"one more as binary":                     {highest + 1, "application/octet-stream", "413 rejected"},
		"more than an event can hold, as binary": {5 << 20, "application/octet-stream", "413"},
	} {
		m := s.delivery()
		m.pad, m.contentType = c.size, c.contentType
		if c.want != "413" {
			s.expect(t, sentence, m, c.want)
			continue
		}
		a, err := s.send(context.WithoutCancel(t.Context()), m)
		if err != nil || a.word() != c.want {
			t.Errorf("%s: answered %s, %v, want %s without an outcome", sentence, a.word(), err, c.want)
		}
	}
}
