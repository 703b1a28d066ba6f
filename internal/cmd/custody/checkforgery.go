package main

import (
	"bytes"
	"io"
	"net/http"
)

// changed sends every request with one space more in front of its body: the same JSON, and other bytes than were signed.
type changed struct{}

// RoundTrip implements [http.RoundTripper].
func (changed) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	body = append([]byte(" "), body...)
	other := r.Clone(r.Context())
	other.Body, other.ContentLength, other.GetBody = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return http.DefaultTransport.RoundTrip(other)
}
