package operator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/operator"
	"custody/internal/report"
	"custody/internal/retention"
)

// stored is a report bucket: objects, and errors where they come.
type stored []struct {
	report.Stored
	err error
}

func (s stored) Read(context.Context, string, string) iter.Seq2[report.Stored, error] {
	return func(yield func(report.Stored, error) bool) {
		for _, o := range s {
			if !yield(o.Stored, o.err) {
				return
			}
		}
	}
}

func (s *stored) add(name string, data []byte, err error) {
	*s = append(*s, struct {
		report.Stored
		err error
	}{report.Stored{Name: name, Data: data}, err})
}

// batch writes what a batch of so many versions left: every third was kept, every fifth has no outcome.
func (s *stored) batch(t *testing.T, n, versions int) {
	t.Helper()
	h := report.Header{
		Name:  report.Name{CommandType: key.Type, RunKey: key.Key, Slice: 1, LeaseToken: "T", Scan: 1, Batch: n, Try: 1},
		Scope: "warehouse:wh-17", Mode: report.ModeDelete, Bucket: "objects", Prefixes: []string{"pod/"}, Cutoff: now,
	}
	var selected []report.Selection
	var answered []report.Outcome
	for i := range versions {
		line := report.Selection{Key: fmt.Sprintf("pod/%03d/%05d", n, i/2), VersionID: fmt.Sprint(i),
			LastModified: now.Add(time.Duration(i-versions) * time.Hour), Decision: report.DecisionDelete, At: now}
		switch {
		case i%3 == 0:
			line.Decision, line.Reason = report.DecisionKeep, "tag"
		case i%5 > 0:
			answered = append(answered, report.Outcome{Key: line.Key, VersionID: line.VersionID, Fate: report.FateDeleted, At: now})
		}
		selected = append(selected, line)
	}
	e := new(report.Encoder)
	name, data, err := e.Selection(h, slices.Values(selected))
	if err != nil {
		t.Fatal(err)
	}
	s.add(name, data, nil)
	if name, data, err = e.Outcome(h, slices.Values(answered)); err != nil {
		t.Fatal(err)
	}
	s.add(name, data, nil)
}

// shelf is in memory, and counts how often it was read.
type shelf struct {
	bytes.Buffer
	reads int
	err   error
}

func (s *shelf) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	return s.Buffer.Write(p)
}

func (s *shelf) ReadAt(p []byte, at int64) (int, error) {
	s.reads++
	return bytes.NewReader(s.Bytes()).ReadAt(p, at)
}

func versionsOf(t *testing.T, a *operator.Audit) []report.Version {
	t.Helper()
	var all []report.Version
	for v, err := range a.Versions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// Ranges are of 200,000 lines, and the report has a few more; objects that a range does not meet are not read again for it.
func TestALargeReportIsFoldedInRangesAndIsTheSame(t *testing.T) {
	t.Parallel()
	var s stored
	const batches = 30
	for n := range batches {
		s.batch(t, (n*7)%batches, 5000)
	}
	whole := report.NewHistory(key.Type, key.Key, nil)
	for _, o := range s {
		if err := whole.Add(o.Name, o.Data); err != nil {
			t.Fatal(err)
		}
	}
	var kept shelf
	a, err := operator.ReadAudit(t.Context(), s, key, &kept)
	if err != nil || a.Objects != 2*batches || a.LeftOut > 0 {
		t.Fatalf("%d objects, %d left out: %v", a.Objects, a.LeftOut, err)
	}
	n, want := 0, slices.Collect(whole.Versions())
	for v, err := range a.Versions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if w := want[n]; v.Key != w.Key || v.VersionID != w.VersionID || v.State != w.State || !slices.Equal(v.Lines, w.Lines) {
			t.Fatalf("version %d is %+v, want %+v", n, v, w)
		}
		n++
	}
	if n != len(want) {
		t.Errorf("%d versions, want %d", n, len(want))
	}
	if kept.reads <= 2*batches || kept.reads > 2*batches+2 {
		t.Errorf("the %d objects were read %d times: each once, and those at the border of two ranges twice", 2*batches, kept.reads)
	}
}

