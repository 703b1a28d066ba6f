package report_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/report"
)

// start is a moment on which these tests agree.
func start() time.Time { return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC) }

func aHeader() report.Header {
	return report.Header{
		Name: aName(), Scope: "warehouse:wh-17", Mode: report.ModeDelete, Bucket: "objects",
		Prefixes: []string{"pod/wh-17/", "labels/wh-17/"}, Cutoff: start().Add(-48 * time.Hour), HoldsReadAt: start(),
	}
}

func selected(key string) report.Selection {
	return report.Selection{
		Key: key, VersionID: "v1", LastModified: start().Add(-72 * time.Hour), Size: 5, Decision: report.DecisionDelete, At: start(),
	}
}

func kept(key, reason string) report.Selection {
	s := selected(key)
	s.Decision, s.Reason = report.DecisionKeep, reason
	return s
}

func became(key string, fate report.Fate) report.Outcome {
	return report.Outcome{Key: key, VersionID: "v1", Fate: fate, At: start().Add(time.Second)}
}

// selection makes a selection object and its name.
func selection(t testing.TB, h report.Header, lines ...report.Selection) (string, []byte) {
	t.Helper()
	object, data, err := new(report.Encoder).Selection(h, slices.Values(lines))
	if err != nil {
		t.Fatal(err)
	}
	return object, data
}

// outcome makes an outcome object and its name.
func outcome(t testing.TB, h report.Header, lines ...report.Outcome) (string, []byte) {
	t.Helper()
	object, data, err := new(report.Encoder).Outcome(h, slices.Values(lines))
	if err != nil {
		t.Fatal(err)
	}
	return object, data
}

