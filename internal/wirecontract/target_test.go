package wirecontract_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// target is a function URL and what a sender knows about it.
type target struct {
	scheme     scheme
	url        *url.URL
	key, keyID string
	record     *record // nil where nobody listens
}

func parseURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// unix is a time as a timestamp header has it.
func unix(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// message is a delivery that nothing is wrong with.
func (to target) message(id, body string) message {
	m := message{
		scheme: to.scheme, method: "POST", target: to.url.RequestURI(), host: to.url.Host, id: id,
		key: to.key, keyID: to.keyID, contentType: "application/json", body: []byte(body),
	}
	if to.scheme.timestamp != "" {
		m.timestamp = unix(time.Now())
	}
	return m
}

// answer is what a sender sees.
type answer struct {
	status int
	header http.Header
	body   string
}

// word is what a sender acts on.
func (a answer) word() string {
	return strings.TrimSpace(fmt.Sprint(a.status, " ", a.header.Get("Custody-Outcome")))
}

// send writes the request byte for byte: no client library has an opinion about what may be sent.
func (to target) send(ctx context.Context, m message) (answer, error) {
	conn, err := to.dial(ctx)
	if err != nil {
		return answer{}, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	request, signature := m.wire()
	to.record.sent(signature)
	go func() { _, _ = conn.Write(request) }() // a server may answer and close before it has read everything
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: m.method})
	if err != nil {
		return answer{}, fmt.Errorf("read the answer to %s %s: %w", m.method, m.target, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("read the answer's body: %w", err)
	}
	a := answer{response.StatusCode, response.Header, string(body)}
	to.record.answered(m.id, a)
	return a, nil
}

func (to target) dial(ctx context.Context) (net.Conn, error) {
	if to.url.Scheme == "https" {
		return (&tls.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(to.url.Hostname(), port(to.url, "443")))
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(to.url.Hostname(), port(to.url, "80")))
}

func port(u *url.URL, otherwise string) string {
	if p := u.Port(); p != "" {
		return p
	}
	return otherwise
}

// expect sends the message and judges the whole answer; the sentence says what was sent.
func (to target) expect(t *testing.T, sentence string, m message, want string) answer {
	t.Helper()
	a, err := to.send(t.Context(), m)
	if err != nil {
		t.Errorf("%s: %v", sentence, err)
		return answer{header: http.Header{}}
	}
	if got := a.word(); got != want {
		t.Errorf("%s: answered %s, want %s", sentence, got, want)
	}
	for _, complaint := range a.complaints(m.method == "HEAD") {
		t.Errorf("%s: answered %s: %s", sentence, a.word(), complaint)
	}
	return a
}

// becomes repeats the message, as a sender does, until it is answered so. The test's own deadline bounds it.
func (to target) becomes(t *testing.T, sentence string, m message, want string) {
	t.Helper()
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		a, err := to.send(t.Context(), m)
		if err == nil && a.word() == want {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("%s: answered %s at last (%v), want %s", sentence, a.word(), err, want)
		}
	}
}

// titles are the phrases of RFC 9110, the only words of an answer's body.
func titles() map[int]string {
	return map[int]string{
		400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed", 409: "Conflict", 413: "Content Too Large",
		415: "Unsupported Media Type", 422: "Unprocessable Content", 503: "Service Unavailable",
	}
}

// complaints is what the answer has beyond its status, or lacks.
func (a answer) complaints(head bool) []string {
	var all []string
	complain := func(bad bool, format string, args ...any) {
		if bad {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	for name := range a.header {
		switch name {
		case "Custody-Outcome", "Content-Type", "Content-Length", "Connection", "Date":
		case "Allow":
			complain(a.status != http.StatusMethodNotAllowed, "it has Allow")
		case "Retry-After":
			complain(a.status != http.StatusServiceUnavailable, "it has Retry-After")
		default:
			complain(!strings.HasPrefix(name, "X-Amzn-"), "it has a header %s", name) // those are the front's own
		}
	}
	complain(a.status == http.StatusMethodNotAllowed && a.header.Get("Allow") != "POST", "Allow is %q", a.header.Get("Allow"))
	if a.status == http.StatusServiceUnavailable {
		wait, err := strconv.Atoi(a.header.Get("Retry-After"))
		complain(err != nil || wait < 1, "Retry-After is %q", a.header.Get("Retry-After"))
	}
	if a.status == http.StatusNoContent || head {
		complain(a.body != "", "it has the body %q", a.body)
	} else {
		want := fmt.Sprintf(`{"type":"about:blank","title":%q,"status":%d}`, titles()[a.status], a.status)
		complain(a.body != want, "body (-want +got):\n%s", cmp.Diff(want, a.body))
	}
	problem := a.header.Get("Content-Type") == "application/problem+json"
	complain(a.status != http.StatusNoContent && !problem, "its content type is %q", a.header.Get("Content-Type"))
	return all
}