func TestAnAuditOfWhatIsNotWhole(t *testing.T) {
	t.Parallel()
	var s stored
	s.batch(t, 1, 10)
	for i := range 30 {
		s.add(fmt.Sprintf("custody/cleanup.run/r-1/000002-T/0001-%06d-01-selection.jsonl.gz", i), []byte("torn"), nil)
		s.add(fmt.Sprint("foreign-", i), nil, report.ErrForeign)
	}
	var kept shelf
	a, err := operator.ReadAudit(t.Context(), s, key, &kept)
	if err != nil {
		t.Fatal(err)
	}
	got := []int{a.Objects, a.LeftOut, len(a.Problems), a.Foreign, len(a.ForeignNames), len(versionsOf(t, a))}
	if diff := cmp.Diff([]int{2, 30, 20, 30, 20, 10}, got); diff != "" {
		t.Errorf("objects, left out and named, foreign and named, versions (-want +got):\n%s", diff)
	}
}

func TestAnAuditEndsWithTheBucketsError(t *testing.T) {
	t.Parallel()
	denied := inbox.Failed(inbox.CategoryAccessDenied, errors.New("not yours"))
	for name, object := range map[string]string{
		"of the listing": "", "of one object": "custody/cleanup.run/r-1/000001-T/0001-000001-01-selection.jsonl.gz",
	} {
		var s stored
		s.add(object, nil, denied)
		s.batch(t, 1, 10)
		if _, err := operator.ReadAudit(t.Context(), s, key, &shelf{}); !errors.Is(err, denied) {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := operator.ReadKey(t.Context(), s, key, "pod/001/00000"); !errors.Is(err, denied) {
			t.Errorf("%s, one key: %v", name, err)
		}
	}
	var s stored
	s.batch(t, 1, 10)
	full := errors.New("no space left")
	if _, err := operator.ReadAudit(t.Context(), s, key, &shelf{err: full}); !errors.Is(err, full) {
		t.Errorf("a full disk: %v", err)
	}
	a, err := operator.ReadAudit(t.Context(), s, key, &shelf{})
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range a.Versions(gone) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("behind Ctrl-C: %v", err)
		}
	}
}

// short is a shelf that has lost its end.
type short struct{ shelf }

func (s *short) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }

func TestWhatTheShelfHasLostIsNoEmptyReport(t *testing.T) {
	t.Parallel()
	var s stored
	s.batch(t, 1, 10)
	a, err := operator.ReadAudit(t.Context(), s, key, &short{})
	if err != nil {
		t.Fatal(err)
	}
	failed := false
	for _, err := range a.Versions(t.Context()) {
		failed = failed || err != nil && strings.Contains(err.Error(), "again")
	}
	if !failed {
		t.Error("no error")
	}
}

