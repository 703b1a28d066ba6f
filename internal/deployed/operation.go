package deployed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// LineOperation is the message of the lines, which queries filter by.
const LineOperation = "operation"

// What operators do.
const (
	ActionRetry      = inbox.MoveRetry
	ActionRelease    = inbox.MoveRelease
	ActionDismiss    = inbox.MoveDismiss
	ActionStop       = "stop"
	ActionResume     = "resume"
	ActionHoldAdd    = "hold_add"
	ActionHoldRemove = "hold_remove"
)

// How it ended.
const (
	OperationDone       = "done"
	OperationRefused    = "refused"    // nothing was written
	OperationUnanswered = "unanswered" // it may have been written or not
)

// Operation is one thing that somebody did, or tried to do, as the operator log keeps it. The names and levels are those of the
// functions' lines (package telemetry).
type Operation struct {
	Time    time.Time `json:"time"`
	Level   string    `json:"level"`
	Msg     string    `json:"msg"`
	Action  string    `json:"action"`
	Run     string    `json:"run,omitempty"`
	Scope   string    `json:"scope,omitempty"`
	HoldID  string    `json:"hold_id,omitempty"`
	By      string    `json:"by"`
	Reason  string    `json:"reason,omitempty"`
	Outcome string    `json:"outcome"`
	// Already says that it was so before, and that nothing was written.
	Already bool `json:"already,omitempty"`
	// State is what the run is since, or what it was found to be where it was refused.
	State   string   `json:"state,omitempty"`
	Problem string   `json:"problem,omitempty"`
	Hold    *HoldRow `json:"hold,omitempty"`
	Version string   `json:"version"` // the tool's
}

// HoldRow is a row of the holds table, by the table's names. Of a row that was removed there is no other record.
type HoldRow struct {
	Scope     string           `json:"scope"`
	ID        string           `json:"hold_id"`
	Key       string           `json:"key,omitempty"`
	Prefix    string           `json:"prefix,omitempty"`
	Reason    retention.Reason `json:"reason"`
	Note      string           `json:"note,omitempty"`
	By        string           `json:"by,omitempty"`
	CreatedAt time.Time        `json:"created_at,omitzero"`
	ExpiresAt time.Time        `json:"expires_at,omitzero"`
	Problem   string           `json:"problem,omitempty"` // why the functions could not understand it
}

// HoldRowOf is the row as it stood.
func HoldRowOf(row retention.Row) *HoldRow {
	return &HoldRow{
		Scope: row.Scope, ID: row.ID, Key: row.Key, Prefix: row.Prefix, Reason: row.Reason, Note: row.Note, By: row.By,
		CreatedAt: inUTC(row.CreatedAt), ExpiresAt: inUTC(row.ExpiresAt), Problem: row.Problem,
	}
}

// inUTC keeps the zero time, which means that there is none.
func inUTC(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}

// maxProblem is package telemetry's bound on such a text.
const maxProblem = 1000

// Line is the operation as one line of JSON. Whatever a terminal would not print stands in it as an escape: holds are also
// written by other systems, and the log is read on terminals.
func (o Operation) Line() string {
	o.Msg, o.Level, o.Time = LineOperation, o.level(), o.Time.UTC().Truncate(time.Millisecond) // as the event's
	if len(o.Problem) > maxProblem {
		o.Problem = strings.ToValidUTF8(o.Problem[:maxProblem], "") + "…"
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(o) // texts and times of these years always encode
	return escaped(strings.TrimSuffix(b.String(), "\n"))
}

// level is ERROR where somebody has to look, as in the functions' lines.
func (o Operation) level() string {
	if o.Outcome == OperationUnanswered {
		return "ERROR"
	}
	return "INFO"
}

// escaped replaces what is not printable; outside of its strings, JSON has nothing that is not.
func escaped(line string) string {
	var b strings.Builder
	for _, r := range line {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
