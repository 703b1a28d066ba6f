package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"custody/internal/inbox"
	"custody/internal/operator"
)

// progress shows how a run goes: as a bar that stays in its line on a terminal, else as a line now and then.
type progress struct {
	out      io.Writer
	terminal bool
	colors   palette
	width    func() int
	pace     operator.Pace
	ticks    int
	last     string    // the last plain line, without its time
	lastAt   time.Time // when it was written
	before   *inbox.Run
}

// plainEvery is how often a log gets a line while nothing but numbers change.
const plainEvery = 5 * time.Second

func newProgress(out io.Writer, expected int64) *progress {
	return &progress{
		out: out, terminal: onTerminal(out), colors: paletteOf(out), width: func() int { return widthOf(out) },
		pace: operator.Pace{Expected: expected},
	}
}

// show takes a reading of the run.
func (p *progress) show(run inbox.Run, now time.Time) {
	r := p.pace.See(run, now)
	for _, news := range newsOf(p.before, run, now) {
		p.clear()
		p.line(news, now)
	}
	p.before = &run
	if p.terminal {
		p.draw(run, r)
		return
	}
	line := strings.Join(words(run, r), ", ")
	if line != p.last && now.Sub(p.lastAt) >= plainEvery {
		p.last, p.lastAt = line, now
		p.line(line, now)
	}
}

// line writes one line, or on a terminal as many as it takes.
func (p *progress) line(words string, now time.Time) {
	at := stamp(now)
	if !p.terminal {
		fmt.Fprintln(p.out, at, printable(words))
		return
	}
	for i, part := range wrap(printable(words), p.width()-len(at)-1) {
		if i > 0 {
			at = strings.Repeat(" ", len(at))
		}
		fmt.Fprintln(p.out, at, p.colors.state(part))
	}
}

// clear takes the bar away; what is written next stands in its place.
func (p *progress) clear() {
	if p.terminal {
		fmt.Fprint(p.out, "\r"+clearRight)
	}
}

// Of the line, a bar takes its share, two signs at its ends, the percentage and spaces.
const (
	shortestBar = 8
	longestBar  = 30
	aroundBar   = 10
)

// draw writes one line that never reaches the terminal's edge, where it would wrap and be left behind.
func (p *progress) draw(run inbox.Run, r operator.Reading) {
	p.ticks++
	room := p.width() - 1
	parts := briefly(run, r)
	bar := 0
	if r.Total > 0 {
		bar = shortestBar
		room -= aroundBar
	} else {
		room -= 3 // a sign that turns, and spaces
	}
	text := fitted(parts, room-bar)
	if bar > 0 {
		bar = min(max(room-utf8.RuneCountInString(text), shortestBar), longestBar)
	}
	fmt.Fprint(p.out, "\r"+p.rendered(r, text, bar)+clearRight)
}

