package retention

import (
	"slices"
	"time"
)

// Cover is what holds cover at one time, ordered so that a version is held against all of them at once: a scope may have tens of
// thousands, and each version of a batch is looked up. The zero Cover covers nothing.
type Cover struct {
	everything Reason
	keys       map[string]Reason
	prefixes   map[string]Reason
	lengths    []int // of the prefixes, each once, in bytes
}

// NewCover takes in the holds that are in force. The strictest word wins where several cover the same, so that counts do not depend
// on the order of the rows.
func NewCover(holds []Hold, now time.Time) Cover {
	c := Cover{keys: map[string]Reason{}, prefixes: map[string]Reason{}}
	for _, h := range holds {
		if h.Reason == "" { // it holds all the same: only the word for it is missing
			h.Reason = ReasonUnreadableHold
		}
		switch {
		case !h.InForce(now):
		case h.Key != "":
			c.keys[h.Key] = stricter(c.keys[h.Key], h.Reason)
		case h.Prefix != "":
			c.prefixes[h.Prefix] = stricter(c.prefixes[h.Prefix], h.Reason)
		default:
			c.everything = stricter(c.everything, h.Reason)
		}
	}
	for prefix := range c.prefixes {
		if !slices.Contains(c.lengths, len(prefix)) {
			c.lengths = append(c.lengths, len(prefix))
		}
	}
	return c
}

// of is the strictest reason for which the key is held; "" for none.
func (c Cover) of(key string) Reason {
	best := stricter(c.everything, c.keys[key])
	for _, n := range c.lengths {
		if n <= len(key) {
			best = stricter(best, c.prefixes[key[:n]])
		}
	}
	return best
}

func stricter(a, b Reason) Reason {
	if a == "" || b != "" && rank(b) < rank(a) {
		return b
	}
	return a
}

func rank(r Reason) int {
	switch r {
	case ReasonStop:
		return 0
	case ReasonLegalHold:
		return 1
	case ReasonDisputeEvidence:
		return 2
	case ReasonActiveManifest:
		return 3
	case ReasonUnreadableHold:
		return 4
	default:
		return 5
	}
}
