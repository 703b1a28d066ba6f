// Package steady owns the HTTP client that SDK clients use against servers on this machine. It imports the standard library
// only, and is a development part like the rest of localaws.
package steady

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// Client sends each body from memory. The SDK closes a request's body as soon as the answer's
// headers are there (smithy-go, transport/http). A server on loopback answers so fast that net/http may not have seen the
// body's end yet; it then takes the connection for broken, in the middle of the answer. Over a network that does not happen.
type Client struct{}

// Do sends the request.
func (Client) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return shared().Do(r)
}

// shared keeps as many idle connections as the functions' own client. http.DefaultTransport keeps two for each host, and
// closing any httptest.Server closes the idle ones of it, under the requests of other tests.
var shared = sync.OnceValue(func() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 48}}
})
