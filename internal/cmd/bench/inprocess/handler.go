package inprocess

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
)

// Bare is what no receiver of a signed command can do without: HMAC-SHA-256 over the timestamp and the body, compared in constant
// time, and one strict reading of the body, which refuses duplicate names and invalid UTF-8. It checks no header, no field and no
// time, and builds nothing.
type Bare struct {
	body, timestamp, key []byte
	signature            string
}

// NewBare makes one for the body, signed.
func NewBare(body []byte) Bare {
	b := Bare{body: body, timestamp: []byte("1790000000"), key: []byte(secret)}
	b.signature = hex.EncodeToString(b.mac())
	return b
}

// bareCommand has the fields of a cleanup.run.
type bareCommand struct {
	Type          string    `json:"type"`
	RunID         string    `json:"run_id"`
	WarehouseID   string    `json:"warehouse_id"`
	ExpiredBefore time.Time `json:"expired_before"`
}

var errBare = errors.New("the bare delivery was not taken")

// Do verifies and reads once.
func (b Bare) Do() error {
	sent, err := hex.DecodeString(b.signature)
	if err != nil || !hmac.Equal(sent, b.mac()) {
		return errBare
	}
	var c bareCommand
	if err := json.Unmarshal(b.body, &c); err != nil {
		return err
	}
	if c.RunID == "" || c.ExpiredBefore.IsZero() {
		return errBare
	}
	return nil
}

func (b Bare) mac() []byte {
	h := hmac.New(sha256.New, b.key)
	h.Write(b.timestamp)
	h.Write([]byte("."))
	h.Write(b.body)
	return h.Sum(nil)
}
