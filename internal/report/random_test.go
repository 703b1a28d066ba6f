package report_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custody/internal/report"
)

// told is a line as the model knows it.
type told struct {
	key, id   string
	slice     int
	token     string
	scan      int
	batch     int
	try       int
	isOutcome bool
	at        int // seconds
	pos       int // in its object
	dry       bool
	keep      string // reason
	fate      report.Fate
	size      int64
}

// later is the order of the model, written out: by time, where an outcome is never before its own selection, then by name.
func later(a, b told, all []told) bool {
	ta, tb := when(a, all), when(b, all)
	if ta != tb {
		return ta > tb
	}
	na, nb := a.place(), b.place()
	if na != nb {
		return na > nb
	}
	if a.isOutcome != b.isOutcome {
		return a.isOutcome
	}
	return a.pos > b.pos
}

func when(a told, all []told) int {
	at := a.at
	for _, s := range all {
		if a.isOutcome && !s.isOutcome && s.key == a.key && s.id == a.id && s.place() == a.place() {
			at = max(at, s.at)
		}
	}
	return at
}

func (l told) place() string {
	return fmt.Sprintf("%03d %s %03d %03d %03d", l.slice, l.token, l.scan, l.batch, l.try)
}

// summary is what the model and the package must agree on.
type summary struct {
	Decision report.Decision
	Reason   string
	Fate     report.Fate
	When     int
	Lines    int
	First    int
	Gone     bool
	Size     int64
}

func modelOf(all []told) map[[2]string]summary {
	result := map[[2]string]summary{}
	for _, l := range all {
		name := [2]string{l.key, l.id}
		if _, done := result[name]; done {
			continue
		}
		var mine []told
		for _, other := range all {
			if other.key == l.key && other.id == l.id {
				mine = append(mine, other)
			}
		}
		last, s := mine[0], summary{Lines: len(mine), First: -1}
		var first, facts *told
		for _, m := range mine {
			if later(m, last, all) {
				last = m
			}
			if !m.isOutcome && (first == nil || later(*first, m, all)) {
				first = &m
			}
			if !m.isOutcome && (facts == nil || later(m, *facts, all)) {
				facts = &m
			}
			s.Gone = s.Gone || m.fate == report.FateDeleted || m.fate == report.FateAbsent
		}
		if first != nil {
			s.First, s.Size = when(*first, all), facts.size
		}
		s.When, s.Decision = when(last, all), report.DecisionDelete
		switch {
		case last.isOutcome:
			s.Fate = last.fate
		case last.keep != "":
			s.Decision, s.Reason = report.DecisionKeep, last.keep
		case last.dry:
			s.Fate = report.FateDryRun
		default:
			s.Fate = report.FateUnknown
		}
		result[name] = s
	}
	return result
}

// anObject is one object as it would be stored, with its lines for the model.
type anObject struct {
	name string
	data []byte
	told []told
}

func drawObjects(rt *rapid.T, e *report.Encoder) []anObject {
	names := map[string]bool{}
	var objects []anObject
	for range rapid.IntRange(1, 10).Draw(rt, "objects") {
		l := told{
			slice: rapid.IntRange(1, 3).Draw(rt, "slice"), token: rapid.SampledFrom([]string{"T", "U", "T-1"}).Draw(rt, "token"),
			scan: rapid.IntRange(1, 2).Draw(rt, "scan"), batch: rapid.IntRange(9, 11).Draw(rt, "batch"), try: rapid.IntRange(1, 2).Draw(rt, "try"),
			dry: rapid.IntRange(0, 4).Draw(rt, "dry") == 0,
		}
		l.isOutcome = !l.dry && rapid.Bool().Draw(rt, "outcome")
		if o := drawObject(rt, e, l); !names[o.name] {
			names[o.name] = true
			objects = append(objects, o)
		}
	}
	return objects
}