func TestTheHistoryOfOneKey(t *testing.T) {
	t.Parallel()
	var s stored
	s.batch(t, 1, 10)
	s.batch(t, 2, 10)
	a, versions, err := operator.ReadKey(t.Context(), s, key, "pod/002/00002")
	if err != nil || a.Objects != 4 {
		t.Fatal(a.Objects, err)
	}
	got := []string{}
	for _, v := range versions {
		got = append(got, fmt.Sprint(v.Key, " ", v.VersionID, " ", v.State, " ", len(v.Lines)))
	}
	if diff := cmp.Diff([]string{"pod/002/00002 5 unknown 1", "pod/002/00002 4 gone 2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFindReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.has(t, runIn(inbox.StateDone))
	gone := inbox.Delivery{ID: "d-gone", CommandType: "cleanup.run", RunKey: "r-gone", Outcome: inbox.OutcomeAccepted, ReceivedAt: now}
	if there, err := w.store.Alias(t.Context(), gone); there != nil || err != nil {
		t.Fatal(there, err)
	}
	for name, want := range map[string]string{
		"r-1": "cleanup.run/r-1 done", "d-1": "cleanup.run/r-1 done", "cleanup.run/r-1": "cleanup.run/r-1 done",
		"cleanup.run/r-2": "cleanup.run/r-2 no item", "d-gone": "cleanup.run/r-gone no item", "listing.expire/listing-1:expiry-2": "listing.expire/listing-1:expiry-2 no item",
	} {
		got, err := w.FindReported(t.Context(), name)
		words := got.Key.String() + " no item"
		if got.Run != nil {
			words = got.Key.String() + " " + string(got.Run.State)
		}
		if words != want || err != nil || got.Problem != nil {
			t.Errorf("%s: %s, %v, %v, want %s", name, words, err, got.Problem, want)
		}
	}
	alone := &operator.Operator{Types: w.Types}
	if got, err := alone.FindReported(t.Context(), "cleanup.run/r-1"); err != nil || got.Run != nil || got.Key != key {
		t.Errorf("without a table: %+v, %v", got, err)
	}
	broken := &operator.Operator{Inbox: dynamostore.New(w.db, "nowhere"), Types: w.Types}
	if got, err := broken.FindReported(t.Context(), "cleanup.run/r-1"); err != nil || got.Run != nil || got.Problem == nil {
		t.Errorf("with a table that cannot be read: %+v, %v", got, err)
	}
	for name, want := range map[string]string{
		"":                "RUN is empty",
		"cleanup.run/a b": `RUN is "cleanup.run/a b": run_key "a b" must be 1 to 256 characters`,
		"r-2":             "name it with its command type, as in cleanup.run/r-2",
	} {
		if _, err := w.FindReported(t.Context(), name); !strings.Contains(text(err), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}

// What no reader of a page may meet is a word that nothing explains.
func TestEveryWordOfAReportIsExplained(t *testing.T) {
	t.Parallel()
	const unknown = "that this version does not know"
	seen := map[string]string{}
	explain := func(r report.Row) {
		means := operator.Means(r)
		if twin, twice := seen[means]; twice || strings.Contains(means, unknown) {
			t.Errorf("%s means %q, as %s does", operator.Why(r), means, twin)
		}
		seen[means] = operator.Why(r)
	}
	for _, reason := range []retention.Reason{
		retention.ReasonLegalHold, retention.ReasonDisputeEvidence, retention.ReasonActiveManifest, retention.ReasonOther, retention.ReasonStop,
		retention.ReasonUnreadableHold, retention.ReasonTag, retention.ReasonLockLegalHold, retention.ReasonLockRetention, retention.ReasonYoung,
		retention.ReasonCurrentOverKept, retention.ReasonNullVersion, retention.ReasonIncomplete,
	} {
		explain(report.Row{State: report.StateStays, Decision: report.DecisionKeep, Reason: string(reason)})
	}
	for _, fate := range []report.Fate{
		report.FateDeleted, report.FateAbsent, report.FateLocked, report.FateRefused, report.FateTransient, report.FateUnanswered, report.FateUnknown, report.FateDryRun,
	} {
		explain(report.Row{Decision: report.DecisionDelete, Fate: fate})
	}
	explain(report.Row{Decision: report.DecisionDelete, Fate: report.FateRefused, Code: report.CodeNotMentioned})
	explain(report.Row{State: report.StateUnknown, Decision: report.DecisionKeep, Reason: "tag"})
	for _, r := range []report.Row{{Decision: report.DecisionKeep, Reason: "new"}, {Decision: report.DecisionDelete, Fate: "new"}} {
		if means := operator.Means(r); !strings.Contains(means, unknown) {
			t.Errorf("%+v means %q", r, means)
		}
	}
}

func TestWhyThereIsNoReport(t *testing.T) {
	t.Parallel()
	met := runIn(inbox.StateDone)
	met.Slices, met.Place.Retained = 1, map[string]int64{"tag": 1}
	none := runIn(inbox.StateDone)
	none.Slices = 1
	fresh := runIn(inbox.StatePending)
	got := []string{operator.NothingReported(&met), operator.NothingReported(&none), operator.NothingReported(&fresh), operator.NothingReported(nil)}
	for i, want := range []string{"lie in another bucket", "no version older", "no slice", "never was"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("%q, want %q", got[i], want)
		}
	}
}
