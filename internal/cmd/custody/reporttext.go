package main

import (
	"fmt"
	"strconv"
	"strings"

	"custody/internal/operator"
	"custody/internal/report"
)

// heading writes what is true of the whole run.
func (d document) heading(s sheet) {
	s.put("Run", d.Key.String())
	s.put("State", d.state())
	s.put("Scope", strings.Join(d.Scopes, ", "))
	s.put("Mode", d.modes())
	if d.Objects > 0 {
		s.put("Selection", d.selection(), strings.Join(d.Prefixes, "\n"))
		s.put("Written", d.written())
	}
	s.put("Incomplete", d.incomplete())
}

// writeText is the summary.
func (d document) writeText(s sheet) {
	d.heading(s)
	all := d.tally.Sum()
	s.put("Versions", sum(all))
	if all.Unknown > 0 {
		s.put("", unknownMeans)
	}
	writeWords(s.out, s.width, d.tally.ByWord())
	writePrefixes(s.out, s.width, d.tally.ByPrefix(), all)
	if len(d.open) > 0 {
		fmt.Fprintf(s.out, "\nrefused, or of unknown fate:\n")
	}
	for _, v := range d.open {
		fmt.Fprintf(s.out, "%s: key %s version %s\n", oneLine(operator.Why(rowOf(v))), strconv.Quote(v.Key), oneLine(v.VersionID))
	}
	if d.more > 0 {
		fmt.Fprintf(s.out, "and %d more; --json and --csv name all\n", d.more)
	}
}

// writeKeyText is the history of one key.
func (d document) writeKeyText(s sheet) {
	d.heading(s)
	fmt.Fprintf(s.out, "%-*s%s\n", labelWidth, "Key", strconv.Quote(d.objectKey))
	for _, v := range d.history {
		fmt.Fprintln(s.out)
		row := rowOf(v)
		s.put("Version", describe(v))
		s.put("Now", fmt.Sprintf("%s, %s: %s", operator.Place(row), operator.Why(row), operator.Means(row)))
		for i, l := range v.Lines {
			label := ""
			if i == 0 {
				label = "Lines"
			}
			s.put(label, stamp(l.At)+" "+lineWords(l))
		}
	}
}

// describe is the version as its listing showed it.
func describe(v report.Version) string {
	kind := size(v.Size)
	if v.DeleteMarker {
		kind = "a delete marker"
	}
	modified := ""
	if !v.LastModified.IsZero() {
		modified = ", modified " + stamp(v.LastModified)
	}
	return fmt.Sprintf("%s, %s%s", oneLine(v.VersionID), kind, modified)
}

// lineWords is one line of a report object in words.
func lineWords(l report.Line) string {
	holds := ""
	if !l.HoldsReadAt.IsZero() {
		holds = ", by the holds as of " + stamp(l.HoldsReadAt)
	}
	switch {
	case l.Kind == report.KindOutcome && l.Code != "":
		return fmt.Sprintf("answered: %s %s", l.Fate, l.Code)
	case l.Kind == report.KindOutcome:
		return fmt.Sprintf("answered: %s", l.Fate)
	case l.Decision == report.DecisionKeep:
		return fmt.Sprintf("kept: %s%s", l.Reason, holds)
	}
	return "selected" + holds
}

// rowOf is a version as the counts know it.
func rowOf(v report.Version) report.Row {
	r := report.Row{State: v.State, Decision: v.Decision, Reason: v.Reason, Fate: v.Fate}
	if v.Fate == report.FateRefused {
		r.Code = v.Code
	}
	return r
}

// oneLine is printable without line breaks.
func oneLine(s string) string { return strings.ReplaceAll(printable(s), "\n", `\n`) }