func drawObject(rt *rapid.T, e *report.Encoder, l told) (o anObject) {
	h := aHeader()
	h.Slice, h.LeaseToken, h.Scan, h.Batch, h.Try = l.slice, l.token, l.scan, l.batch, l.try
	if l.dry {
		h.Mode = report.ModeDryRun
	}
	var lines []report.Selection
	var outcomes []report.Outcome
	for l.pos = range rapid.IntRange(0, 6).Draw(rt, "lines") {
		l.key = rapid.SampledFrom([]string{"pod/a", "pod/b\xff", "labels/c\n"}).Draw(rt, "key")
		l.id = rapid.SampledFrom([]string{"v1", "null"}).Draw(rt, "id")
		l.at = rapid.IntRange(-1, 4).Draw(rt, "at")
		at := start().Add(time.Duration(l.at) * time.Second)
		l.keep, l.fate, l.size = "", "", 0
		if l.isOutcome {
			l.fate = rapid.SampledFrom([]report.Fate{report.FateDeleted, report.FateAbsent, report.FateLocked, report.FateRefused,
				report.FateTransient, report.FateUnanswered}).Draw(rt, "fate")
			outcomes = append(outcomes, report.Outcome{Key: l.key, VersionID: l.id, Fate: l.fate, At: at})
		} else {
			s := report.Selection{Key: l.key, VersionID: l.id, Size: rapid.Int64Range(0, 9).Draw(rt, "size"), Decision: report.DecisionDelete, At: at}
			l.size = s.Size
			if l.keep = rapid.SampledFrom([]string{"", "tag", "legal_hold"}).Draw(rt, "keep"); l.keep != "" {
				s.Decision, s.Reason = report.DecisionKeep, l.keep
			}
			lines = append(lines, s)
		}
		o.told = append(o.told, l)
	}
	var err error
	if l.isOutcome {
		o.name, o.data, err = e.Outcome(h, slices.Values(outcomes))
	} else {
		o.name, o.data, err = e.Selection(h, slices.Values(lines))
	}
	if err != nil {
		rt.Fatal(err)
	}
	return o
}

func TestRandomObjectsInRandomOrderReadBackAsTheModelSays(t *testing.T) {
	t.Parallel()
	e := new(report.Encoder)
	rapid.Check(t, func(rt *rapid.T) {
		objects := drawObjects(rt, e)
		var all []told
		for _, o := range objects {
			all = append(all, o.told...)
		}
		given := rapid.Permutation(append(objects, objects[0])).Draw(rt, "order") // one of them twice
		parts := rapid.IntRange(1, 3).Draw(rt, "parts")
		got := map[[2]string]summary{}
		var order [][2]string
		for part := range parts {
			h := report.NewHistory("cleanup.run", "r-1", report.Part(part, parts))
			for _, o := range given {
				torn := o.data[:rapid.IntRange(0, len(o.data)-1).Draw(rt, "cut")]
				if err := h.Add(o.name, torn); err == nil && !slices.Contains(loaded(h), o.name) {
					rt.Fatalf("a part of %s was taken for it", o.name)
				}
				if err := h.Add(o.name, o.data); err != nil {
					rt.Fatal(err)
				}
			}
			for v := range h.Versions() {
				name := [2]string{v.Key, v.VersionID}
				if _, twice := got[name]; twice {
					rt.Errorf("%q is in two parts", name)
				}
				got[name] = summaryOf(v)
				order = append(order, name)
			}
		}
		if diff := cmp.Diff(modelOf(all), got); diff != "" {
			rt.Errorf("versions (-model +got):\n%s", diff)
		}
		if parts == 1 && !slices.IsSortedFunc(order, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
			rt.Errorf("versions are not in order: %q", order)
		}
	})
}

func loaded(h *report.History) (names []string) {
	for _, header := range h.Headers() {
		name, _ := header.Object()
		names = append(names, name)
	}
	return names
}

func summaryOf(v report.Version) summary {
	s := summary{
		Decision: v.Decision, Reason: v.Reason, Fate: v.Fate, When: int(v.When.Sub(start()) / time.Second), Lines: len(v.Lines), First: -1,
		Gone: !v.GoneAt.IsZero(), Size: v.Size,
	}
	if v.First != (report.Line{}) {
		s.First = int(v.First.At.Sub(start()) / time.Second)
	}
	return s
}
