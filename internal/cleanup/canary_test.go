package cleanup_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

const canaryKey = inbox.CanaryFolder + "canary-1"

// denied answers as S3 does where a role lacks a permission.
func denied(rw http.ResponseWriter) {
	rw.Header().Set("Content-Type", "application/xml")
	rw.WriteHeader(http.StatusForbidden)
	fmt.Fprint(rw, `<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`)
}

// denies lets everything through but one operation.
func denies(what string) func(*world) {
	return func(w *world) {
		w.onS3 = func(rw http.ResponseWriter, r *http.Request) {
			if operation(r) == what {
				denied(rw)
				return
			}
			w.objects.ServeHTTP(rw, r)
		}
	}
}

// refusesEach answers a delete as S3 does where a bucket policy denies it for each version.
func refusesEach(code string) func(*world) {
	return func(w *world) {
		w.onS3 = func(rw http.ResponseWriter, r *http.Request) {
			if operation(r) != "delete" {
				w.objects.ServeHTTP(rw, r)
				return
			}
			var asked struct {
				Object []struct{ Key, VersionId string }
			}
			body, err := io.ReadAll(r.Body)
			if err == nil {
				err = xml.Unmarshal(body, &asked)
			}
			if err != nil {
				panic(err)
			}
			rw.Header().Set("Content-Type", "application/xml")
			fmt.Fprint(rw, `<DeleteResult>`)
			for _, o := range asked.Object {
				fmt.Fprintf(rw, `<Error><Key>%s</Key><VersionId>%s</VersionId><Code>%s</Code></Error>`, o.Key, o.VersionId, code)
			}
			fmt.Fprint(rw, `</DeleteResult>`)
		}
	}
}

func held(row map[string]any) func(*world) {
	return func(w *world) {
		row["hold_id"] = "h-1"
		w.hold(row)
	}
}

