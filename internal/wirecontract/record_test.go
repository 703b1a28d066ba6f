package wirecontract_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"custody/internal/localaws/lambda"
)

// record keeps what the functions said, to senders and in their logs, and what they must never have said.
type record struct {
	mu         sync.Mutex
	lines      []string
	byID       map[string]logLine // the first line about each delivery
	deliveries int                // lines about deliveries, those without an id included
	more       chan struct{}      // closed when a line comes
	answers    []string
	own        int // of the answers, those of the function itself
	signatures map[string]bool
	secrets    []string // keys, and a mark that stands in every body
	committed  map[string]bool
}

func newRecord(secrets ...string) *record {
	return &record{byID: map[string]logLine{}, more: make(chan struct{}), signatures: map[string]bool{}, secrets: secrets,
		committed: map[string]bool{}}
}

// said takes a line of a function's process.
func (r *record) said(_ lambda.Process, line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
	var about logLine
	if json.Unmarshal([]byte(line), &about) == nil && about.Msg == "delivery" {
		r.deliveries++
		if _, known := r.byID[about.DeliveryID]; !known {
			r.byID[about.DeliveryID] = about
		}
	}
	close(r.more)
	r.more = make(chan struct{})
}

func (r *record) sent(signature string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	digits := strings.TrimPrefix(signature, "sha256=")
	sum, err := hex.DecodeString(digits)
	if err != nil {
		sum, _ = base64.StdEncoding.DecodeString(strings.TrimPrefix(signature, "v1,"))
	}
	inHex := hex.EncodeToString(sum) // whatever it was sent as, it may have been written down as the other
	for _, text := range []string{inHex, strings.ToUpper(inHex), base64.StdEncoding.EncodeToString(sum)} {
		r.signatures[text] = true
	}
}

func (r *record) answered(id string, a answer) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = append(r.answers, fmt.Sprint(a.header, a.body))
	if a.header.Get("Custody-Outcome") != "" {
		r.own++
	}
	if a.status/100 == 2 {
		r.committed[id] = true
	}
}

// maybe says that a delivery may stand in the table although nobody was told so.
func (r *record) maybe(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.committed[id] = true
}

// logLine is what of a delivery's line the suite reads.
type logLine struct {
	Msg        string `json:"msg"`
	Level      string `json:"level"`
	DeliveryID string `json:"delivery_id"`
	Signature  string `json:"signature"`
	Outcome    string `json:"outcome"`
	Problem    string `json:"problem"`
}

// patience is for a line that never comes; it bounds a failure and no success.
const patience = 30 * time.Second

// lineOf waits for the line about a delivery: the function writes it before it answers, but it comes by another way.
func (r *record) lineOf(ctx context.Context, id string) (logLine, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		r.mu.Lock()
		line, known := r.byID[id]
		more := r.more
		r.mu.Unlock()
		if known {
			return line, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return logLine{}, fmt.Errorf("no line about delivery %s: %w", id, context.Cause(ctx))
		}
	}
}

// runsOfText are what a signature could be a part of.
var runsOfText = regexp.MustCompile(`[0-9A-Za-z+/=]{44,}`)

// leaks lists what was said and must never be said: keys in any of their forms, signatures, and bodies.
func (r *record) leaks() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	said := strings.Join(append(r.lines, r.answers...), "\n")
	var found []string
	for _, secret := range r.secrets {
		for _, form := range forms(secret) {
			if strings.Contains(said, form) {
				found = append(found, "a secret: "+form)
			}
		}
	}
	for _, run := range runsOfText.FindAllString(said, -1) {
		for _, length := range []int{64, 44} { // in hex, in base64
			for from := 0; from+length <= len(run); from++ {
				if r.signatures[run[from:from+length]] {
					found = append(found, "a signature: "+run)
				}
			}
		}
	}
	return found
}

// forms are the texts that give a secret away.
func forms(secret string) []string {
	all := []string{secret, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret))}
	if rest, ok := strings.CutPrefix(secret, "whsec_"); ok {
		raw, _ := base64.StdEncoding.DecodeString(rest)
		all = append(all, rest, string(raw), hex.EncodeToString(raw))
	}
	return all
}

// unlogged is how many answers of the function have no line: each request has one.
func (r *record) unlogged() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.own - r.deliveries
}