func text(t testing.TB, data []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

func pack(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What others read by name stays as it is: a change of this text is a change of the format.
func TestAnObjectIsJSONLinesWithStableNames(t *testing.T) {
	t.Parallel()
	marker := kept("b<&>", "legal_hold")
	marker.DeleteMarker, marker.Size = true, 0
	_, data := selection(t, aHeader(), selected("a"), marker)
	want := `{"format":1,"kind":"selection","command_type":"cleanup.run","run_key":"r-1","slice":3,"lease_token":"TOKEN","scan":2,"batch":17,"try":1,` +
		`"scope":"warehouse:wh-17","mode":"delete","bucket":"objects","prefixes":["pod/wh-17/","labels/wh-17/"],` +
		`"cutoff":"2026-08-30T12:00:00Z","holds_read_at":"2026-09-01T12:00:00Z"}
{"key":"a","version_id":"v1","last_modified":"2026-08-29T12:00:00Z","size":5,"delete_marker":false,"decision":"delete","at":"2026-09-01T12:00:00Z"}
{"key":"b<&>","version_id":"v1","last_modified":"2026-08-29T12:00:00Z","size":0,"delete_marker":true,"decision":"keep","reason":"legal_hold","at":"2026-09-01T12:00:00Z"}
`
	if diff := cmp.Diff(want, text(t, data)); diff != "" {
		t.Errorf("selection (-want +got):\n%s", diff)
	}
	refused := became("\xff", report.FateRefused)
	refused.Code = "AccessDenied"
	_, data = outcome(t, aHeader(), became("a", report.FateDeleted), refused)
	_, lines, _ := strings.Cut(text(t, data), "\n")
	want = `{"key":"a","version_id":"v1","fate":"deleted","at":"2026-09-01T12:00:01Z"}
{"key_base64":"/w==","version_id":"v1","fate":"refused","code":"AccessDenied","at":"2026-09-01T12:00:01Z"}
`
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	alone, err := json.Marshal(refused)
	if err != nil || !strings.HasSuffix(want, string(alone)+"\n") {
		t.Errorf("a line by itself is %s, error %v", alone, err)
	}
	if alone, err = json.Marshal(selected("a")); err != nil || !strings.Contains(string(alone), `"key":"a"`) {
		t.Errorf("a line by itself is %s, error %v", alone, err)
	}
}

func TestKeysComeBackExactly(t *testing.T) {
	t.Parallel()
	keys := []string{
		"a b", "a+b", "%2F", "/lead", "trail/", "a//b", ".", "..", "emoji-😀", "e\u0301", "tab\t", "line\n", "cr\r", "nul\x00", "ctl\x01\x1f\x7f",
		"quote\"\\", "<&>", "\u2028\u2029", "\ufffd", "\ufffe\uffff", "\xff", "half\xe2\x82", "\xed\xa0\x80", "sur\\ud800", strings.Repeat("x", 1024),
		strings.Repeat("\x01", 1024), strings.Repeat("\xff", 1024),
	}
	var lines []report.Selection
	var outcomes []report.Outcome
	for _, key := range keys {
		lines = append(lines, selected(key))
		outcomes = append(outcomes, became(key, report.FateAbsent))
	}
	object, data := selection(t, aHeader(), lines...)
	got, err := report.Decode(object, data)
	if err != nil {
		t.Fatal(err)
	}
	h := aHeader()
	h.Format = report.Format
	if diff := cmp.Diff(report.Object{Header: h, Selections: lines}, got); diff != "" {
		t.Errorf("selection (-want +got):\n%s", diff)
	}
	object, data = outcome(t, aHeader(), outcomes...)
	if got, err = report.Decode(object, data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(outcomes, got.Outcomes); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

func TestTimesAreUTCToTheMicrosecondAndMayBeMissingFromAListing(t *testing.T) {
	t.Parallel()
	unlisted := kept("a", "incomplete_listing")
	unlisted.VersionID, unlisted.LastModified = "", time.Time{}
	unlisted.At = start().Add(1234567 * time.Nanosecond).In(time.FixedZone("", 7200))
	object, data := selection(t, aHeader(), unlisted)
	got, err := report.Decode(object, data)
	if err != nil {
		t.Fatal(err)
	}
	unlisted.At = start().Add(1234 * time.Microsecond)
	if diff := cmp.Diff([]report.Selection{unlisted}, got.Selections); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestWhatCannotBeALineIsNotWritten(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		change func(*report.Header, *report.Selection, *report.Outcome)
		names  string
	}{
		"no scope":                         {func(h *report.Header, _ *report.Selection, _ *report.Outcome) { h.Scope = "" }, "scope"},
		"no mode":                          {func(h *report.Header, _ *report.Selection, _ *report.Outcome) { h.Mode = "" }, "mode"},
		"no bucket":                        {func(h *report.Header, _ *report.Selection, _ *report.Outcome) { h.Bucket = "" }, "bucket"},
		"no prefixes":                      {func(h *report.Header, _ *report.Selection, _ *report.Outcome) { h.Prefixes = nil }, "prefixes"},
		"no cutoff":                        {func(h *report.Header, _ *report.Selection, _ *report.Outcome) { h.Cutoff = time.Time{} }, "cutoff"},
		"no lease token":                   {func(h *report.Header, _ *report.Selection, _ *report.Outcome) { h.LeaseToken = "" }, "lease_token"},
		"no key":                           {func(_ *report.Header, s *report.Selection, o *report.Outcome) { s.Key, o.Key = "", "" }, "key"},
		"a selected version without an id": {func(_ *report.Header, s *report.Selection, o *report.Outcome) { s.VersionID, o.VersionID = "", "" }, "version_id"},
		"a version id that JSON cannot carry": {func(_ *report.Header, s *report.Selection, o *report.Outcome) {
			s.VersionID, o.VersionID = "\xff", "\xff"
		}, "version_id"},
		"no time": {func(_ *report.Header, s *report.Selection, o *report.Outcome) { s.At, o.At = time.Time{}, time.Time{} }, "at must"},
		"a line of more than 64 KiB": {func(_ *report.Header, s *report.Selection, o *report.Outcome) {
			s.Key = strings.Repeat("k", 65536)
			o.Key = s.Key
		}, "65536"},
		"a header of more than 64 KiB":    {func(h *report.Header, _ *report.Selection, _ *report.Outcome) { h.Scope = strings.Repeat("k", 65536) }, "header"},
		"a decision or fate nobody knows": {func(_ *report.Header, s *report.Selection, o *report.Outcome) { s.Decision, o.Fate = "burn", "burnt" }, "must be"},
		"a kept version without a reason": {func(_ *report.Header, s *report.Selection, o *report.Outcome) {
			s.Decision = report.DecisionKeep
			o.Fate = ""
		}, "must"},
		"a selected version with a reason": {func(_ *report.Header, s *report.Selection, o *report.Outcome) { s.Reason = "tag"; o.Fate = "" }, "must be"},
		"a fate that is concluded, not stored": {func(_ *report.Header, s *report.Selection, o *report.Outcome) {
			s.Decision, o.Fate = "", report.FateUnknown
		}, "must be"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h, s, o := aHeader(), selected("a"), became("a", report.FateDeleted)
			c.change(&h, &s, &o)
			_, data, err := new(report.Encoder).Selection(h, slices.Values([]report.Selection{s}))
			if err == nil || data != nil || !strings.Contains(err.Error(), c.names) {
				t.Errorf("selection: %d bytes, error %v, want one of %q", len(data), err, c.names)
			}
			_, data, err = new(report.Encoder).Outcome(h, slices.Values([]report.Outcome{o}))
			if err == nil || data != nil || !strings.Contains(err.Error(), c.names) {
				t.Errorf("outcome: %d bytes, error %v, want one of %q", len(data), err, c.names)
			}
		})
	}
	dry := aHeader()
	dry.Mode = report.ModeDryRun
	if _, _, err := new(report.Encoder).Outcome(dry, slices.Values([]report.Outcome{became("a", report.FateDeleted)})); err == nil {
		t.Error("a dry run has an outcome")
	}
	many := slices.Repeat([]report.Selection{selected("a")}, report.MaxLines+1)
	if _, _, err := new(report.Encoder).Selection(aHeader(), slices.Values(many)); err == nil || !strings.Contains(err.Error(), "10001 lines") {
		t.Errorf("10,001 lines: error %v", err)
	}
	if _, _, err := new(report.Encoder).Selection(aHeader(), slices.Values(many[1:])); err != nil {
		t.Errorf("10,000 lines: error %v", err)
	}
}

func TestAnErrorLeavesNothingBehindForTheNextObject(t *testing.T) {
	t.Parallel()
	e := new(report.Encoder)
	_, want, err := e.Selection(aHeader(), slices.Values([]report.Selection{selected("a")}))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = e.Selection(aHeader(), slices.Values([]report.Selection{selected("b"), {}})); err == nil {
		t.Fatal("a line without a key was written")
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			_, got, err := e.Selection(aHeader(), slices.Values([]report.Selection{selected("a")}))
			if err != nil || !bytes.Equal(want, got) {
				t.Errorf("the same object is another one now, error %v", err)
			}
		})
	}
	wait.Wait()
}

func TestATornObjectIsNamedWithItsLine(t *testing.T) {
	t.Parallel()
	object, whole := selection(t, aHeader(), selected("a"), selected("b"))
	plain := text(t, whole)
	head, lines, _ := strings.Cut(plain, "\n")
	swap := func(old, new string) []byte {
		if !strings.Contains(plain, old) {
			t.Fatalf("no %q in the object", old)
		}
		return pack(t, strings.Replace(plain, old, new, 1))
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-6] ^= 1 // within the checksum
	for sentence, c := range map[string]struct {
		data []byte
		line int
	}{
		"nothing at all":                   {nil, 0},
		"no gzip":                          {[]byte(plain), 0},
		"gzip that breaks off":             {whole[:len(whole)-1], 4},
		"gzip that breaks off early":       {whole[:len(whole)/2], 1},
		"a checksum that does not match":   {flipped, 4},
		"bytes behind the end":             {append(bytes.Clone(whole), 0), 4},
		"a second stream":                  {append(bytes.Clone(whole), whole...), 4},
		"a second stream of lines":         {append(bytes.Clone(whole), pack(t, lines)...), 4},
		"an empty stream":                  {pack(t, ""), 1},
		"a last line without an end":       {pack(t, strings.TrimSuffix(plain, "\n")), 3},
		"an empty line":                    {pack(t, head+"\n\n"+lines), 2},
		"no header":                        {pack(t, lines), 1},
		"two headers":                      {pack(t, head+"\n"+head+"\n"+lines), 2},
		"half a line":                      {swap(`"size":5,"delete_marker":false,"decision"`, `"si`), 2},
		"a line that lacks its key":        {swap(`"key":"b",`, ""), 3},
		"a key twice":                      {swap(`"key":"b",`, `"key":"b","key_base64":"Yg==",`), 3},
		"a key that is no base64":          {swap(`"key":"b",`, `"key_base64":"_"`), 3},
		"a line that lacks its version id": {swap(`"version_id":"v1",`, ""), 2},
		"a line that lacks its decision":   {swap(`"decision":"delete",`, ""), 2},
		"a decision nobody knows":          {swap(`"decision":"delete"`, `"decision":"burn"`), 2},
		"a line that lacks its time":       {swap(`,"at":"2026-09-01T12:00:00Z"`, ""), 2},
		"a time nobody can read":           {swap(`"at":"2026-09-01T12:00:00Z"`, `"at":"noon"`), 2},
		"a line that is not UTF-8":         {swap(`"key":"b"`, "\"key\":\"\xff\""), 3},
		"two values in a line":             {swap(`{"key":"b"`, `{} {"key":"b"`), 3},
		"a line of more than 64 KiB":       {swap(`"key":"b"`, `"key":"`+strings.Repeat("b", 70_000)+`"`), 3},
		"more than 10,000 lines":           {pack(t, head+"\n"+strings.Repeat(strings.SplitAfter(lines, "\n")[0], 10_001)), 10_002},
		"more than 64 MiB":                 {pack(t, head+"\n"+strings.Repeat(strings.Replace(strings.SplitAfter(lines, "\n")[0], "{", "{"+strings.Repeat(" ", 60_000), 1), 1_200)), 1_117},
		"more than 32 MiB packed":          {append(bytes.Clone(whole), make([]byte, report.MaxObjectBytes)...), 0},
		"a header of another format":       {swap(`"format":1`, `"format":2`), 1},
		"a header of another kind":         {swap(`"kind":"selection"`, `"kind":"outcome"`), 1},
		"a header of another run":          {swap(`"run_key":"r-1"`, `"run_key":"r-2"`), 1},
		"a header of another lease":        {swap(`"lease_token":"TOKEN"`, `"lease_token":"OTHER"`), 1},
		"a header of another try":          {swap(`"try":1`, `"try":2`), 1},
		"a header without its mode":        {swap(`"mode":"delete",`, ""), 1},
		"a header without its cutoff":      {swap(`"cutoff":"2026-08-30T12:00:00Z",`, ""), 1},
		"a kept version without a reason":  {swap(`"decision":"delete"`, `"decision":"keep"`), 2},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got, err := report.Decode(object, c.data)
			torn, ok := errors.AsType[*report.TornError](err)
			if !ok || torn.Object != object || torn.Line != c.line || !strings.Contains(err.Error(), object) {
				t.Errorf("error %v, want one of %s, line %d", err, object, c.line)
			}
			if diff := cmp.Diff(report.Object{}, got); diff != "" {
				t.Errorf("something came beside the error:\n%s", diff)
			}
		})
	}
}

