package report_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"custody/internal/report"
)

func newHistory() *report.History { return report.NewHistory("cleanup.run", "r-1", nil) }

// add puts the objects of one try into the history; none where there are no lines.
func add(t testing.TB, h *report.History, header report.Header, lines []report.Selection, outcomes []report.Outcome) {
	t.Helper()
	if len(lines) > 0 {
		object, data := selection(t, header, lines...)
		if err := h.Add(object, data); err != nil {
			t.Fatal(err)
		}
	}
	if len(outcomes) > 0 {
		object, data := outcome(t, header, outcomes...)
		if err := h.Add(object, data); err != nil {
			t.Fatal(err)
		}
	}
}

// try is one try of a batch with one version, at a second of its own.
type try struct {
	slice, scan, try int
	dry              bool
	reason           string      // kept, or
	fate             report.Fate // selected, and this became of it; "" for no outcome
	code             string
}

// one tells the history of one version and gives what is concluded.
func one(t *testing.T, tries ...try) report.Version {
	t.Helper()
	h := newHistory()
	for i, step := range tries {
		header := aHeader()
		header.Slice, header.Scan, header.Try = max(1, step.slice), max(1, step.scan), max(1, step.try)
		if step.dry {
			header.Mode = report.ModeDryRun
		}
		at := start().Add(time.Duration(i) * time.Minute)
		s := selected("k")
		if step.reason != "" {
			s = kept("k", step.reason)
		}
		s.At = at
		var outcomes []report.Outcome
		if step.fate != "" {
			outcomes = []report.Outcome{{Key: "k", VersionID: "v1", Fate: step.fate, Code: step.code, At: at.Add(time.Second)}}
		}
		add(t, h, header, []report.Selection{s}, outcomes)
	}
	all := slices.Collect(h.Versions())
	if len(all) != 1 {
		t.Fatalf("%d versions, want one", len(all))
	}
	return all[0]
}

