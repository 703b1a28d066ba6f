package main

import (
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"strings"

	"custody/internal/operator"
	"custody/internal/report"
)

//go:embed report.html.tmpl
var pageText string

// page is what the template shows. Keys and everything else that others wrote come as text, which it escapes.
type page struct {
	Run, Key, MadeAt, Version, Incomplete, Sum, UnknownMeans string

	Facts    []fact
	Ends     chart // where the versions are
	Words    []wordRow
	Kept     chart // by reason
	Prefixes []report.Total
	Open     []openRow
	More     int
	History  []pageVersion
}

type fact struct {
	Name  string
	Lines []string
}

type wordRow struct {
	Place, Why, Size, Means string
	Versions, Markers       int64
}

type openRow struct{ Why, Key, Version string }

type pageVersion struct {
	Version, About, Now string
	Lines               []pageLine
}

type pageLine struct{ At, Words, Object string }

// writeHTML writes the page.
func (d document) writeHTML(w io.Writer) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return fmt.Errorf("read the page's template: %w", err)
	}
	p := page{
		Run: d.Key.String(), Key: oneLine(d.objectKey), MadeAt: stamp(d.now), Version: buildVersion(), Incomplete: d.incomplete(),
		UnknownMeans: strings.ToUpper(unknownMeans[:2]) + unknownMeans[2:], Facts: d.facts(),
	}
	if d.objectKey == "" {
		d.fillSummary(&p)
	}
	for _, v := range d.history {
		p.History = append(p.History, pageVersionOf(v))
	}
	return t.Execute(w, p)
}

func (d document) facts() []fact {
	facts := []fact{{"State", []string{oneLine(d.state())}}, {"Scope", []string{strings.Join(d.Scopes, ", ")}}, {"Mode", []string{d.modes()}}}
	if d.Objects > 0 {
		selected := []string{d.selection()}
		for _, p := range d.Prefixes {
			selected = append(selected, oneLine(p))
		}
		facts = append(facts, fact{"Selection", selected}, fact{"Written", []string{d.written()}})
	}
	if run := d.Run; run != nil {
		facts = append(facts, fact{"Asked for by", []string{fmt.Sprintf("delivery %s, received %s", run.DeliveryID, stamp(run.ReceivedAt))}})
	}
	return facts
}

func (d document) fillSummary(p *page) {
	all := d.tally.Sum()
	p.Sum = "Versions, delete markers among them, " + sum(all) + "."
	p.Ends = bars("Versions by where they are now", []bar{
		{Label: "gone", n: all.Gone, Class: "gone"}, {Label: "would go", n: all.WouldGo, Class: "would-go"},
		{Label: "stays", n: all.Stays, Class: "stays"}, {Label: "unknown", n: all.Unknown, Class: "unknown"},
	})
	var kept []bar
	for _, r := range d.tally.ByWord() {
		p.Words = append(p.Words, wordRow{operator.Place(r), oneLine(operator.Why(r)), size(r.Bytes), operator.Means(r), r.Versions, r.DeleteMarkers})
		if r.Decision == report.DecisionKeep {
			kept = append(kept, bar{Label: oneLine(r.Reason), n: r.Versions, Class: "stays"})
		}
	}
	p.Kept = bars("Versions kept, by reason", kept)
	for _, t := range d.tally.ByPrefix() {
		t.Prefix = prefixWords(t.Prefix)
		p.Prefixes = append(p.Prefixes, t)
	}
	for _, v := range d.open {
		p.Open = append(p.Open, openRow{oneLine(operator.Why(rowOf(v))), oneLine(v.Key), oneLine(v.VersionID)})
	}
	p.More = d.more
}

func pageVersionOf(v report.Version) pageVersion {
	row := rowOf(v)
	out := pageVersion{Version: oneLine(v.VersionID), About: describe(v),
		Now: fmt.Sprintf("%s, %s: %s", operator.Place(row), oneLine(operator.Why(row)), operator.Means(row))}
	for _, l := range v.Lines {
		out.Lines = append(out.Lines, pageLine{stamp(l.At), oneLine(lineWords(l)), l.Object})
	}
	return out
}

// chart is horizontal bars, in the units of an SVG.
type chart struct {
	Title         string
	Width, Height int
	Bars          []bar
}

type bar struct {
	Label, Class                               string // the class has the colour, which a dark screen changes
	LabelX, TextY, X, Y, Width, Height, CountX int
	Count                                      int64
	n                                          int64
}

// The measures of a chart: labels to the left of the bars, counts to their right.
const (
	chartWidth = 800
	labelEnd   = 170
	barLongest = 520
	barHeight  = 20
	barStep    = 28
)

// bars lays out those that count something. Each is one unit long at least, so that the least is seen beside the most.
func bars(title string, all []bar) chart {
	c := chart{Title: title, Width: chartWidth}
	most := int64(1)
	for _, b := range all {
		most = max(most, b.n)
	}
	for _, b := range all {
		if b.n == 0 {
			continue
		}
		b.Count, b.LabelX, b.X, b.Y = b.n, labelEnd, labelEnd+10, len(c.Bars)*barStep+4
		b.Width, b.Height = max(1, int(float64(b.n)/float64(most)*barLongest)), barHeight
		b.TextY, b.CountX = b.Y+barHeight-5, b.X+b.Width+8
		c.Bars = append(c.Bars, b)
	}
	c.Height = len(c.Bars)*barStep + 4
	return c
}
