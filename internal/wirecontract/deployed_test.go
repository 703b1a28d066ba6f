package wirecontract_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// TestDeployed asks a deployed function URL for every answer that needs no look into a table; the package comment says how. It is
// [TestPortablePart] that keeps these questions true.
func TestDeployed(t *testing.T) {
	t.Parallel()
	address, key := os.Getenv("CUSTODY_TEST_URL"), os.Getenv("CUSTODY_TEST_SIGNING_KEY")
	if address == "" || key == "" {
		t.Skip("CUSTODY_TEST_URL and CUSTODY_TEST_SIGNING_KEY name no function URL and no key; the local stack is asked the same by TestPortablePart")
	}
	name := os.Getenv("CUSTODY_TEST_SCHEME")
	if name == "" {
		name = schemes()[0].name
	}
	at := slices.IndexFunc(schemes(), func(sc scheme) bool { return sc.name == name })
	if at < 0 {
		t.Fatalf("CUSTODY_TEST_SCHEME is %q, must be timestamped, standard-webhooks or body", name)
	}
	to := target{scheme: schemes()[at], url: parseURL(t, address), key: key, keyID: os.Getenv("CUSTODY_TEST_SIGNING_KEY_ID")}
	if to.url.Path == "" {
		to.url.Path = "/"
	}
	to.answersEverything(t)
}

func TestPortablePart(t *testing.T) {
	t.Parallel()
	for _, sc := range schemes() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			open(t, sc).answersEverything(t)
		})
	}
}

// harmless is a command that deletes nothing: nobody has the warehouse, and in S3 nothing is older than 1971.
func harmless(run, warehouse string) string {
	return fmt.Sprintf(`{"type":"cleanup.run","run_id":%q,"warehouse_id":"contract-test-%s","expired_before":"1971-01-01T00:00:00Z"}`, run, warehouse)
}

// answersEverything holds no question that depends on more than a URL and a key.
func (to target) answersEverything(t *testing.T) {
	id := "contract-test-" + rand.Text()
	good := to.message(id, harmless(id, id))
	but := func(change func(*message)) message {
		m := good
		change(&m)
		return m
	}
	for _, step := range []struct {
		sentence string
		m        message
		want     string
	}{
		{"GET", but(func(m *message) { m.method = "GET" }), "405 rejected"},
		{"HEAD", but(func(m *message) { m.method = "HEAD" }), "405 rejected"},
		{"PUT", but(func(m *message) { m.method = "PUT" }), "405 rejected"},
		{"DELETE", but(func(m *message) { m.method = "DELETE" }), "405 rejected"},
		{"OPTIONS", but(func(m *message) { m.method = "OPTIONS" }), "405 rejected"},
		{"another path", but(func(m *message) { m.target = "/no/such/path" }), "404 rejected"},
		{"an encoded path", but(func(m *message) { m.target = "/no%2Fsuch%2Fpath" }), "404 rejected"},
		{"a compressed body", but(func(m *message) { m.set("Content-Encoding", "gzip") }), "415 rejected"},
		{"a body over the cap", but(func(m *message) { m.pad = cap256KiB + 1 }), "413 rejected"},
		{"a binary body over the cap", but(func(m *message) { m.pad, m.contentType = cap256KiB+1, "application/octet-stream" }), "413 rejected"},
		{"no body", but(func(m *message) { m.empty = true }), "400 rejected"},
		{"no id", but(func(m *message) { m.drop(to.scheme.id) }), "400 rejected"},
		{"an id with a space", but(func(m *message) { m.id = "a b" }), "400 rejected"},
		{"the id twice", but(func(m *message) { m.repeat(to.scheme.id) }), "400 rejected"},
		{"no signature", but(func(m *message) { m.drop(to.scheme.signature) }), "400 rejected"},
		{"the signature twice", but(func(m *message) { m.repeat(to.scheme.signature) }), "401 rejected"},
		{"a signature that is none", but(func(m *message) { m.set(to.scheme.signature, "sha256=") }), "401 rejected"},
		{"another key", but(func(m *message) { m.key = to.scheme.key() }), "401 rejected"},
		{"a changed body", but(func(m *message) { m.onTheWay = func(b []byte) []byte { return append(b, '\n') } }), "401 rejected"},
		{"signed garbage", but(func(m *message) { m.body = []byte("garbage") }), "422 rejected"},
		{"an unknown type", but(func(m *message) { m.body = []byte(`{"type":"no.such.type"}`) }), "422 rejected"},
		{"bytes that are no UTF-8", but(func(m *message) {
			m.body, m.contentType = append([]byte("\xff"), m.body...), "application/octet-stream"
		}), "422 rejected"},
		{"the delivery itself", good, "204 accepted"},
		{"its copy", good, "204 already_processed"},
		{"its copy as binary", but(func(m *message) { m.contentType = "application/octet-stream" }), "204 already_processed"},
		{"its copy without a type of content", but(func(m *message) { m.contentType = "" }), "204 already_processed"},
		{"its copy with a question behind the path", but(func(m *message) { m.target += "?a=b" }), "204 already_processed"},
		{"its copy with headers in another case", but(func(m *message) { m.respell(zigzag) }), "204 already_processed"},
		{"the same run under another id", but(func(m *message) { m.id += "-2" }), "204 already_processed"},
		{"the same id for another body", but(func(m *message) { m.body = append([]byte("\r\n"), m.body...) }), "409 conflict"},
		{"the same run for another warehouse", but(func(m *message) {
			m.id += "-3"
			m.body = []byte(harmless(id, id+"-3"))
		}), "409 conflict"},
		{"line breaks and emoji", but(func(m *message) {
			m.id += "-4"
			m.body = []byte("\r\n" + harmless(m.id, id)[:1] + `"note":"🙂",` + harmless(m.id, id)[1:] + "\r\n")
		}), "204 accepted"},
	} {
		to.expect(t, step.sentence, step.m, step.want)
	}
	if to.scheme.timestamp == "" {
		return
	}
	for sentence, c := range map[string]struct {
		timestamp string
		want      string
	}{
		"a timestamp in milliseconds":  {unix(time.Now()) + "000", "400 rejected"},
		"a timestamp of an hour ago":   {unix(time.Now().Add(-time.Hour)), "401 rejected"},
		"a timestamp of an hour ahead": {unix(time.Now().Add(time.Hour)), "401 rejected"},
	} {
		to.expect(t, sentence, but(func(m *message) { m.timestamp = c.timestamp }), c.want)
	}
}
