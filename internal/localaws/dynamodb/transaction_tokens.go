package dynamodb

import (
	"crypto/sha256"
	"time"
)

const (
	// tokenLife is how long a client token makes a transaction idempotent (API reference: ten minutes).
	tokenLife = 10 * time.Minute
	// maxToken is the longest client token (API reference).
	maxToken = 36
)

// committed is what is kept of a transaction for its token's life.
type committed struct {
	request [sha256.Size]byte // of the canonical JSON
	at      time.Time
}

// tokens remembers committed transactions by their client tokens, oldest first.
type tokens struct {
	known map[string]committed
	order []string
}

// forget drops what is older than a token's life. Each token is dropped once, so remembering stays cheap.
func (k *tokens) forget(now time.Time) {
	for len(k.order) > 0 && now.Sub(k.known[k.order[0]].at) >= tokenLife {
		delete(k.known, k.order[0])
		k.order = k.order[1:]
	}
}

func (k *tokens) add(token string, c committed) {
	if token == "" {
		return
	}
	if k.known == nil {
		k.known = map[string]committed{}
	}
	k.known[token] = c
	k.order = append(k.order, token)
}

// done tells whether this very request was committed under its token already.
func (k *tokens) done(token string, request [sha256.Size]byte) (bool, error) {
	c, ok := k.known[token]
	if ok && c.request != request {
		return false, faultf(idempotentMismatch, "The request uses the same client token as a previous, but non-identical request. "+
			"Do not reuse a client token with different requests, unless the requests are identical")
	}
	return ok, nil
}
