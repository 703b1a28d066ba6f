package main_test

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/report"
)

func TestReportOfARun(t *testing.T) {
	t.Parallel()
	x := newBuckets(t, nil)
	x.report(t, "r-1")
	x.has(t, "r-1", inbox.StateDone, nil)
	want := `
Run         cleanup.run/r-1
State       done since T (2h ago)
Scope       warehouse:wh-17
Mode        delete
Selection   versions in bucket objects older than T, under
            pod/wh-17/
            labels/wh-17/
Written     3 objects in report bucket reports with 9 lines, written from T to
            T, up to slice 1 and scan 2
Versions    5: 2 gone, 2 stay, 1 unknown
            "unknown" is a version that may be gone or not: it was selected, and no outcome is on
            record, since a worker died in the middle, a request had no answer, or the run is in the
            middle now. The next scan of the run lists it again if it is still there.

STATE    WHY         VERSIONS  MARKERS  BYTES    MEANS
gone     absent      1         1        0 B      it was gone before the request
gone     deleted     1         0        1.5 KiB  S3 confirmed that it is deleted
stays    legal_hold  1         0        1.5 KiB  a legal hold in the holds table covers its key
stays    tag         1         0        1.5 KiB  its object tag custody-hold holds it
unknown  unknown     1         0        1.5 KiB  selected, and no outcome is on record: the worker
                                                 ended in the middle, or is in the middle now. It
                                                 may be gone or not

GONE  STAYS  UNKNOWN  PREFIX
2     2      0        pod/wh-17/
0     0      1        labels/wh-17/

refused, or of unknown fate:
unknown: key "labels/wh-17/lost" version v1
`
	if diff := cmp.Diff(strings.Split(strings.Trim(want, "\n"), "\n"), lines(x.does(t, "report", "r-1"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(x.does(t, "report", "r-1"), x.does(t, "report", "d-r-1")); diff != "" {
		t.Errorf("by its delivery it is another:\n%s", diff)
	}
	for line := range strings.Lines(x.with("COLUMNS", "60").does(t, "report", "cleanup.run/r-1")) {
		if len([]rune(line)) > 61 {
			t.Errorf("a line of %d columns where there are 60: %s", len(line)-1, line)
		}
	}
}

// What an auditor has may be the report bucket alone, and items expire before reports do.
func TestReportWithoutTheRunsItem(t *testing.T) {
	t.Parallel()
	x := newBuckets(t, nil)
	x.report(t, "r-1")
	for sentence, test := range map[string]struct {
		of   tool
		want string
	}{
		"the item has expired":       {x.tool, "State       its item is not there: items of ended runs expire, and the report stays"},
		"no table is named":          {x.with("CUSTODY_TABLE", ""), "State       not looked at: --table or CUSTODY_TABLE names the table"},
		"the table cannot be read":   {x.with("CUSTODY_TABLE", "nowhere"), "State       its item could not be read, so this is the report alone: there is no table nowhere"},
		"the item has not ended yet": {x.tool, "State       running: the run has not ended, and there may be more to come"},
	} {
		run := "cleanup.run/r-1"
		if strings.Contains(sentence, "not ended") {
			x.report(t, "r-2")
			x.has(t, "r-2", inbox.StateRunning, func(r *inbox.Run) { r.LeaseToken, r.LeaseExpiresAt = "t", time.Now().Add(time.Hour) })
			run = "r-2"
		}
		text := test.of.with("COLUMNS", "120").does(t, "report", run)
		if !strings.Contains(text, test.want) || !strings.Contains(text, "Versions    5: 2 gone, 2 stay, 1 unknown") {
			t.Errorf("%s: no %q in\n%s", sentence, test.want, text)
		}
	}
	x.refuses(t, 3, `no run or delivery "r-1": looked up item run#cleanup.run#r-1, item run#listing.expire#r-1, item delivery#r-1; `+
		"items of ended runs expire and reports stay: name it with its command type, as in cleanup.run/r-1", "report", "r-1")
}

func TestReportOfADryRunSaysWhatWouldGo(t *testing.T) {
	t.Parallel()
	x := newBuckets(t, nil)
	x.selected(t, headerOf("r-1", report.ModeDryRun, 1), of("pod/wh-17/a", ""), of("pod/wh-17/b", "tag"))
	text := x.does(t, "report", "cleanup.run/r-1")
	for _, want := range []string{
		"Mode        dry run: nothing was deleted", "Versions    2: 1 would go, 1 stays",
		"would go  dry_run  1         0        1.5 KiB  expired and held by nothing: a run that deletes would", "WOULD GO  STAYS  PREFIX",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestReportOfOneKey(t *testing.T) {
	t.Parallel()
	x := newBuckets(t, nil)
	x.report(t, "r-1")
	x.has(t, "r-1", inbox.StateDone, nil)
	text := x.does(t, "report", "r-1", "--key", "pod/wh-17/refused")
	_, behind, _ := strings.Cut(text, "\nKey ")
	want := []string{
		`        "pod/wh-17/refused"`, "",
		"Version     v1, 1.5 KiB, modified T",
		"Now         stays, tag: its object tag custody-hold holds it",
		"Lines       T selected, by the holds as of T",
		"            T answered: refused AccessDenied",
		"            T kept: tag, by the holds as of T",
	}
	if diff := cmp.Diff(want, lines(behind)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	x.refuses(t, 3, `no line about key "pod/wh-17/re": looked up 3 report objects of cleanup.run/r-1; what is not older than the cutoff`,
		"report", "r-1", "--key", "pod/wh-17/re")
	object := func(batch, kind string) string {
		return "custody/cleanup.run/r-1/000001-T/" + batch + "-01-" + kind + ".jsonl.gz"
	}
	first, second := "0001-000001", "0002-000002"
	common := map[string]any{"key": "pod/wh-17/refused", "version_id": "v1"}
	wantJSON := []map[string]any{
		{"at": iso(day), "kind": "selection", "decision": "delete", "holds_read_at": iso(day), "object": object(first, "selection")},
		{"at": iso(day.Add(time.Second)), "kind": "outcome", "decision": "delete", "fate": "refused", "code": "AccessDenied", "holds_read_at": iso(day), "object": object(first, "outcome")},
		{"at": iso(day.Add(time.Minute)), "kind": "selection", "decision": "keep", "reason": "tag", "holds_read_at": iso(day), "object": object(second, "selection"), "state": "stays"},
	}
	for _, line := range wantJSON {
		for name, value := range common {
			line[name] = value
		}
	}
	if diff := cmp.Diff(wantJSON, objects(t, x.does(t, "report", "r-1", "--key", "pod/wh-17/refused", "--json"))); diff != "" {
		t.Errorf("as JSON (-want +got):\n%s", diff)
	}
	rows := table(t, x.does(t, "report", "r-1", "--key", "pod/wh-17/refused", "--csv"))
	if diff := cmp.Diff([][]string{
		{"key", "key_base64", "version_id", "at", "kind", "decision", "reason", "fate", "code", "holds_read_at", "object", "state"},
		{"pod/wh-17/refused", "", "v1", iso(day), "selection", "delete", "", "", "", iso(day), object(first, "selection"), ""},
		{"pod/wh-17/refused", "", "v1", iso(day.Add(time.Second)), "outcome", "delete", "", "refused", "AccessDenied", iso(day), object(first, "outcome"), ""},
		{"pod/wh-17/refused", "", "v1", iso(day.Add(time.Minute)), "selection", "keep", "tag", "", "", iso(day), object(second, "selection"), "stays"},
	}, rows); diff != "" {
		t.Errorf("as CSV (-want +got):\n%s", diff)
	}
	if html := x.does(t, "report", "r-1", "--key", "pod/wh-17/refused", "--html"); !strings.Contains(html, "answered: refused AccessDenied") ||
		!strings.Contains(html, "<code>pod/wh-17/refused</code>") || strings.Contains(html, "By prefix") {
		t.Errorf("as HTML:\n%s", html)
	}
}

func table(t *testing.T, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return rows
}

func TestReportAsJSONAndCSV(t *testing.T) {
	t.Parallel()
	x := newBuckets(t, nil)
	x.report(t, "r-1")
	text := x.does(t, "report", "cleanup.run/r-1", "--json")
	got := objects(t, text)
	var keys []any
	for _, o := range got {
		keys = append(keys, o["key"])
	}
	if diff := cmp.Diff([]any{"labels/wh-17/lost", "pod/wh-17/a", "pod/wh-17/b", "pod/wh-17/held", "pod/wh-17/refused"}, keys); diff != "" {
		t.Fatalf("keys (-want +got):\n%s", diff)
	}
	listed := iso(day.Add(-48 * time.Hour))
	want := []map[string]any{
		{"key": "labels/wh-17/lost", "version_id": "v1", "last_modified": listed, "size": 1500.0, "delete_marker": false, "state": "unknown",
			"decision": "delete", "fate": "unknown", "when": iso(day), "objects": []any{"custody/cleanup.run/r-1/000001-T/0002-000002-01-selection.jsonl.gz"}},
		{"key": "pod/wh-17/a", "version_id": "v1", "last_modified": listed, "size": 1500.0, "delete_marker": false, "state": "gone",
			"decision": "delete", "fate": "deleted", "when": iso(day.Add(time.Second)), "gone_at": iso(day.Add(time.Second)),
			"objects": []any{"custody/cleanup.run/r-1/000001-T/0001-000001-01-selection.jsonl.gz", "custody/cleanup.run/r-1/000001-T/0001-000001-01-outcome.jsonl.gz"}},
		{"key": "pod/wh-17/held", "version_id": "v1", "last_modified": listed, "size": 1500.0, "delete_marker": false, "state": "stays",
			"decision": "keep", "reason": "legal_hold", "when": iso(day), "objects": []any{"custody/cleanup.run/r-1/000001-T/0001-000001-01-selection.jsonl.gz"}},
	}
	if diff := cmp.Diff(want, []map[string]any{got[0], got[1], got[3]}); diff != "" {
		t.Errorf("as JSON (-want +got):\n%s", diff)
	}
	rows := table(t, x.does(t, "report", "cleanup.run/r-1", "--csv"))
	if diff := cmp.Diff([][]string{
		{"key", "key_base64", "version_id", "last_modified", "size", "delete_marker", "state", "decision", "reason", "fate", "code", "when", "gone_at"},
		{"labels/wh-17/lost", "", "v1", listed, "1500", "false", "unknown", "delete", "", "unknown", "", iso(day), ""},
		{"pod/wh-17/a", "", "v1", listed, "1500", "false", "gone", "delete", "", "deleted", "", iso(day.Add(time.Second)), iso(day.Add(time.Second))},
		{"pod/wh-17/b", "", "v1", listed, "0", "true", "gone", "delete", "", "absent", "", iso(day.Add(time.Second)), iso(day.Add(time.Second))},
		{"pod/wh-17/held", "", "v1", listed, "1500", "false", "stays", "keep", "legal_hold", "", "", iso(day), ""},
		{"pod/wh-17/refused", "", "v1", listed, "1500", "false", "stays", "keep", "tag", "", "", iso(day.Add(time.Minute)), ""},
	}, rows); diff != "" {
		t.Errorf("as CSV (-want +got):\n%s", diff)
	}
}

// unprintable finds what may steer a terminal.
func unprintable(text string) int {
	return strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
}

func TestOddKeysAreHarmlessInEachFormatAndExactWhereMachinesRead(t *testing.T) {
	t.Parallel()
	x := newBuckets(t, nil)
	h := headerOf("r-1", report.ModeDelete, 1)
	var all []report.Selection
	for _, key := range oddKeys() {
		s := of(key, "")
		s.VersionID = "=cmd"
		all = append(all, s)
	}
	x.selected(t, h, all...) // without an outcome, so that the text and the page name each
	want := oddKeys()
	slices.Sort(want)

	for _, args := range [][]string{{}, {"--csv"}, {"--json"}, {"--html"}, {"--key", "pod/wh-17/\x1b[2J"}, {"--key", "=1+1", "--csv"}, {"--key", "pod/wh-17/a\nb", "--html"}} {
		text := x.does(t, append([]string{"report", "cleanup.run/r-1"}, args...)...)
		if i := unprintable(text); i >= 0 {
			t.Errorf("%v: %q may steer a terminal", args, text[max(0, i-20):i+5])
		}
	}

	var keys []string
	for _, o := range objects(t, x.does(t, "report", "cleanup.run/r-1", "--json")) {
		key, _ := o["key"].(string)
		if encoded, odd := o["key_base64"].(string); odd {
			key = decoded(t, encoded)
		}
		keys = append(keys, key)
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("keys in JSON (-want +got):\n%s", diff)
	}

	text := x.does(t, "report", "cleanup.run/r-1", "--csv")
	if n := strings.Count(text, "\n"); n != len(want)+1 {
		t.Errorf("%d lines of CSV, want one for each of %d versions and a heading", n, len(want))
	}
	keys = nil
	for _, row := range table(t, text)[1:] {
		for _, cell := range row {
			if regexp.MustCompile(`^\s*[=+\-@\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}]`).MatchString(cell) {
				t.Errorf("a spreadsheet takes %q for a formula", cell)
			}
		}
		key := row[0]
		if row[1] != "" {
			key = decoded(t, row[1])
		}
		keys = append(keys, key)
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("keys in CSV (-want +got):\n%s", diff)
	}
	for line := range strings.Lines(strings.SplitN(text, "\n", 2)[1]) {
		if !strings.HasPrefix(line, `"`) || strings.Count(line, `"`) < 26 {
			t.Errorf("a cell is not quoted: %s", line)
		}
	}
}

func decoded(t *testing.T, encoded string) string {
	t.Helper()
	bytes, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes)
}

// A compliance officer's mail program, browser and printer need nothing but the file.
func TestThePageNeedsNothingElseAndRunsNothing(t *testing.T) {
	t.Parallel()
	x := newBuckets(t, nil)
	x.report(t, "r-1")
	h := headerOf("r-1", report.ModeDelete, 7)
	x.selected(t, h, of("pod/wh-17/<script>alert(1)</script>", ""), of(`pod/wh-17/"onload='x`, "tag"), of("pod/wh-17/{{.Run}}", ""))
	x.has(t, "r-1", inbox.StateDone, nil)
	page := x.does(t, "report", "r-1", "--html")
	for _, want := range []string{
		"<code>cleanup.run/r-1</code>", "warehouse:wh-17", "versions in bucket objects older than " + iso(day.Add(-24*time.Hour)), "pod/wh-17/<br>labels/wh-17/",
		"<dt>Mode</dt><dd>delete</dd>", "delivery d-r-1", "4 objects in report bucket reports with 12 lines", "<td>legal_hold</td>", "Kept, by reason",
		`aria-label="Versions kept, by reason"`, "&lt;script&gt;alert(1)&lt;/script&gt;", "pod/wh-17/{{.Run}}", "@media print", "may be gone or not",
		`<td>gone</td><td>deleted</td><td class="n">1</td><td class="n">0</td><td class="n">1.5 KiB</td>`,
		`<td><code>labels/wh-17/</code></td><td class="n">0</td><td class="n">0</td><td class="n">0</td><td class="n">1</td>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	for _, never := range []string{"<script", "<link", "<img", "<iframe", "href=", "src=", "url(", "@import", "http://", "https://", "javascript:", "ZgotmplZ"} {
		if strings.Contains(page, never) {
			t.Errorf("%q is in the page", never)
		}
	}
	balanced(t, page)
}

// A colour that only a light screen has would be unreadable on a dark one; and paper is white, whatever the screen is.
func TestEveryColourOfThePageIsOneForALightAndOneForADarkScreen(t *testing.T) {
	t.Parallel()
	x := newBuckets(t, nil)
	x.report(t, "r-1")
	h := headerOf("r-1", report.ModeDryRun, 7)
	x.selected(t, h, of("pod/wh-17/dry", ""))
	page := x.does(t, "report", "cleanup.run/r-1", "--html")
	_, style, _ := strings.Cut(page, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	light, dark := 0, 0
	defined := map[string]int{}
	for _, block := range regexp.MustCompile(`(?s)(@media screen and \(prefers-color-scheme: dark\) \{\s+)?:root \{(.*?)\}`).FindAllStringSubmatch(style, -1) {
		if block[1] == "" {
			light++
		} else {
			dark++
		}
		for _, m := range regexp.MustCompile(`--([a-z-]+): #`).FindAllStringSubmatch(block[2], -1) {
			defined[m[1]]++
		}
		style = strings.Replace(style, block[0], "", 1)
	}
	if light != 1 || dark != 1 {
		t.Errorf("%d sets of colours for light, %d for dark screens", light, dark)
	}
	if m := regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b`).FindString(style); m != "" {
		t.Errorf("the colour %s is the same on every screen", m)
	}
	for _, m := range regexp.MustCompile(`var\(--([a-z-]+)\)`).FindAllStringSubmatch(style, -1) {
		if defined[m[1]] != 2 {
			t.Errorf("the colour %s is set %d times", m[1], defined[m[1]])
		}
	}
	bars := map[string]bool{}
	for _, m := range regexp.MustCompile(`<rect [^>]*class="([a-z-]+)"></rect>`).FindAllStringSubmatch(page, -1) {
		if bars[m[1]] = true; !strings.Contains(style, "rect."+m[1]+" { fill: var(--"+m[1]+"); }") {
			t.Errorf("bars of class %s have no colour", m[1])
		}
	}
	if len(bars) != 4 {
		t.Errorf("bars are of %v, and not gone, would-go, stays and unknown", bars)
	}
}

// balanced checks that each element is closed where it was opened.
func balanced(t *testing.T, page string) {
	t.Helper()
	var open []string
	for _, m := range regexp.MustCompile(`<(/?)([a-z0-9]+)[^>]*>`).FindAllStringSubmatch(page, -1) {
		switch {
		case slices.Contains([]string{"meta", "br"}, m[2]):
		case m[1] == "":
			open = append(open, m[2])
		case len(open) == 0 || open[len(open)-1] != m[2]:
			t.Fatalf("</%s> closes %v", m[2], open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("%v are not closed", open)
	}
}

func TestARunWithoutAReport(t *testing.T) {
	t.Parallel()
	x := newBuckets(t, nil)
	worked := func(more func(*inbox.Run)) func(*inbox.Run) {
		return func(r *inbox.Run) {
			if r.Slices = 2; more != nil {
				more(r)
			}
		}
	}
	x.has(t, "r-new", inbox.StatePending, nil)
	x.has(t, "r-nothing", inbox.StateDone, worked(nil))
	x.has(t, "r-begun", inbox.StateRunning, worked(nil))
	x.has(t, "r-refused", inbox.StateFailed, worked(func(r *inbox.Run) {
		r.LastError = &inbox.LastError{Category: inbox.CategoryReportUnwritable, At: day}
	}))
	x.has(t, "r-elsewhere", inbox.StateDone, worked(func(r *inbox.Run) { r.Counters.Selected = 3 }))
	for run, want := range map[string]string{
		"r-new":             "no slice has worked on it yet",
		"r-nothing":         "it has met no version older than its cutoff",
		"r-begun":           "no slice has put a selection on record, so nothing was deleted",
		"r-refused":         "no slice has put a selection on record, so nothing was deleted; its last error is report_unwritable",
		"r-elsewhere":       "it has met versions older than its cutoff, so its objects lie in another bucket or were removed, or its stack writes no report",
		"cleanup.run/never": "either it never was, or it selected and kept nothing, or its objects were removed or lie in another bucket",
	} {
		name := strings.TrimPrefix(run, "cleanup.run/")
		x.refuses(t, 3, "no report of cleanup.run/"+name+": looked up custody/cleanup.run/"+name+"/ in report bucket reports; "+want, "report", run)
	}
	x.with("CUSTODY_REPORT_BUCKET", "none").refuses(t, 3, "no report of cleanup.run/r-new: looked up nothing, since the stack writes none: its report bucket is none (--report-bucket or CUSTODY_REPORT_BUCKET names it)", "report", "r-new")
}

func TestWhatAReportNeedsIsNamed(t *testing.T) {
	t.Parallel()
	x := newBuckets(t, nil)
	x.report(t, "r-1")
	x.has(t, "r-1", inbox.StateDone, nil)
	without := x.with("CUSTODY_REPORT_BUCKET", "")
	without.refuses(t, 2, "which report bucket? Give --stack or --report-bucket, or set CUSTODY_REPORT_BUCKET; a local stack's env file does: . ./local.env", "report", "r-1")
	without.does(t, "report", "r-1", "--report-bucket", "reports")
	x.with("CUSTODY_REPORT_BUCKET", "No Bucket").refuses(t, 2, "--report-bucket: CUSTODY_REPORT_BUCKET", "report", "r-1")
	x.with("CUSTODY_REPORT_BUCKET_OWNER", "me").refuses(t, 2, "--report-bucket-owner: CUSTODY_REPORT_BUCKET_OWNER", "report", "r-1")
	x.refuses(t, 1, "there is no bucket nowhere; --report-bucket or CUSTODY_REPORT_BUCKET names it", "report", "r-1", "--report-bucket", "nowhere")
	x.with("CUSTODY_REPORT_BUCKET_OWNER", "123456789012").refuses(t, 1, "the AWS credentials may not do this with bucket reports: it takes s3:ListBucket on it and "+
		"s3:GetObject on what is in it; AWS_PROFILE chooses others. Or it does not belong to account 123456789012; --report-bucket-owner, "+
		"CUSTODY_REPORT_BUCKET_OWNER or the stack names that account", "report", "r-1")
	x.does(t, "report", "r-1", "--report-bucket-owner", "000000000000")
	x.with("CUSTODY_TABLE", "").refuses(t, 2, "which table? Give --stack or --table, or set CUSTODY_TABLE", "report", "r-1")
	x.with("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1", "AWS_MAX_ATTEMPTS", "1").refuses(t, 1,
		"no answer from S3 at http://127.0.0.1:1, which AWS_ENDPOINT_URL_S3 names; is that stack still there?", "report", "r-1")
	for _, test := range []struct {
		want string
		args []string
	}{
		{"needs a RUN", []string{"report"}},
		{"--csv, --json and --html are different answers: give one of them", []string{"report", "r-1", "--csv", "--html"}},
		{"--key is empty", []string{"report", "r-1", "--key", ""}},
		{`RUN is "cleanup.run/a b"`, []string{"report", "cleanup.run/a b"}},
		{`RUN is "a/b/c"`, []string{"report", "a/b/c"}},
	} {
		x.refuses(t, 2, test.want, test.args...)
	}
}

// One object breaks off, one was put there by others; what is said is said all the same.
func TestAReportThatIsNotWholeIsSaidToBe(t *testing.T) {
	t.Parallel()
	x := newBuckets(t, nil)
	x.report(t, "r-1")
	torn := "custody/cleanup.run/r-1/000001-T/0002-000002-01-selection.jsonl.gz"
	for key, body := range map[string]string{torn: "\x1f\x8b", "custody/cleanup.run/r-1/\x1b[2Jnotes": "x"} {
		if _, err := x.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("reports"), Key: &key, Body: strings.NewReader(body)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{nil, {"--json"}, {"--csv"}, {"--html"}, {"--key", "pod/wh-17/refused"}} {
		a := x.run(t, append([]string{"report", "cleanup.run/r-1"}, args...)...)
		if a.code != 1 || !strings.Contains(a.stderr, "custody: 1 of 3 report objects could not be read: what is said here is not all\n") ||
			!strings.Contains(a.stderr, "report object "+torn) || !strings.Contains(a.stderr, `warning: custody/cleanup.run/r-1/\x1b[2Jnotes is no report object`) {
			t.Errorf("%v: exit code %d, stderr %s", args, a.code, a.stderr)
		}
		if !strings.Contains(a.stdout, "pod/wh-17/") || args == nil && !strings.Contains(a.stdout, "Incomplete  1 report object could not be read") {
			t.Errorf("%v: stdout\n%s", args, a.stdout)
		}
	}
	if a := x.run(t, "report", "cleanup.run/r-1", "--html"); !strings.Contains(a.stdout, "<strong>Incomplete:</strong> 1 report object could not be read") {
		t.Errorf("the page does not say that it is not whole:\n%s", a.stdout)
	}
}

// A listing that is refused in the middle is a failure, and none of what came before is said.
func TestAReportWhoseObjectsMayNotBeReadFailsAtOnce(t *testing.T) {
	t.Parallel()
	x := newBucketsBehind(t, nil, func(engine http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, ".gz") {
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(`<Error><Code>AccessDenied</Code><Message>m</Message></Error>`))
				return
			}
			engine.ServeHTTP(w, r)
		})
	})
	x.report(t, "r-1")
	x.refuses(t, 1, "the AWS credentials may not do this with bucket reports: it takes s3:ListBucket on it and s3:GetObject on what is in it", "report", "cleanup.run/r-1")
}

// The temporary file is gone whatever the answer was.
func TestAReportLeavesNoFileBehind(t *testing.T) {
	t.Parallel()
	x := newBuckets(t, nil)
	x.report(t, "r-1")
	dir := t.TempDir()
	in := x.with("TMPDIR", dir)
	in.does(t, "report", "cleanup.run/r-1", "--csv")
	in.refuses(t, 3, "no report of", "report", "cleanup.run/r-2")
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left are %v (%v)", left, err)
	}
	in.with("TMPDIR", dir+"/nowhere").refuses(t, 1, "keep the report for a moment", "report", "cleanup.run/r-1")
	if got := in.does(t, "report", "cleanup.run/r-1", "--key", "pod/wh-17/a"); !bytes.Contains([]byte(got), []byte("answered: deleted")) {
		t.Errorf("one key needs a file:\n%s", got)
	}
}

func TestReportFindsItsBucketByTheStack(t *testing.T) {
	t.Parallel()
	x := newBuckets(t, nil)
	x.report(t, "r-1")
	x.has(t, "r-1", inbox.StateDone, nil)
	a, y := newAccount(t)
	a.change(func() {
		a.stacks["custody"] = &stackOf{status: "UPDATE_COMPLETE", outputs: map[string]string{"Table": "inbox", "HoldsTable": "holds", "ReportBucket": "reports", "Version": "0.1.0"},
			parameters: map[string]string{"ReportBucketOwner": "123456789012"}}
		a.stacks["silent"] = &stackOf{status: "UPDATE_COMPLETE", outputs: map[string]string{"Table": "inbox", "HoldsTable": "holds", "ReportBucket": "none", "Version": "0.1.0"}}
	})
	for name, value := range y.env {
		x.env[name] = value
	}
	stranger := x.with("CUSTODY_TABLE", "nowhere", "CUSTODY_REPORT_BUCKET", "nowhere")
	stranger.refuses(t, 1, "Or it does not belong to account 123456789012", "report", "r-1", "--stack", "custody")
	if text := stranger.does(t, "report", "r-1", "--stack", "custody", "--report-bucket-owner", "000000000000"); !strings.Contains(text, "done since") {
		t.Errorf("by the stack:\n%s", text)
	}
	stranger.refuses(t, 3, "its report bucket is none (the stack's output ReportBucket names it)", "report", "r-1", "--stack", "silent")
	x.with("CUSTODY_STACK_NAME", "custody", "CUSTODY_REPORT_BUCKET_OWNER", "000000000000").does(t, "report", "cleanup.run/r-1")
}
