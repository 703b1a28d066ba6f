package report

import (
	"encoding/json"
	"slices"
	"time"
)

// Version is what the report says of one version.
type Version struct {
	Key          string    `json:"-"` // exact bytes; in JSON as in the lines
	VersionID    string    `json:"version_id"`
	LastModified time.Time `json:"last_modified,omitzero"`
	Size         int64     `json:"size"` // bytes
	DeleteMarker bool      `json:"delete_marker"`

	// Decision, Reason, Fate and Code are those of the last line. Where that is an outcome, the version was selected; where it
	// is a selection of a run that deletes, Fate is FateUnknown.
	Decision Decision  `json:"decision"`
	Reason   string    `json:"reason,omitempty"`
	Fate     Fate      `json:"fate,omitempty"`
	Code     string    `json:"code,omitempty"`
	State    State     `json:"state"` // what follows for the version
	When     time.Time `json:"when"`  // of the last line
	// GoneAt is when S3 first said that the version was gone. A later line can only mean that another worker had not heard of
	// it, or that a null version was written anew.
	GoneAt time.Time `json:"gone_at,omitzero"`
	// First is the first selection line, the evidence of why the version was touched at all; zero where its object is lost.
	First   Line     `json:"first,omitzero"`
	Objects []string `json:"objects"` // that have a line about it, in the order of the lines
	Lines   []Line   `json:"-"`       // all of them, the last one last
}

// State is where a version is after all, as far as the report can say.
type State string

const (
	// StateGone is confirmed by S3.
	StateGone State = "gone"
	// StateStays was kept, locked, refused, or only looked at by a dry run.
	StateStays State = "stays"
	// StateUnknown may be gone or not: a request had no answer, or none about this version. The next scan of the run lists it
	// again if it is still there.
	StateUnknown State = "unknown"
)

// Line is one line about a version, with the name of its object.
type Line struct {
	At          time.Time `json:"at"`
	Object      string    `json:"object"`
	Kind        Kind      `json:"kind"`
	Decision    Decision  `json:"decision"`
	Reason      string    `json:"reason,omitempty"`
	Fate        Fate      `json:"fate,omitempty"`
	Code        string    `json:"code,omitempty"`
	HoldsReadAt time.Time `json:"holds_read_at,omitzero"`
}

type plainVersion Version

// MarshalJSON writes the key as the lines of the objects do.
func (v Version) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		keyFields
		plainVersion
	}{fieldsOf(v.Key), plainVersion(v)})
}

// conclude makes the result from the lines in their order.
func (h *History) conclude(name version, events []event) Version {
	v := Version{Key: name.key, VersionID: name.id, Lines: make([]Line, 0, len(events))}
	for _, e := range events {
		l := h.lineOf(e)
		v.Lines = append(v.Lines, l)
		if !slices.Contains(v.Objects, l.Object) {
			v.Objects = append(v.Objects, l.Object)
		}
		if l.Kind == KindSelection {
			v.LastModified, v.Size, v.DeleteMarker = timeOf(e.modified), e.size, e.marker
			if v.First == (Line{}) {
				v.First = l
			}
		}
		if v.GoneAt.IsZero() && (l.Fate == FateDeleted || l.Fate == FateAbsent) {
			v.GoneAt = l.At
		}
	}
	last := v.Lines[len(v.Lines)-1]
	v.Decision, v.Reason, v.Fate, v.Code, v.When = last.Decision, last.Reason, last.Fate, last.Code, last.At
	if last.Kind == KindSelection && last.Decision == DecisionDelete {
		v.Fate = FateUnknown
		if h.objects[events[len(events)-1].object].Mode == ModeDryRun {
			v.Fate = FateDryRun
		}
	}
	v.State = h.stateOf(v, events)
	return v
}

func (h *History) lineOf(e event) Line {
	from := h.objects[e.object]
	l := Line{At: timeOf(e.at), Object: from.object, Kind: from.Kind, HoldsReadAt: from.HoldsReadAt, Decision: DecisionDelete}
	switch {
	case e.fate != "":
		l.Fate, l.Code = e.fate, e.word
	case !e.delete:
		l.Decision, l.Reason = DecisionKeep, e.word
	}
	return l
}

func (h *History) stateOf(v Version, events []event) State {
	switch v.Fate {
	case FateDeleted, FateAbsent:
		return StateGone
	case FateUnknown, FateUnanswered, FateTransient:
		return StateUnknown
	case FateRefused:
		if v.Code == CodeNotMentioned {
			return StateUnknown
		}
	case FateLocked, FateDryRun:
	case "":
		if h.inDoubt(events) {
			return StateUnknown
		}
	}
	return StateStays
}

// inDoubt reports whether a version that was kept in the end may be gone all the same: the same scan of the same worker had
// selected it, from the same listing, for a request of which nothing is known. A later scan that meets the version has listed
// it again, and then it was there.
func (h *History) inDoubt(events []event) bool {
	listing := h.listingOf(events[len(events)-1])
	open := map[int]bool{} // tries that sent it, or may have
	for _, e := range events {
		from := h.objects[e.object]
		switch {
		case h.listingOf(e) != listing || from.Mode != ModeDelete || !e.delete:
		case e.fate == "" || e.fate == FateUnanswered:
			open[from.try] = true
		case e.fate == FateLocked: // its lock was read afterwards
			clear(open)
		default:
			delete(open, from.try)
		}
	}
	return len(open) > 0
}

// listingOf is the name of a line's object without what tells the batches of one scan apart.
func (h *History) listingOf(e event) Name {
	n := h.objects[e.object].Name
	n.Kind, n.Batch, n.Try = "", 0, 0
	return n
}
