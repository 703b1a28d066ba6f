package cleanup_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custody/internal/inbox"
	"custody/internal/report"
	"custody/internal/s3report"
)

const reportBucket = "reports"

// reporting makes the report's bucket, and lets workers write to it.
func (w *world) reporting() {
	w.t.Helper()
	_, err := w.direct.CreateBucket(w.t.Context(), &s3.CreateBucketInput{Bucket: aws.String(reportBucket)})
	w.must(err)
	w.reports = s3report.New(w.s3, reportBucket, "")
}

// history reads the run's report back.
func (w *world) history(run inbox.RunKey) []report.Version {
	w.t.Helper()
	h := report.NewHistory(run.Type, run.Key, nil)
	for object, err := range s3report.New(w.direct, reportBucket, "").Read(context.WithoutCancel(w.t.Context()), run.Type, run.Key) {
		w.must(err)
		w.must(h.Add(object.Name, object.Data))
	}
	return slices.Collect(h.Versions())
}

// told is what the report says of each version, in a line.
func told(vs []report.Version) []string {
	out := []string{}
	for _, v := range vs {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %s%s", v.Key, v.VersionID, v.State, v.Fate, v.Reason)))
	}
	slices.Sort(out)
	return out
}

func TestTheReportSaysOfEveryVersionWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.reporting()
	w.set.CheckTags = true
	first := w.put("pod/wh-17/a")
	second := w.put("pod/wh-17/a")
	tagged := w.put("pod/wh-17/b")
	over := w.mark("pod/wh-17/b")
	held := w.put("pod/wh-17/c")
	w.tag("pod/wh-17/b", tagged, "custody-hold", "yes")
	w.hold(map[string]any{"scope": scope, "hold_id": "1", "key": "pod/wh-17/c", "reason": "dispute_evidence"})
	w.at(cutoff)
	w.put("pod/wh-17/young")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceCompleted {
		t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	want := []string{
		"pod/wh-17/a " + first + " gone deleted",
		"pod/wh-17/a " + second + " gone deleted",
		"pod/wh-17/b " + over + " stays current_over_kept",
		"pod/wh-17/b " + tagged + " stays tag",
		"pod/wh-17/c " + held + " stays dispute_evidence",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, told(w.history(key))); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// toReports answers requests for the report's bucket, and lets the others through.
func (w *world) toReports(answer func(rw http.ResponseWriter, r *http.Request)) {
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/"+reportBucket+"/") {
			answer(rw, r)
			return
		}
		w.objects.ServeHTTP(rw, r)
	})
}

func TestWhenTheSelectionCannotBeRecordedNothingIsDeleted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		code   string
		end    inbox.SliceOutcome
		why    inbox.Category
	}{
		"a passing error parks":      {503, "SlowDown", inbox.SliceParked, inbox.CategoryThrottled},
		"no permission fails":        {403, "AccessDenied", inbox.SliceFailed, inbox.CategoryReportUnwritable},
		"a bucket that is not there": {404, "NoSuchBucket", inbox.SliceFailed, inbox.CategoryReportUnwritable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.reporting()
			w.put("pod/wh-17/a")
			before := w.left()
			wake := w.claim(cutoff, "pod/wh-17/")
			w.at(later)
			w.toReports(func(rw http.ResponseWriter, _ *http.Request) {
				rw.WriteHeader(tt.status)
				fmt.Fprintf(rw, "<Error><Code>%s</Code><Message>m</Message></Error>", tt.code)
			})
			got := w.deliver(t.Context(), "rec-1", wake)
			if got.Outcome != tt.end || got.Category != tt.why {
				t.Errorf("the slice ended as %s %s: %s", got.Outcome, got.Category, got.Problem)
			}
			if diff := cmp.Diff(before, w.left()); diff != "" || w.asked("POST delete") > 0 {
				t.Errorf("%d delete requests; left in the bucket (-want +got):\n%s", w.asked("POST delete"), diff)
			}
		})
	}
}

func TestWhenTheOutcomeCannotBeRecordedWhatIsGoneIsCountedOnceAndTheRunGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.reporting()
	id := w.put("pod/wh-17/a")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.toReports(func(rw http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "-outcome") {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.objects.ServeHTTP(rw, r)
	})
	got := w.deliver(t.Context(), "rec-1", wake)
	if got.Outcome != inbox.SliceParked || got.Category != inbox.CategoryUnavailable || got.Deleted != 1 {
		t.Fatalf("the slice ended as %s %s with %d deleted: %s", got.Outcome, got.Category, got.Deleted, got.Problem)
	}
	if diff := cmp.Diff([]string{"pod/wh-17/a " + id + " unknown unknown"}, told(w.history(key))); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	w.answer(nil)
	w.at(w.run().NextAttemptAt)
	if !w.wake(w.clock()) {
		t.Fatal("a due run could not be woken")
	}
	if got := w.deliver(t.Context(), "rec-2", w.run().Wake); got.Outcome != inbox.SliceCompleted {
		t.Fatalf("the second slice ended as %s: %s", got.Outcome, got.Problem)
	}
	if run := w.run(); run.Counters.Deleted != 1 || run.Attempts != 0 {
		t.Errorf("%d deleted and %d attempts, want 1 and 0", run.Counters.Deleted, run.Attempts)
	}
}

func TestARequestWithoutAnAnswerIsOnRecordAsSuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.reporting()
	w.put("pod/wh-17/a")
	wake := w.claim(cutoff, "pod/wh-17/")
	w.at(later)
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if operation(r) == "delete" {
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.objects.ServeHTTP(rw, r)
	})
	if got := w.deliver(t.Context(), "rec-1", wake); got.Outcome != inbox.SliceParked {
		t.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
	}
	vs := w.history(key)
	if len(vs) != 1 || vs[0].Fate != report.FateUnanswered || vs[0].State != report.StateUnknown || len(vs[0].Lines) != 2*6 {
		t.Errorf("report %+v, want one version, unanswered at each of the six tries", vs)
	}
}

func TestADryRunSelectsExactlyWhatADeleteRunDeletes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := stillPlans().Draw(rt, "plan")
		p.Holds = slices.DeleteFunc(p.Holds, func(h holding) bool { return h.Kind == "stop" })
		s := stage(t, p)
		s.hands.reporting()
		named := func(run string, scopes []string, fate report.Fate) []string {
			s.hands.set.DeleteScopes = scopes
			if got := s.work(run); got.State != inbox.StateDone {
				rt.Fatalf("the run is %s: %+v\n%s", got.State, got.LastError, p)
			}
			out := []string{}
			for _, v := range s.hands.history(s.hands.key) {
				if v.Fate == fate {
					out = append(out, v.Key+" "+v.VersionID)
				}
			}
			slices.Sort(out)
			return out
		}
		if diff := cmp.Diff(named("dry", nil, report.FateDryRun), named("wet", []string{"*"}, report.FateDeleted)); diff != "" {
			rt.Errorf("selected by the dry run and deleted (-dry +wet):\n%s%s", diff, p)
		}
	})
}