func TestWhatBecameOfAVersion(t *testing.T) {
	t.Parallel()
	type end struct {
		Decision report.Decision
		Reason   string
		Fate     report.Fate
		State    report.State
	}
	del := func(f report.Fate, s report.State) end { return end{report.DecisionDelete, "", f, s} }
	keep := func(reason string, s report.State) end { return end{report.DecisionKeep, reason, "", s} }
	for sentence, c := range map[string]struct {
		tries []try
		want  end
	}{
		"deleted":                              {[]try{{fate: report.FateDeleted}}, del(report.FateDeleted, report.StateGone)},
		"absent":                               {[]try{{fate: report.FateAbsent}}, del(report.FateAbsent, report.StateGone)},
		"locked":                               {[]try{{fate: report.FateLocked}}, del(report.FateLocked, report.StateStays)},
		"refused":                              {[]try{{fate: report.FateRefused, code: "AccessDenied"}}, del(report.FateRefused, report.StateStays)},
		"kept":                                 {[]try{{reason: "tag"}}, keep("tag", report.StateStays)},
		"a dry run that selects sends nothing": {[]try{{dry: true}}, del(report.FateDryRun, report.StateStays)},
		"an answer that is silent leaves open what became": {
			[]try{{fate: report.FateRefused, code: report.CodeNotMentioned}}, del(report.FateRefused, report.StateUnknown)},
		"a process that dies behind the selection leaves its fate unknown": {[]try{{}}, del(report.FateUnknown, report.StateUnknown)},
		"a request without an answer":                                      {[]try{{fate: report.FateUnanswered}}, del(report.FateUnanswered, report.StateUnknown)},
		"S3 asked to send it again":                                        {[]try{{fate: report.FateTransient}}, del(report.FateTransient, report.StateUnknown)},
		"sent again, and deleted": {
			[]try{{fate: report.FateTransient}, {try: 2, fate: report.FateDeleted}}, del(report.FateDeleted, report.StateGone)},
		"the next worker finds it gone": {
			[]try{{}, {slice: 2, fate: report.FateAbsent}}, del(report.FateAbsent, report.StateGone)},
		"the next worker keeps what the dead one had selected": {
			[]try{{}, {slice: 2, reason: "legal_hold"}}, keep("legal_hold", report.StateStays)},
		"the next scan keeps what had no answer, since it is still listed": {
			[]try{{fate: report.FateUnanswered}, {scan: 2, reason: "legal_hold"}}, keep("legal_hold", report.StateStays)},
		"a hold came behind a request without an answer": {
			[]try{{fate: report.FateUnanswered}, {try: 2, reason: "legal_hold"}}, keep("legal_hold", report.StateUnknown)},
		"a hold came behind a selection whose outcome is lost": {
			[]try{{}, {try: 2, reason: "legal_hold"}}, keep("legal_hold", report.StateUnknown)},
		"a hold came when S3 had asked to send it again": {
			[]try{{fate: report.FateTransient}, {try: 2, reason: "legal_hold"}}, keep("legal_hold", report.StateStays)},
		"a hold came when S3 had asked to send again what had no answer": {
			[]try{{fate: report.FateUnanswered}, {try: 2, fate: report.FateTransient}, {try: 3, reason: "legal_hold"}},
			keep("legal_hold", report.StateUnknown)},
		"a lock that was read behind a request without an answer": {
			[]try{{fate: report.FateUnanswered}, {try: 2, fate: report.FateLocked}, {try: 3, reason: "lock_retention"}},
			keep("lock_retention", report.StateStays)},
		"a dry run that selects twice": {[]try{{dry: true}, {try: 2, dry: true, reason: "tag"}}, keep("tag", report.StateStays)},
		"a delete behind a dry run":    {[]try{{dry: true}, {slice: 2, fate: report.FateDeleted}}, del(report.FateDeleted, report.StateGone)},
		"a worker that has lost its lease selects what is gone": {
			[]try{{slice: 2, fate: report.FateDeleted}, {slice: 1}}, del(report.FateUnknown, report.StateUnknown)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			v := one(t, c.tries...)
			if diff := cmp.Diff(c.want, end{v.Decision, v.Reason, v.Fate, v.State}); diff != "" {
				t.Errorf("end (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheEvidenceIsKeptWithTheResult(t *testing.T) {
	t.Parallel()
	v := one(t, try{reason: "tag"}, try{slice: 2, fate: report.FateDeleted}, try{slice: 3})
	name := func(slice, kind string) string {
		return "custody/cleanup.run/r-1/00000" + slice + "-TOKEN/0001-000017-01-" + kind + ".jsonl.gz"
	}
	line := func(minutes, seconds int, l report.Line) report.Line {
		l.At, l.HoldsReadAt = start().Add(time.Duration(minutes)*time.Minute+time.Duration(seconds)*time.Second), start()
		return l
	}
	want := report.Version{
		Key: "k", VersionID: "v1", LastModified: start().Add(-72 * time.Hour), Size: 5,
		Decision: report.DecisionDelete, Fate: report.FateUnknown, State: report.StateUnknown,
		When: start().Add(2 * time.Minute), GoneAt: start().Add(time.Minute + time.Second),
		Lines: []report.Line{
			line(0, 0, report.Line{Object: name("1", "selection"), Kind: report.KindSelection, Decision: report.DecisionKeep, Reason: "tag"}),
			line(1, 0, report.Line{Object: name("2", "selection"), Kind: report.KindSelection, Decision: report.DecisionDelete}),
			line(1, 1, report.Line{Object: name("2", "outcome"), Kind: report.KindOutcome, Decision: report.DecisionDelete, Fate: report.FateDeleted}),
			line(2, 0, report.Line{Object: name("3", "selection"), Kind: report.KindSelection, Decision: report.DecisionDelete}),
		},
		Objects: []string{name("1", "selection"), name("2", "selection"), name("2", "outcome"), name("3", "selection")},
	}
	want.First = want.Lines[0]
	if diff := cmp.Diff(want, v); diff != "" {
		t.Errorf("version (-want +got):\n%s", diff)
	}
	v.Key = "\xff"
	fields := map[string]any{}
	text, err := json.Marshal(v)
	if err != nil || json.Unmarshal(text, &fields) != nil || fields["key_base64"] != "/w==" || fields["state"] != "unknown" {
		t.Errorf("JSON %s, error %v", text, err)
	}
}

func TestAVersionIsGoneSinceItsFirstConfirmation(t *testing.T) {
	t.Parallel()
	v := one(t, try{fate: report.FateUnanswered}, try{try: 2, fate: report.FateDeleted}, try{slice: 2, fate: report.FateAbsent})
	if want := start().Add(time.Minute + time.Second); !v.GoneAt.Equal(want) {
		t.Errorf("gone at %s, want %s", v.GoneAt, want)
	}
}

func TestAnOutcomeStandsBehindItsOwnSelectionWhateverTheClockSays(t *testing.T) {
	t.Parallel()
	for sentence, early := range map[string]time.Duration{"the same time": 0, "set back": -time.Hour, "set back before 1970": -80 * 365 * 24 * time.Hour} {
		h := newHistory()
		o := became("a", report.FateDeleted)
		o.At = start().Add(early)
		add(t, h, aHeader(), []report.Selection{selected("a")}, []report.Outcome{o})
		for v := range h.Versions() {
			if v.Fate != report.FateDeleted {
				t.Errorf("%s: fate %s, want deleted", sentence, v.Fate)
			}
		}
	}
}

func TestAnOutcomeWhoseSelectionIsLostStillCounts(t *testing.T) {
	t.Parallel()
	h := newHistory()
	old := became("a", report.FateDeleted)
	old.At = time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)
	add(t, h, aHeader(), nil, []report.Outcome{old})
	all := slices.Collect(h.Versions())
	if len(all) != 1 || all[0].State != report.StateGone || all[0].First != (report.Line{}) || !all[0].When.Equal(old.At) {
		t.Errorf("versions %+v", all)
	}
}

func TestForeignAndTornObjectsChangeNothing(t *testing.T) {
	t.Parallel()
	h := newHistory()
	add(t, h, aHeader(), []report.Selection{selected("a")}, nil)
	want := slices.Collect(h.Versions())

	other := aHeader()
	other.RunKey = "r-10"
	foreign, data := selection(t, other, selected("b"))
	next := aHeader()
	next.Batch++
	object, whole := selection(t, next, selected("b"))
	for sentence, c := range map[string]struct {
		object  string
		data    []byte
		foreign bool
	}{
		"another run's object":                {foreign, data, true},
		"a file of others":                    {"custody/cleanup.run/r-1/README", nil, true},
		"the marker of a folder":              {"custody/cleanup.run/r-1/", nil, true},
		"another run's object under our name": {object, data, false},
		"a torn object":                       {object, whole[:len(whole)-9], false},
	} {
		err := h.Add(c.object, c.data)
		_, torn := errors.AsType[*report.TornError](err)
		if errors.Is(err, report.ErrForeign) != c.foreign || torn == c.foreign {
			t.Errorf("%s: error %v", sentence, err)
		}
		if diff := cmp.Diff(want, slices.Collect(h.Versions())); diff != "" {
			t.Errorf("%s changed the history (-want +got):\n%s", sentence, diff)
		}
	}
	if err := h.Add(object, whole); err != nil || h.Len() != 2 {
		t.Errorf("the whole object after the torn one: %d versions, error %v", h.Len(), err)
	}
}

func TestHeadersAndPrefixesOfTheRun(t *testing.T) {
	t.Parallel()
	h := newHistory()
	late, early := aHeader(), aHeader()
	late.Slice, late.Prefixes = 10, []string{"labels/wh-17/", "more/wh-17/"}
	add(t, h, late, []report.Selection{selected("a")}, nil)
	add(t, h, early, nil, []report.Outcome{became("a", report.FateDeleted)})
	add(t, h, early, []report.Selection{selected("a")}, nil)
	var got []report.Name
	for _, header := range h.Headers() {
		got = append(got, header.Name)
	}
	want := []report.Name{early.Name, early.Name, late.Name}
	want[1].Kind = report.KindOutcome
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"pod/wh-17/", "labels/wh-17/", "more/wh-17/"}, h.Prefixes()); diff != "" {
		t.Errorf("prefixes (-want +got):\n%s", diff)
	}
}

func TestATallyCountsByPrefixAndEnd(t *testing.T) {
	t.Parallel()
	tally := report.NewTally([]string{"pod/wh-17/", "pod/", "labels/"})
	marker := report.Version{Key: "pod/wh-17/m", State: report.StateGone, Decision: report.DecisionDelete, Fate: report.FateDeleted, DeleteMarker: true}
	gone := report.Version{Key: "pod/wh-17/a", State: report.StateGone, Decision: report.DecisionDelete, Fate: report.FateDeleted, Size: 7}
	held := report.Version{Key: "pod/b", State: report.StateStays, Decision: report.DecisionKeep, Reason: "tag", Size: 1}
	refused := report.Version{Key: "elsewhere", State: report.StateStays, Decision: report.DecisionDelete, Fate: report.FateRefused, Code: "AccessDenied", Size: 2}
	again := report.Version{Key: "labels/x", State: report.StateUnknown, Decision: report.DecisionDelete, Fate: report.FateTransient, Code: "SlowDown"}
	other := again
	other.Code = "InternalError"
	for _, v := range []report.Version{held, marker, gone, gone, refused, again, other} {
		tally.Add(v)
	}
	want := []report.Row{
		{State: report.StateStays, Decision: report.DecisionDelete, Fate: report.FateRefused, Code: "AccessDenied", Versions: 1, Bytes: 2},
		{Prefix: "labels/", State: report.StateUnknown, Decision: report.DecisionDelete, Fate: report.FateTransient, Versions: 2},
		{Prefix: "pod/", State: report.StateStays, Decision: report.DecisionKeep, Reason: "tag", Versions: 1, Bytes: 1},
		{Prefix: "pod/wh-17/", State: report.StateGone, Decision: report.DecisionDelete, Fate: report.FateDeleted, Versions: 3, DeleteMarkers: 1, Bytes: 14},
	}
	if diff := cmp.Diff(want, tally.Rows(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
