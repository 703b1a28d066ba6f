package main

import (
	"fmt"
	"io"

	"custody/internal/operator"
	"custody/internal/report"
)

// writeWords writes the counts by what became of the versions and why.
func writeWords(w io.Writer, width int, rows []report.Row) {
	if len(rows) == 0 {
		return
	}
	lines := [][]string{{"STATE", "WHY", "VERSIONS", "MARKERS", "BYTES", "MEANS"}}
	for _, r := range rows {
		lines = append(lines, []string{operator.Place(r), printable(operator.Why(r)), fmt.Sprint(r.Versions), fmt.Sprint(r.DeleteMarkers),
			size(r.Bytes), operator.Means(r)})
	}
	fmt.Fprintln(w)
	grid(w, width, fit(width, lines, "MARKERS", "BYTES"))
}

// writePrefixes writes the counts by prefix. What no prefix has is left out.
func writePrefixes(w io.Writer, width int, totals []report.Total, all report.Total) {
	lines := [][]string{{}}
	columns := []struct {
		heading string
		of      func(report.Total) int64
	}{
		{"GONE", func(t report.Total) int64 { return t.Gone }},
		{"WOULD GO", func(t report.Total) int64 { return t.WouldGo }},
		{"STAYS", func(t report.Total) int64 { return t.Stays }},
		{"UNKNOWN", func(t report.Total) int64 { return t.Unknown }},
	}
	for range totals {
		lines = append(lines, []string{})
	}
	for _, c := range columns {
		if c.of(all) == 0 && c.heading != "STAYS" {
			continue
		}
		lines[0] = append(lines[0], c.heading)
		for i, t := range totals {
			lines[i+1] = append(lines[i+1], fmt.Sprint(c.of(t)))
		}
	}
	lines[0] = append(lines[0], "PREFIX")
	for i, t := range totals {
		lines[i+1] = append(lines[i+1], prefixWords(t.Prefix))
	}
	fmt.Fprintln(w)
	grid(w, width, lines)
}

func prefixWords(prefix string) string {
	if prefix == "" {
		return "(below none of them)"
	}
	return oneLine(prefix)
}

// size is a number of bytes as people say it, in powers of 1,024.
func size(bytes int64) string {
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, units := float64(bytes)/1024, []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for value >= 1024 && len(units) > 1 {
		value, units = value/1024, units[1:]
	}
	return fmt.Sprintf("%.1f %s", value, units[0])
}
