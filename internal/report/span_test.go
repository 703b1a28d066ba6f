package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custody/internal/report"
)

// Objects that do not meet a range are left out of its history, as their reader does.
func TestRangesGiveTheVersionsOfOneHistoryInItsOrder(t *testing.T) {
	t.Parallel()
	e := new(report.Encoder)
	several := 0
	rapid.Check(t, func(rt *rapid.T) {
		objects := drawObjects(rt, e)
		whole := report.NewHistory("cleanup.run", "r-1", nil)
		divider := report.Divider{Every: rapid.IntRange(1, 3).Draw(rt, "every")}
		spans := map[string]report.Span{}
		for _, o := range objects {
			read, err := report.Decode(o.name, o.data)
			if err != nil || whole.Add(o.name, o.data) != nil {
				rt.Fatal(err)
			}
			read.Keys(divider.Add)
			if span, has := read.Span(); has {
				spans[o.name] = span
			}
		}
		ranges := divider.Ranges(rapid.IntRange(1, 10).Draw(rt, "lines"))
		if len(ranges) > 1 {
			several++
		}
		var got []report.Version
		for _, r := range ranges {
			h := report.NewHistory("cleanup.run", "r-1", r.Has)
			for _, o := range objects {
				if span, has := spans[o.name]; has && r.Meets(span) && h.Add(o.name, o.data) != nil {
					rt.Fatal("an object was taken before and is not now")
				}
			}
			got = slices.AppendSeq(got, h.Versions())
		}
		if diff := cmp.Diff(slices.Collect(whole.Versions()), got); diff != "" {
			rt.Errorf("%v (-whole +by ranges):\n%s", ranges, diff)
		}
	})
	if several == 0 {
		t.Error("no history was in several ranges")
	}
}

func TestRangesAreOfTheSizeAskedFor(t *testing.T) {
	t.Parallel()
	d := report.Divider{Every: 2}
	for i := range 40 {
		d.Add(string(rune('a' + i/2)))
	}
	for range 40 {
		d.Add("d") // one key with many versions
	}
	var words []string
	for _, r := range d.Ranges(8) {
		words = append(words, r.From+"-"+r.Before)
	}
	if got, want := strings.Join(words, " "), "-d d-e e-i i-m m-q q-"; got != want {
		t.Errorf("ranges %s, want %s", got, want)
	}
	if diff := cmp.Diff([]report.Range{{}}, (&report.Divider{Every: 1}).Ranges(8)); diff != "" {
		t.Errorf("of nothing (-want +got):\n%s", diff)
	}
}

func TestTheOutlineOfARun(t *testing.T) {
	t.Parallel()
	h := aHeader()
	h.Mode, h.Slice, h.Scan = report.ModeDryRun, 1, 1
	later := selected("pod/wh-17/b")
	later.At = start().Add(time.Hour)
	first := decoded(t)(selection(t, h, later, selected("pod/wh-17/a")))
	released := h
	released.Mode, released.Slice, released.Scan, released.Prefixes = report.ModeDelete, 3, 2, []string{"pod/wh-17/"}
	last := became("pod/wh-17/a", report.FateDeleted)
	last.At = start().Add(time.Hour / 2)
	second := decoded(t)(outcome(t, released, last))
	for name, order := range map[string][]report.Object{"in order": {first, second}, "the other way round": {second, first}} {
		var o report.Outline
		for _, object := range order {
			o.Add(object)
		}
		slices.Sort(o.Prefixes)
		want := report.Outline{
			Scopes: []string{"warehouse:wh-17"}, Modes: []report.Mode{report.ModeDryRun, report.ModeDelete}, Buckets: []string{"objects"},
			Prefixes: []string{"labels/wh-17/", "pod/wh-17/"}, Cutoffs: []time.Time{h.Cutoff},
			Objects: 2, Lines: 3, Slices: 3, Scans: 2, First: start(), Last: start().Add(time.Hour),
		}
		if diff := cmp.Diff(want, o, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "modes" }, cmp.Ignore())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func decoded(t *testing.T) func(string, []byte) report.Object {
	return func(name string, data []byte) report.Object {
		t.Helper()
		o, err := report.Decode(name, data)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
}
