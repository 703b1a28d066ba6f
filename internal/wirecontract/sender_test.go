package wirecontract_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// scheme is a way of signing as a sender knows it, written from docs/wire-contract.md and not from internal/signature: two
// readings of the same page that must meet.
type scheme struct {
	name                            string
	id, timestamp, signature, keyID string // the headers, empty where the scheme has none
	key                             func() string
	sign                            func(key, id, timestamp string, body []byte) string
}

func schemes() []scheme {
	return []scheme{
		{
			name: "timestamped", id: "X-Delivery-ID", timestamp: "X-Delivery-Timestamp", signature: "X-Delivery-Signature",
			keyID: "X-Delivery-Key-ID", key: rand.Text,
			sign: func(key, _, timestamp string, body []byte) string {
				return "sha256=" + hex.EncodeToString(mac([]byte(key), timestamp+".", body))
			},
		},
		{
			name: "standard-webhooks", id: "webhook-id", timestamp: "webhook-timestamp", signature: "webhook-signature",
			key: func() string { return "whsec_" + base64.StdEncoding.EncodeToString([]byte(rand.Text())) },
			sign: func(key, id, timestamp string, body []byte) string {
				secret, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whsec_"))
				return "v1," + base64.StdEncoding.EncodeToString(mac(secret, id+"."+timestamp+".", body))
			},
		},
		{
			name: "body", id: "X-Delivery-ID", signature: "X-App-Signature", keyID: "X-Delivery-Key-ID", key: rand.Text,
			sign: func(key, _, _ string, body []byte) string { return hex.EncodeToString(mac([]byte(key), "", body)) },
		},
	}
}

func mac(key []byte, before string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(before))
	h.Write(body)
	return h.Sum(nil)
}

// message is one delivery before it is signed. What is done to it afterwards, on its way, stands in the edits.
type message struct {
	scheme         scheme
	method, target string
	host           string
	id, timestamp  string
	key, keyID     string // an id that is empty is not sent
	contentType    string // the same
	body           []byte
	pad            int  // spaces behind the body, up to this many bytes
	empty          bool // no body, whatever stands above
	chunked        bool
	edits          []func([]header) []header
	onTheWay       func([]byte) []byte // what becomes of the body after it was signed
}

type header struct{ name, value string }

// signed gives what travels: the headers, the body, and the signature that the sender made.
func (m *message) signed() (headers []header, body []byte, signature string) {
	body = m.body
	if missing := m.pad - len(body); missing > 0 {
		body = append(slices.Clip(body), bytes.Repeat([]byte(" "), missing)...)
	} else if m.empty {
		body = nil
	}
	signature = m.scheme.sign(m.key, m.id, m.timestamp, body)
	for _, h := range []header{
		{m.scheme.id, m.id}, {m.scheme.timestamp, m.timestamp}, {m.scheme.signature, signature}, {m.scheme.keyID, m.keyID},
		{"Content-Type", m.contentType},
	} {
		if always := h.name == m.scheme.id || h.name == m.scheme.timestamp; h.name != "" && (h.value != "" || always) {
			headers = append(headers, h)
		}
	}
	for _, edit := range m.edits {
		headers = edit(headers)
	}
	if m.onTheWay != nil {
		body = m.onTheWay(slices.Clone(body))
	}
	return headers, body, signature
}

// wire is the request as its bytes on the connection.
func (m *message) wire() (request []byte, signature string) {
	headers, body, signature := m.signed()
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", m.method, m.target, m.host)
	for _, h := range headers {
		fmt.Fprintf(&b, "%s: %s\r\n", h.name, h.value)
	}
	if m.chunked {
		fmt.Fprintf(&b, "Transfer-Encoding: chunked\r\n\r\n")
		for part := range slices.Chunk(body, 7) {
			fmt.Fprintf(&b, "%x\r\n%s\r\n", len(part), part)
		}
		b.WriteString("0\r\n\r\n")
		return b.Bytes(), signature
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n", len(body))
	b.Write(body)
	return b.Bytes(), signature
}

// set gives a header another value behind the signature, or adds it.
func (m *message) set(name, value string) { m.alter(name, func(string) string { return value }) }

// alter changes the value of a header behind the signature.
func (m *message) alter(name string, change func(string) string) {
	m.edits = append(m.edits, func(hs []header) []header {
		at := slices.IndexFunc(hs, func(h header) bool { return strings.EqualFold(h.name, name) })
		if at < 0 {
			return append(hs, header{name, change("")})
		}
		hs[at].value = change(hs[at].value)
		return hs
	})
}

// add sends a header once more.
func (m *message) add(name, value string) {
	m.edits = append(m.edits, func(hs []header) []header { return append(hs, header{name, value}) })
}

// repeat sends a header twice, each time as it is.
func (m *message) repeat(name string) {
	m.edits = append(m.edits, func(hs []header) []header {
		for _, h := range hs {
			if strings.EqualFold(h.name, name) {
				return append(hs, h)
			}
		}
		return hs
	})
}

// drop leaves a header out.
func (m *message) drop(name string) {
	m.edits = append(m.edits, func(hs []header) []header {
		return slices.DeleteFunc(hs, func(h header) bool { return strings.EqualFold(h.name, name) })
	})
}

// respell sends every header's name in another case.
func (m *message) respell(spell func(string) string) {
	m.edits = append(m.edits, func(hs []header) []header {
		for i := range hs {
			hs[i].name = spell(hs[i].name)
		}
		return hs
	})
}