// fates are the versions of an answer in a line each.
func fates(c inbox.Canary) []string {
	out := []string{}
	for _, v := range c.Versions {
		kind := "version"
		if v.DeleteMarker {
			kind = "marker"
		}
		if v.Current {
			kind += " current"
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", kind, v.Fate, v.Detail)))
	}
	return out
}

func TestACanaryGoesByVersionIdThePresentVersionLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.reporting()
	w.set.CheckTags, w.set.DeleteScopes = true, nil // no run of this stack may delete anything
	first, second := w.put(canaryKey), w.put(canaryKey)
	marker := w.mark(canaryKey)
	others := []string{canaryKey + "x", inbox.CanaryFolder + "canary-10", inbox.CanaryFolder + "canary-1/a", "pod/wh-17/a"}
	for i, key := range others {
		others[i] = key + " " + w.put(key)
	}
	w.at(day.Add(2 * time.Second))

	got := w.worker().Canary(t.Context(), bucket, canaryKey)
	want := []string{"version deleted", "version deleted", "marker current deleted"}
	if diff := cmp.Diff(want, fates(got)); diff != "" || got.Outcome != inbox.CanaryDone || got.Problem != "" {
		t.Errorf("%s %s (-want +got):\n%s", got.Outcome, got.Problem, diff)
	}
	if got.Versions[2].ID != marker {
		t.Errorf("the last one was %s, want the marker %s", got.Versions[2].ID, marker)
	}
	if diff := cmp.Diff(versionsLeft(others...), w.sorted()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	said := []string{canaryKey + " " + first + " gone deleted", canaryKey + " " + second + " gone deleted", canaryKey + " " + marker + " gone deleted"}
	report := told(w.history(inbox.RunKey{Type: inbox.CanaryType, Key: "canary-1"}))
	if diff := cmp.Diff(versionsLeft(said...), report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	again := w.worker().Canary(t.Context(), bucket, canaryKey)
	if again.Outcome != inbox.CanaryDone || len(again.Versions) != 0 {
		t.Errorf("a second time: %+v", again)
	}
}

// Whatever keeps a version of a run keeps one of a canary, and what S3 says is handed on.
func TestACanaryThatStaysSaysWhy(t *testing.T) {
	t.Parallel()
	kept := func(reason string) []string {
		return []string{"version retained " + reason, "version retained " + reason, "marker current retained " + reason}
	}
	untouched := []string{"version unknown", "version unknown", "marker current unknown"}
	for name, test := range map[string]struct {
		when     func(*world)
		outcome  inbox.CanaryOutcome
		category inbox.Category
		fates    []string
	}{
		"a hold on its key": {held(map[string]any{"scope": inbox.CheckScope, "key": canaryKey, "reason": "legal_hold"}), inbox.CanaryKept, "", kept("legal_hold")},
		"a hold for all":    {held(map[string]any{"scope": "*", "prefix": inbox.CanaryFolder, "reason": "other"}), inbox.CanaryKept, "", kept("other")},
		"a hold that nobody understands": {held(map[string]any{"scope": inbox.CheckScope, "reason": "because"}), inbox.CanaryKept, "",
			kept("unreadable_hold")},
		"the brake for all":                       {held(map[string]any{"scope": "*", "reason": "stop"}), inbox.CanaryFailed, inbox.CategoryStopped, untouched},
		"the brake for its scope":                 {held(map[string]any{"scope": inbox.CheckScope, "reason": "stop"}), inbox.CanaryFailed, inbox.CategoryStopped, untouched},
		"a role that may not delete":              {denies("delete"), inbox.CanaryFailed, inbox.CategoryAccessDenied, untouched},
		"a role that may not list":                {denies("versions"), inbox.CanaryFailed, inbox.CategoryAccessDenied, []string{}},
		"a role that may not read the versioning": {denies("versioning"), inbox.CanaryFailed, inbox.CategoryAccessDenied, []string{}},
		"a version that S3 refuses": {refusesEach("InvalidRequest"), inbox.CanaryFailed, inbox.CategoryVersionsRefused,
			[]string{"version not_deleted InvalidRequest", "version not_deleted InvalidRequest", "marker current retained current_over_kept"}},
		"a bucket without versioning": {func(w *world) { w.versioning("Suspended") }, inbox.CanaryDone, "",
			[]string{"version deleted", "version deleted", "marker current deleted"}},
		"holds that cannot be read": {func(w *world) {
			w.onDB = func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
				rw.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(rw, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"}`)
			}
		}, inbox.CanaryFailed, inbox.CategoryInternal, untouched},
		"a report that cannot be written": {func(w *world) {
			w.reporting()
			w.onS3 = func(rw http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut {
					denied(rw)
					return
				}
				w.objects.ServeHTTP(rw, r)
			}
		}, inbox.CanaryFailed, inbox.CategoryReportUnwritable, untouched},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put(canaryKey)
			w.put(canaryKey)
			w.mark(canaryKey)
			before := w.sorted()
			test.when(w)
			got := w.worker().Canary(t.Context(), bucket, canaryKey)
			if diff := cmp.Diff(test.fates, fates(got)); diff != "" || got.Outcome != test.outcome || got.Category != test.category {
				t.Errorf("%s %s: %s (-want +got):\n%s", got.Outcome, got.Category, got.Problem, diff)
			}
			if (got.Problem == "") != (got.Outcome != inbox.CanaryFailed) {
				t.Errorf("outcome %s with the problem %q", got.Outcome, got.Problem)
			}
			if got.Outcome == inbox.CanaryDone {
				before = []string{}
			}
			if diff := cmp.Diff(before, w.sorted()); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

// A hold on one version alone there is none; a tag is: the current version then stays over it.
func TestACurrentCanaryStaysOverOneThatStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set.CheckTags = true
	tagged := w.put(canaryKey)
	w.put(canaryKey)
	over := w.mark(canaryKey)
	w.tag(canaryKey, tagged, "custody-hold", "case 4")
	got := w.worker().Canary(t.Context(), bucket, canaryKey)
	if got.Outcome != inbox.CanaryKept || got.Versions[2].Detail != "current_over_kept" {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(versionsLeft(canaryKey+" "+tagged, canaryKey+" "+over), w.sorted()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// Whoever may call the function can name any key. None that may be somebody's is looked at.
func TestNoOtherKeyIsACanary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, key := range []string{
		"", "custody-check", "custody-check/", "custody-check/a/b", "custody-check/../pod", "custody-check/.", "custody-check//a", "custody-check/-a",
		"custody-check/a b", "custody-check/ä", "custody-check/a\x00", "custody-check/" + strings.Repeat("a", 129), "pod/wh-17/a", "/custody-check/a",
		"Custody-check/a", "pod/custody-check/a", "custody-check/a/",
	} {
		if got := w.worker().Canary(t.Context(), bucket, key); got.Outcome != inbox.CanaryRefused || got.Problem == "" || len(got.Versions) != 0 {
			t.Errorf("%q: %+v", key, got)
		}
	}
	if len(w.requests) != 0 {
		t.Errorf("S3 was asked for %v", w.requests)
	}
}

func TestAKeyWithMoreVersionsThanACheckMakesIsNoCanary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range inbox.MaxCanaryVersions {
		w.put(canaryKey)
	}
	w.mark(canaryKey)
	before := w.sorted()
	got := w.worker().Canary(t.Context(), bucket, canaryKey)
	if got.Outcome != inbox.CanaryRefused || !strings.Contains(got.Problem, "has 11 versions or more, and a canary has at most 10") {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(before, w.sorted()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
