package invariants

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Hold is a row of the holds table.
type Hold struct {
	Scope, ID   string
	Key, Prefix string // "" for none; neither covers the whole scope
	Reason      string // one that is not in the list makes a row that cannot be understood, and so covers the whole scope
	ExpiresAt   time.Time
}

// covers is what the row means, said again without the product.
func (h Hold) covers(key string, at time.Time) bool {
	if !h.ExpiresAt.IsZero() && h.ExpiresAt.Unix() <= at.Unix() {
		return false
	}
	switch h.Reason {
	case "legal_hold", "dispute_evidence", "active_manifest", "other":
	default:
		return true
	}
	switch {
	case h.Key != "":
		return h.Key == key
	case h.Prefix != "":
		return strings.HasPrefix(key, h.Prefix)
	}
	return true
}

// holdsRead is one consistent read of a partition of the holds table by a process, whose answer it got.
type holdsRead struct {
	at    time.Time
	clock time.Time // of the process
	rows  []Hold
}

func (r holdsRead) covers(key string) (Hold, bool) {
	for _, h := range r.rows {
		if h.covers(key, r.clock) {
			return h, true
		}
	}
	return Hold{}, false
}

// readHolds notes what a slice was told about the holds.
func (o *observer) readHolds(x exchange) {
	var in struct {
		TableName                 string
		ConsistentRead            bool
		ExpressionAttributeValues item
	}
	if err := json.Unmarshal(x.body, &in); err != nil || in.TableName != holdsTable {
		return
	}
	if !in.ConsistentRead {
		o.violate("I2: %s reads the holds without strong consistency", x.call)
	}
	for name := range in.ExpressionAttributeValues {
		partition := in.ExpressionAttributeValues.text(name)
		read := holdsRead{at: time.Now(), clock: x.process.now()}
		for _, h := range o.holds[partition] {
			read.rows = append(read.rows, h)
		}
		x.process.reads[partition] = append(x.process.reads[partition], read)
		if run := o.runs[x.task.run]; run != nil && underLease(x, run) {
			run.reads = append(run.reads, read)
		}
	}
}

// holdsAge is how old the holds may be that a request rests on.
const holdsAge = 5 * time.Second

// forbidden says why the holds that the process has read do not allow to delete the key, or "". Where several batches are on their
// way at once, any read that is young enough may be the one that the request rests on; else it is the last one.
func (o *observer) forbidden(x exchange, run *runBook, key string) string {
	for _, partition := range []string{run.scope, "*"} {
		reads := x.process.reads[partition]
		young := reads[:0:0]
		for _, r := range reads {
			if x.sent.Sub(r.at) <= holdsAge+o.terms.blur && !r.at.After(x.sent) {
				young = append(young, r)
			}
		}
		if len(young) == 0 {
			return fmt.Sprintf("no holds of %s were read within %s", partition, holdsAge)
		}
		if o.world.set.DeleteConcurrency == 1 {
			young = young[len(young)-1:]
		}
		var by Hold
		allowed := false
		for _, r := range young {
			h, covered := r.covers(key)
			if allowed = allowed || !covered; covered {
				by = h
			}
		}
		if !allowed {
			return fmt.Sprintf("the hold %s of %s covers it", by.ID, partition)
		}
	}
	return ""
}