func TestFieldsOfLaterVersionsAreLeftAside(t *testing.T) {
	t.Parallel()
	object, data := selection(t, aHeader(), selected("a"))
	want, err := report.Decode(object, data)
	if err != nil {
		t.Fatal(err)
	}
	more := strings.ReplaceAll(text(t, data), "{", `{"storage_class":{"name":"STANDARD"},`)
	got, err := report.Decode(object, pack(t, more))
	if err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("error %v, objects differ:\n%s", err, cmp.Diff(want, got))
	}
}

func FuzzDecode(f *testing.F) {
	object, data := selection(f, aHeader(), selected("a"), kept("b\xff", "tag"))
	f.Add(object, data)
	f.Add(object, []byte(text(f, data)))
	object, data = outcome(f, aHeader(), became("a", report.FateTransient), became("c\x00", report.FateLocked))
	f.Add(object, data)
	f.Add(object, []byte(text(f, data)))
	f.Fuzz(func(t *testing.T, object string, data []byte) {
		for _, packed := range [][]byte{data, pack(t, string(data))} { // the fuzzer does not find checksums
			got, err := report.Decode(object, packed)
			if err != nil {
				continue
			}
			var again string
			if got.Header.Kind == report.KindSelection {
				again, packed, err = new(report.Encoder).Selection(got.Header, slices.Values(got.Selections))
			} else {
				again, packed, err = new(report.Encoder).Outcome(got.Header, slices.Values(got.Outcomes))
			}
			if err != nil || again != object {
				t.Fatalf("what was read from %s cannot be written: %s, error %v", object, again, err)
			}
			if back, err := report.Decode(object, packed); err != nil || cmp.Diff(got, back) != "" {
				t.Errorf("error %v, differs:\n%s", err, cmp.Diff(got, back))
			}
		}
	})
}

func BenchmarkSelectionOf1000Lines(b *testing.B) {
	lines := slices.Collect(aThousand())
	e := new(report.Encoder)
	b.ReportAllocs()
	for b.Loop() {
		_, data, err := e.Selection(aHeader(), slices.Values(lines))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(data)), "bytes/object")
	}
}

func BenchmarkDecode1000Lines(b *testing.B) {
	object, data := selection(b, aHeader(), slices.Collect(aThousand())...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := report.Decode(object, data); err != nil {
			b.Fatal(err)
		}
	}
}
