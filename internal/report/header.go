package report

import (
	"fmt"
	"time"
)

// Format is the number of the format that this package writes and reads. New fields do not change it; a field with another
// meaning does.
const Format = 1

// Mode is whether the run deletes.
type Mode string

// The modes of a run; the words are those of its item.
const (
	ModeDelete Mode = "delete"
	ModeDryRun Mode = "dry_run"
)

// Header is the first line of an object: all that its lines have in common. It repeats the name, so that an object that was
// copied elsewhere still says what it is, and one that was renamed is noticed.
type Header struct {
	Format int `json:"format"` // set by the encoder
	Name
	Scope    string    `json:"scope"`
	Mode     Mode      `json:"mode"`
	Bucket   string    `json:"bucket"`
	Prefixes []string  `json:"prefixes"` // of the whole selection
	Cutoff   time.Time `json:"cutoff"`
	// HoldsReadAt is when the holds were read that the decisions rest on; zero where all were made without (a young version is
	// kept whatever the holds say).
	HoldsReadAt time.Time `json:"holds_read_at,omitzero"`
}

// check names the first field that cannot be right.
func (h Header) check() error {
	switch {
	case h.Format != Format:
		return fmt.Errorf("format %d must be %d: the object is of another version of Custody", h.Format, Format)
	case h.Scope == "":
		return fmt.Errorf("scope must not be empty")
	case h.Mode != ModeDelete && h.Mode != ModeDryRun:
		return fmt.Errorf("mode %q must be %s or %s", h.Mode, ModeDelete, ModeDryRun)
	case h.Mode == ModeDryRun && h.Kind == KindOutcome:
		return fmt.Errorf("mode %s sends nothing, so it has no %s", h.Mode, h.Kind)
	case h.Bucket == "":
		return fmt.Errorf("bucket must not be empty")
	case len(h.Prefixes) == 0:
		return fmt.Errorf("prefixes must name at least one")
	case h.Cutoff.IsZero():
		return fmt.Errorf("cutoff must be a time")
	}
	return nil
}

// utc is the header as it is written.
func (h Header) utc() Header {
	h.Cutoff, h.HoldsReadAt = h.Cutoff.UTC(), h.HoldsReadAt.UTC()
	return h
}
