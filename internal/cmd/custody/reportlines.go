package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"custody/internal/report"
)

// keyObject is how a key stands in JSON: as text where it is valid UTF-8, else as the base64 of its bytes.
type keyObject struct {
	Key       string `json:"key,omitempty"`
	KeyBase64 []byte `json:"key_base64,omitempty"`
}

func keyObjectOf(key string) keyObject {
	if utf8.ValidString(key) {
		return keyObject{Key: key}
	}
	return keyObject{KeyBase64: []byte(key)}
}

// versionObject is a version as its listing showed it. The names are kept: scripts stand on them.
type versionObject struct {
	keyObject
	VersionID    string    `json:"version_id"`
	LastModified time.Time `json:"last_modified,omitzero"`
	Size         int64     `json:"size"`
	DeleteMarker bool      `json:"delete_marker"`
}

// reportObject is the last word about a version as JSON.
type reportObject struct {
	versionObject
	State    report.State    `json:"state"`
	Decision report.Decision `json:"decision"`
	Reason   string          `json:"reason,omitempty"`
	Fate     report.Fate     `json:"fate,omitempty"`
	Code     string          `json:"code,omitempty"`
	When     time.Time       `json:"when"`
	GoneAt   time.Time       `json:"gone_at,omitzero"`
	Objects  []string        `json:"objects"`
}

// historyObject is one line about a version as JSON.
type historyObject struct {
	keyObject
	VersionID   string          `json:"version_id"`
	At          time.Time       `json:"at"`
	Kind        report.Kind     `json:"kind"`
	Decision    report.Decision `json:"decision"`
	Reason      string          `json:"reason,omitempty"`
	Fate        report.Fate     `json:"fate,omitempty"`
	Code        string          `json:"code,omitempty"`
	HoldsReadAt time.Time       `json:"holds_read_at,omitzero"`
	Object      string          `json:"object"`
	State       report.State    `json:"state,omitempty"` // of the last line about a version: what follows
}

func writeVersionsJSON(w io.Writer, versions iter.Seq2[report.Version, error]) error {
	for v, err := range versions {
		if err != nil {
			return err
		}
		err := safeJSONLine(w, reportObject{
			versionObject: versionObject{keyObjectOf(v.Key), v.VersionID, v.LastModified, v.Size, v.DeleteMarker},
			State:         v.State, Decision: v.Decision, Reason: v.Reason, Fate: v.Fate, Code: v.Code, When: v.When, GoneAt: v.GoneAt, Objects: v.Objects,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func writeHistoryJSON(w io.Writer, versions []report.Version) error {
	for _, v := range versions {
		for i, l := range v.Lines {
			o := historyObject{keyObjectOf(v.Key), v.VersionID, l.At, l.Kind, l.Decision, l.Reason, l.Fate, l.Code, l.HoldsReadAt, l.Object, ""}
			if i == len(v.Lines)-1 {
				o.State = v.State
			}
			if err := safeJSONLine(w, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// safeJSONLine writes one object as one line whose strings steer no terminal: JSON may escape any character, and encoding/json
// leaves DEL, the second set of control characters and what turns the writing direction as they are.
func safeJSONLine(w io.Writer, v any) error {
	var line bytes.Buffer
	if err := jsonLine(&line, v); err != nil {
		return err
	}
	text := line.Bytes()
	if bytes.ContainsFunc(text, unseen) {
		text = []byte(escapeUnseen(string(text)))
	}
	_, err := w.Write(text)
	return err
}

// unseen characters stand in a JSON text only within strings, the line break at its end apart.
func unseen(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }

func escapeUnseen(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case !unseen(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// csvHead writes the names of the columns.
func csvHead(w io.Writer, columns []string) error {
	_, err := io.WriteString(w, strings.Join(columns, ",")+"\n")
	return err
}

// csvLine writes one line: the key, its exact bytes, and the other cells. All are quoted, since a spreadsheet may split at other
// characters than commas, and none is a formula. The base64 stays as it is: its alphabet has nothing that calls anything.
func csvLine(w io.Writer, key string, cells ...string) error {
	shown, exact := keyCells(key)
	line := `"` + strings.ReplaceAll(shown, `"`, `""`) + `","` + exact + `"`
	for _, c := range cells {
		line += `,"` + strings.ReplaceAll(harmless(c), `"`, `""`) + `"`
	}
	_, err := io.WriteString(w, line+"\n")
	return err
}

// harmless is text that a spreadsheet takes for text: the apostrophe is its own mark for that. Control characters are escaped.
func harmless(cell string) string {
	shown := oneLine(cell)
	if isFormula(shown) {
		return "'" + shown
	}
	return shown
}

// isFormula knows what spreadsheets take for the start of one, behind spaces, and in full width.
func isFormula(cell string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(cell, unicode.IsSpace))
	return strings.ContainsRune("=+-@\uff1d\uff0b\uff0d\uff20", first)
}

// keyCells are the key to read, and the base64 of its bytes where what is to be read is not exactly the key.
func keyCells(key string) (shown, exact string) {
	if shown = harmless(key); shown == key && utf8.ValidString(key) {
		return key, ""
	}
	return shown, base64.StdEncoding.EncodeToString([]byte(key))
}

// The columns of the tables. The names are kept, and further ones come behind them.
func versionColumns() []string {
	return []string{"key", "key_base64", "version_id", "last_modified", "size", "delete_marker", "state", "decision", "reason", "fate", "code",
		"when", "gone_at"}
}

func historyColumns() []string {
	return []string{"key", "key_base64", "version_id", "at", "kind", "decision", "reason", "fate", "code", "holds_read_at", "object", "state"}
}

func writeVersionsCSV(w io.Writer, versions iter.Seq2[report.Version, error]) error {
	if err := csvHead(w, versionColumns()); err != nil {
		return err
	}
	for v, err := range versions {
		if err != nil {
			return err
		}
		if err := csvLine(w, v.Key, v.VersionID, timeCell(v.LastModified), strconv.FormatInt(v.Size, 10), strconv.FormatBool(v.DeleteMarker),
			string(v.State), string(v.Decision), v.Reason, string(v.Fate), v.Code, timeCell(v.When), timeCell(v.GoneAt)); err != nil {
			return err
		}
	}
	return nil
}

func writeHistoryCSV(w io.Writer, versions []report.Version) error {
	if err := csvHead(w, historyColumns()); err != nil {
		return err
	}
	for _, v := range versions {
		for i, l := range v.Lines {
			state := ""
			if i == len(v.Lines)-1 {
				state = string(v.State)
			}
			if err := csvLine(w, v.Key, v.VersionID, timeCell(l.At), string(l.Kind), string(l.Decision), l.Reason, string(l.Fate), l.Code,
				timeCell(l.HoldsReadAt), l.Object, state); err != nil {
				return err
			}
		}
	}
	return nil
}

// timeCell is to the microsecond, as the lines have it; empty for no time.
func timeCell(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
