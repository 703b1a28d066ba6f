package report

import (
	"cmp"
	"slices"
	"strings"
)

// Row is how many versions of one prefix had the same end.
type Row struct {
	Prefix   string   `json:"prefix"` // of the selection; "" for a key outside of all
	State    State    `json:"state"`
	Decision Decision `json:"decision"`
	Reason   string   `json:"reason,omitempty"` // of what was kept
	Fate     Fate     `json:"fate,omitempty"`   // of what was selected
	Code     string   `json:"code,omitempty"`   // of what was refused

	Versions      int64 `json:"versions"` // delete markers included
	DeleteMarkers int64 `json:"delete_markers"`
	Bytes         int64 `json:"bytes"`
}

// Tally counts versions by prefix and by what became of them. Its size does not grow with the run.
type Tally struct {
	prefixes []string
	rows     map[Row]*Row // by the row without its numbers
}

// NewTally counts by the given prefixes; a key under several counts under the longest.
func NewTally(prefixes []string) *Tally { return &Tally{prefixes: prefixes, rows: map[Row]*Row{}} }

// Add counts one version.
func (t *Tally) Add(v Version) {
	name := Row{Prefix: t.prefixOf(v.Key), State: v.State, Decision: v.Decision, Reason: v.Reason, Fate: v.Fate}
	if v.Fate == FateRefused {
		name.Code = v.Code
	}
	row := t.rows[name]
	if row == nil {
		row = &name
		t.rows[name] = row
	}
	row.Versions++
	row.Bytes += v.Size
	if v.DeleteMarker {
		row.DeleteMarkers++
	}
}

func (t *Tally) prefixOf(key string) string {
	longest := ""
	for _, p := range t.prefixes {
		if strings.HasPrefix(key, p) && len(p) > len(longest) {
			longest = p
		}
	}
	return longest
}

// Rows are the counts, by prefix, state and word.
func (t *Tally) Rows() []Row {
	rows := make([]Row, 0, len(t.rows))
	for _, r := range t.rows {
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Prefix, b.Prefix), cmp.Compare(a.State, b.State), cmp.Compare(a.Decision, b.Decision),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Fate, b.Fate), cmp.Compare(a.Code, b.Code))
	})
	return rows
}
