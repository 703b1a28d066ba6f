package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"custody/internal/signature"
)

// producer signs and sends deliveries, as the team that pushes them does.
type producer struct {
	url string
	key signature.Key
}

func (p producer) command(runID string, cutoff time.Time) []byte {
	return fmt.Appendf(nil, `{"type":"cleanup.run","run_id":%q,"warehouse_id":%q,"expired_before":%q}`,
		runID, warehouse, cutoff.Format(time.RFC3339))
}

// send pushes the body; changed, when it is given, is what travels instead of what was signed.
func (p producer) send(ctx context.Context, delivery string, body, changed []byte) (status int, outcome string, err error) {
	travels := body
	if changed != nil {
		travels = changed
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(travels))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range (signature.Timestamped{}).Sign(p.key, delivery, time.Now(), body) {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	return answer.StatusCode, answer.Header.Get("Custody-Outcome"), nil
}

// tampered is the body with one byte changed: another warehouse.
func tampered(body []byte) []byte {
	return []byte(strings.Replace(string(body), warehouse, "wh-18", 1))
}
