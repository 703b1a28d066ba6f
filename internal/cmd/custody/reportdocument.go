package main

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"custody/internal/inbox"
	"custody/internal/operator"
	"custody/internal/report"
)

// document is a run's report as people read it: the text and the page are made of it.
type document struct {
	operator.Reported
	*operator.Audit
	bucket  string
	now     time.Time
	noTable bool // there was no table to look for the run's item in

	tally *report.Tally
	open  []report.Version // that need somebody: refused, or of unknown fate
	more  int              // of these, beyond openNamed

	objectKey string           // with --key
	history   []report.Version // of that key
}

// openNamed bounds the versions that are named; --json has all.
const openNamed = 50

// count counts all versions and picks those that need somebody.
func (d *document) count(versions iter.Seq2[report.Version, error]) error {
	d.tally = report.NewTally(d.Prefixes)
	for v, err := range versions {
		if err != nil {
			return err
		}
		d.tally.Add(v)
		switch {
		case v.State != report.StateUnknown && v.Fate != report.FateRefused:
		case len(d.open) < openNamed:
			d.open = append(d.open, v)
		default:
			d.more++
		}
	}
	return nil
}

// state is what the run's item says.
func (d document) state() string {
	run := d.Run
	switch {
	case d.Problem != nil:
		return "its item could not be read, so this is the report alone: " + d.Problem.Error()
	case run == nil && d.noTable:
		return "not looked at: --table or CUSTODY_TABLE names the table"
	case run == nil:
		return "its item is not there: items of ended runs expire, and the report stays"
	case run.State == inbox.StateDone || run.State == inbox.StateDismissed || run.State == inbox.StateFailed:
		return fmt.Sprintf("%s since %s", run.State, when(run.EndedAt, d.now))
	}
	return string(run.State) + ": the run has not ended, and there may be more to come"
}

// modes says in words whether the run deleted.
func (d document) modes() string {
	var words []string
	for _, m := range d.Modes {
		word := "delete"
		if m == report.ModeDryRun {
			word = "dry run: nothing was deleted"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", then ")
}

// selection says what the run was allowed to delete.
func (d document) selection() string {
	cutoffs := make([]string, len(d.Cutoffs))
	for i, c := range d.Cutoffs {
		cutoffs[i] = stamp(c)
	}
	return fmt.Sprintf("versions in bucket %s older than %s, under", strings.Join(d.Buckets, ", "), strings.Join(cutoffs, ", "))
}

// written says what the report consists of.
func (d document) written() string {
	return fmt.Sprintf("%s in report bucket %s with %s, written from %s to %s, up to slice %d and scan %d", counted(int64(d.Objects), "object"), d.bucket,
		counted(d.Lines, "line"), stamp(d.First), stamp(d.Last), d.Slices, d.Scans)
}

// incomplete is what the objects that could not be read mean.
func (d document) incomplete() string {
	if d.LeftOut == 0 {
		return ""
	}
	return fmt.Sprintf("%s could not be read: versions may be missing here, or be in another state", counted(int64(d.LeftOut), "report object"))
}

func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// sum says in one line how many versions are where.
func sum(t report.Total) string {
	words, stay := []string{}, "stay"
	if t.Stays == 1 {
		stay = "stays"
	}
	for _, part := range []struct {
		n    int64
		word string
	}{{t.Gone, "gone"}, {t.WouldGo, "would go"}, {t.Stays, stay}, {t.Unknown, "unknown"}} {
		if part.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", part.n, part.word))
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d: %s", t.Gone+t.WouldGo+t.Stays+t.Unknown, strings.Join(words, ", "))
}

// unknownMeans explains the word where it is used.
const unknownMeans = `"unknown" is a version that may be gone or not: it was selected, and no outcome is on record, since a worker died in the ` +
	`middle, a request had no answer, or the run is in the middle now. The next scan of the run lists it again if it is still there.`