// rendered is the library's drawing of this one reading. A bar that lived on would reckon its own rate from when it was made.
func (p *progress) rendered(r operator.Reading, text string, width int) string {
	total := r.Total
	if total == 0 {
		total, width = -1, shortestBar // the library's word for unknown: a sign that turns, and no bar
	}
	signs := []string{"|", "/", "-", `\`}
	theme := progressbar.Theme{Saucer: "#", SaucerPadding: "-", BarStart: "[", BarEnd: "]"}
	bar := progressbar.NewOptions64(total, progressbar.OptionSetWriter(io.Discard), progressbar.OptionSetWidth(width),
		progressbar.OptionSetTheme(theme), progressbar.OptionShowDescriptionAtLineEnd(), progressbar.OptionSetDescription(text),
		progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSpinnerCustom(signs[p.ticks%len(signs):]), progressbar.OptionSetSpinnerChangeInterval(0))
	_ = bar.RenderBlank() // or nothing done would be nothing drawn; io.Discard takes everything
	_ = bar.Set64(r.Done)
	drawn := strings.TrimSpace(strings.Trim(bar.String(), "\r"))
	if at := strings.Index(drawn, "["); total > 0 && at >= 0 {
		if end := at + width + 2; end <= len(drawn) {
			return drawn[:at] + p.colors.paint(green, drawn[at:end]) + " " + strings.TrimSpace(drawn[end:])
		}
	}
	return drawn
}

// fitted joins as many parts as there is room for. The first always stays.
func fitted(parts []string, room int) string {
	text := parts[0]
	for _, part := range parts[1:] {
		if longer := text + ", " + part; utf8.RuneCountInString(longer) <= room {
			text = longer
		}
	}
	return text
}

// words say how it stands, what matters most first, in full for a log.
func words(run inbox.Run, r operator.Reading) []string {
	if atRest(run) { // what a last scan was going to meet no longer matters
		return append([]string{string(run.State), goneWords(run)}, where(run)...)
	}
	all := []string{string(run.State), amount(run, r, func(n int64) string { return strconv.FormatInt(n, 10) })}
	if r.Total > 0 {
		all[1] += fmt.Sprintf(" (%d %%)", 100*r.Done/r.Total)
	}
	return slices.Concat(all, pace(r), where(run))
}

// briefly is the same beside a bar, which shows the percentage itself and leaves little room in a terminal of 60 columns.
func briefly(run inbox.Run, r operator.Reading) []string {
	var all []string
	if run.State != inbox.StateRunning { // else the amount grows, and says so
		all = append(all, string(run.State))
	}
	all = append(all, amount(run, r, short))
	left := "time left unknown"
	if r.LeftKnown {
		left = "~" + age(r.Left) + " left"
	}
	if r.Rate >= 0 {
		all = append(all, speed(r.Rate))
	}
	return append(append(all, left), where(run)...)
}

// amount is what is done. Of a total that nobody counted exactly it says so.
func amount(run inbox.Run, r operator.Reading, number func(int64) string) string {
	switch {
	case r.What == operator.CountedListed && r.Total > 0:
		return fmt.Sprintf("%s of ~%s %s", number(r.Done), number(r.Total), r.What)
	case r.Total > 0:
		return fmt.Sprintf("%s of %s %s", number(r.Done), number(r.Total), r.What)
	case r.What == operator.CountedDeleted: // of all scans, as everywhere
		return fmt.Sprintf("%s %s", number(run.Counters.Deleted), r.What)
	}
	return fmt.Sprintf("%s %s", number(r.Done), r.What)
}

// short is a number in at most five signs, up to a trillion.
func short(n int64) string {
	switch {
	case n < 100_000:
		return strconv.FormatInt(n, 10)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1fG", float64(n)/1e9)
}

// pace is the rate and the time that is left, each where it is known.
func pace(r operator.Reading) []string {
	switch {
	case r.Rate < 0:
		return []string{"rate and time left unknown"}
	case r.LeftKnown:
		return []string{speed(r.Rate), "about " + age(r.Left) + " left"}
	}
	return []string{speed(r.Rate), "time left unknown"}
}

func speed(rate float64) string {
	if rate > 0 && rate < 10 {
		return fmt.Sprintf("%.1f/s", rate)
	}
	return fmt.Sprintf("%.0f/s", rate)
}

// where is the scan, and the prefix where there are several.
func where(run inbox.Run) []string {
	all := []string{fmt.Sprintf("scan %d", run.Place.Scan)}
	if n := len(run.Selection.Prefixes); n > 1 && run.Place.Prefix < n {
		all = append(all, fmt.Sprintf("prefix %d of %d", run.Place.Prefix+1, n))
	}
	return all
}

// newsOf is what happened between two readings, apart from numbers.
func newsOf(before *inbox.Run, run inbox.Run, now time.Time) []string {
	if before == nil {
		return []string{fmt.Sprintf("%s, %s", run.State, operator.Next(run, now).Words)}
	}
	var news []string
	if run.LastError != nil && (before.LastError == nil || !run.LastError.At.Equal(before.LastError.At)) {
		words := fmt.Sprintf("%s, %s: %s", run.State, run.LastError.Category, run.LastError.Message)
		if run.NextAttemptAt.After(now) {
			words += fmt.Sprintf("; next attempt in %s", age(run.NextAttemptAt.Sub(now)))
		}
		news = append(news, words)
	}
	if run.Operation != nil && (before.Operation == nil || !run.Operation.At.Equal(before.Operation.At)) {
		news = append(news, fmt.Sprintf("%s, %s by %s", run.State, run.Operation.Move, run.Operation.By))
	}
	if run.Place.Scan > before.Place.Scan && run.State != inbox.StateDone {
		news = append(news, fmt.Sprintf("%s, scan %d has ended, %d deleted so far; scan %d looks for what is left",
			run.State, run.Place.Scan-1, run.Counters.Deleted, run.Place.Scan))
	}
	return news
}
