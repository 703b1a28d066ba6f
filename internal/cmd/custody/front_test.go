package main_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"custody/internal/signature"
)

// front stands between a sender and a stack, keeps what it is sent, and may spoil it.
type front struct {
	url string

	mu  sync.Mutex
	got []passed
}

// passed is a request as the sender made it.
type passed struct {
	header http.Header
	body   []byte
}

// spoiler gives what is passed on of the nth request; nil when it has answered itself.
type spoiler func(n int, w http.ResponseWriter, body []byte) []byte

// outOfOrder asks for a second after the first try and breaks the connection of the second.
func outOfOrder(n int, w http.ResponseWriter, body []byte) []byte {
	switch n {
	case 1:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		return nil
	case 2:
		panic(http.ErrAbortHandler)
	}
	return body
}

// oneByteChanged is what happens between a JSON library and the network.
func oneByteChanged(_ int, _ http.ResponseWriter, body []byte) []byte {
	return append(bytes.TrimSuffix(bytes.Clone(body), []byte("}")), " }"...)
}

// acknowledges says yes to everything, so that there need be no stack.
func acknowledges(_ int, w http.ResponseWriter, _ []byte) []byte {
	w.Header().Set("Custody-Outcome", "accepted")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func newFront(t *testing.T, target string, spoil spoiler) *front {
	t.Helper()
	f := &front{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		if rest := spoil(f.keep(r, body), w, body); rest != nil {
			passOn(w, r, target, rest)
		}
	}))
	t.Cleanup(server.Close)
	f.url = server.URL + "/"
	return f
}

func (f *front) keep(r *http.Request, body []byte) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, passed{r.Header.Clone(), body})
	return len(f.got)
}

func passOn(w http.ResponseWriter, r *http.Request, target string, body []byte) {
	request, err := http.NewRequestWithContext(r.Context(), r.Method, target, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header = r.Header.Clone()
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	if _, err := io.Copy(w, answer.Body); err != nil {
		panic(err)
	}
}

// sawOneDelivery checks that every request is the same delivery, and that each was signed anew.
func (f *front) sawOneDelivery(t *testing.T, scheme signature.Scheme, keyText string, requests int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.got) != requests {
		t.Fatalf("%d requests, want %d", len(f.got), requests)
	}
	var last signature.Envelope
	for i, p := range f.got {
		e := p.verified(t, scheme, keyText)
		if i > 0 && (e.DeliveryID != last.DeliveryID || !bytes.Equal(p.body, f.got[0].body)) {
			t.Errorf("try %d is %s with %q, before it was %s with %q", i+1, e.DeliveryID, p.body, last.DeliveryID, f.got[0].body)
		}
		if i > 0 && !e.Timestamp.IsZero() && !e.Timestamp.After(last.Timestamp) {
			t.Errorf("try %d was not signed anew: its timestamp is %s, before it was %s", i+1, e.Timestamp, last.Timestamp)
		}
		last = e
	}
}

// verified asks the scheme itself.
func (p passed) verified(t *testing.T, scheme signature.Scheme, keyText string) signature.Envelope {
	t.Helper()
	e, err := scheme.Read(func(name string) (string, bool) { return p.header.Get(name), p.header.Values(name) != nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scheme.Verify(e, p.body, signature.Keys{signature.NewKey("k1", keyText, time.Time{})}); err != nil {
		t.Error(err)
	}
	if err := e.Fresh(time.Now(), time.Minute); err != nil {
		t.Error(err)
	}
	return e
}
