package architecture_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/command"
	"custody/internal/inbox"
	"custody/internal/localaws"
	"custody/internal/localaws/lambda"
)

// secretARN is the secret of a stack that names its own.
const secretARN = "arn:aws:secretsmanager:us-east-1:" + lambda.Account + ":secret:custody/keys-a1b2c3"

// A function is allowed what it asks, and nothing that it does not ask. What it asks is not read off the code but off the wire:
// the built functions play scenarios on the local stack, which together come by every place in the code that calls AWS.
func TestTemplateRolesAllowWhatTheFunctionsAskAndNothingElse(t *testing.T) {
	t.Parallel()
	built := t.TempDir()
	for _, name := range localaws.FunctionNames() {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w",
			"-o", filepath.Join(built, name, "bootstrap"), "custody/functions/"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	whole, least := playWholeStack(t, built), playLeastStack(t, built)

	tpl := readTemplate(t)
	names := map[string]string{"InboxTable": "custody-inbox", "HoldsTable": "custody-holds", "OwnReservationsTable": "custody-reservations",
		"ReportsBucket": "custody-reports"}
	everything := map[string]string{"Bucket": "custody-objects", "Commands": strings.Join(command.Types(), ",")}
	named := maps.Clone(everything)
	maps.Copy(named, map[string]string{"ReservationsTable": "custody-reservations", "ReportBucket": "custody-reports", "SigningSecret": secretARN})
	traced := maps.Clone(everything)
	traced["Tracing"] = "true"
	for name, test := range map[string]struct {
		given  map[string]string
		played *record
		using  map[string]map[ask]string // what the grants are there for
	}{
		"a stack that makes everything":    {everything, whole, whole.asked},
		"a stack that is given everything": {named, whole, whole.asked},
		"a stack that is traced":           {traced, whole, whole.asked},
		// Its own play is short, so its grants may serve what the other one asks, save for what this stack does not have.
		"a stack without reservations and without reports": {map[string]string{"Bucket": "custody-objects", "ReportBucket": "none"}, least,
			without(whole.asked, "custody-reservations", "custody-reports")},
	} {
		t.Run(name, func(t *testing.T) {
			stack := rendered{t, tpl, test.given, names}
			for id, function := range functionIDs() {
				rights := stack.rights(strings.TrimSuffix(id, "Function") + "Role")
				for _, problem := range slices.Concat(
					refused(function, rights, renameSecret(test.played.asked[function], stack)),
					unused(function, rights, renameSecret(test.using[function], stack)),
				) {
					t.Error(problem)
				}
			}
		})
	}
	t.Run("the scenarios come by every place in the code that calls AWS", func(t *testing.T) {
		for _, problem := range untold(whole.touched) {
			t.Error(problem)
		}
	})
	for _, problem := range slices.Concat(whole.problems, least.problems) {
		t.Error(problem)
	}
}

// renameSecret gives the secret that was played with the name that the stack gives to its own.
func renameSecret(asked map[ask]string, stack rendered) map[ask]string {
	renamed := map[ask]string{}
	for a, example := range asked {
		if a.Resource == secretARN && stack.present("KeyringSecret") {
			a.Resource = stack.attribute("KeyringSecret", "")
		}
		renamed[a] = example
	}
	return renamed
}

// without leaves out what was asked about things whose names have one of the words.
func without(asked map[string]map[ask]string, words ...string) map[string]map[ask]string {
	kept := map[string]map[ask]string{}
	for function := range asked {
		kept[function] = maps.Clone(asked[function])
		maps.DeleteFunc(kept[function], func(a ask, _ string) bool {
			return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(a.Resource, word) })
		})
	}
	return kept
}

// The comparison itself: a right too few, a right too many, a call too many and a call that nobody played are each named.
func TestComparisonOfRightsNamesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	query := allowed{"dynamodb:Query", "arn:t/index/*", "role Rows"}
	put := allowed{"s3:PutObject", "arn:b/custody/*", "role Report"}
	asked := map[ask]string{{"dynamodb:Query", "arn:t/index/open"}: "POST /", {"s3:PutObject", "arn:b/custody/a/b"}: "PUT /b"}
	for name, test := range map[string]struct {
		rights []allowed
		asked  map[ask]string
		want   []string
	}{
		"what fits":               {[]allowed{query, put}, asked, nil},
		"a right too few":         {[]allowed{query}, asked, []string{"the f asks for s3:PutObject on arn:b/custody/a/b (PUT /b), which its role does not allow"}},
		"the wrong resource":      {[]allowed{query, {"s3:PutObject", "arn:b/custody", "role Report"}}, asked, []string{"the f asks for s3:PutObject on arn:b/custody/a/b (PUT /b), which its role does not allow", "the f never asks for s3:PutObject on arn:b/custody, which role Report allows"}},
		"a right too many":        {[]allowed{query, put, {"s3:GetObject", "arn:b/*", "role Versions"}}, asked, []string{"the f never asks for s3:GetObject on arn:b/*, which role Versions allows"}},
		"what Lambda itself asks": {[]allowed{query, put, {"logs:PutLogEvents", "arn:l", "role Log"}, {"dynamodb:GetRecords", "arn:s", "role Stream"}}, asked, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := append(refused("f", test.rights, test.asked), unused("f", test.rights, test.asked)...)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// playWholeStack plays what a stack can do that has everything: reservations, Object Lock, reports, a secret.
func playWholeStack(t *testing.T, built string) *record {
	t.Helper()
	p := play(t, built, nil)
	if err := localaws.LockBucket(t.Context(), p.S3(), p.bucket()); err != nil {
		t.Fatal(err)
	}
	p.put("pod/wh-17/plain", "")
	p.put("pod/wh-17/plain", "")
	p.put("pod/wh-17/tagged", "custody-hold=yes")
	p.put("pod/wh-17/odd\x01key", "") // no XML can name it: it is deleted by a request of its own
	p.legalHold("pod/wh-17/locked", p.put("pod/wh-17/locked", ""))
	gone, late := p.put("pod/wh-17/gone", ""), p.put("pod/wh-17/late", "")
	p.record.setBefore(once(map[string]func(){
		// A version that goes between the listing and the reading of its tags, and one that is locked behind the reading.
		http.MethodGet + " /custody-objects/pod/wh-17/gone?tagging": func() { p.remove("pod/wh-17/gone", gone) },
		http.MethodPost + " /custody-objects?delete":                func() { p.legalHold("pod/wh-17/late", late) },
	}))
	body := p.cleanupRun("r-1", "wh-17")
	p.deliver(p.URL(), "d-1", body, "204 accepted")
	p.deliver(p.URL(), "d-2", body, "204 already_processed")
	p.deliver(p.URL(), "d-1", p.cleanupRun("r-2", "wh-17"), "409 conflict")
	p.ends("r-1", inbox.StateDone)

	deadline := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	p.reserve("v-1", deadline)
	p.deliver(p.URL(), "d-3", p.reservationExpire("v-1", deadline), "204 expired")
	p.deliver(p.URL(), "d-4", p.reservationExpire("v-none", deadline), "204 no_longer_held")

	// What no record on the stream will start: one run to wake, and one whose attempts are used up.
	p.claim("r-asleep", 0)
	p.claim("r-spent", 12)
	p.ends("r-asleep", inbox.StateDone)
	p.ends("r-spent", inbox.StateFailed)

	p.deliver(p.webhookWithSecret(built), "d-5", p.cleanupRun("r-5", "wh-18"), "204 accepted")
	p.ends("r-5", inbox.StateDone)
	return p.end()
}

// playLeastStack plays a stack that takes cleanup.run alone and writes no report, over a bucket that is difficult.
func playLeastStack(t *testing.T, built string) *record {
	t.Helper()
	p := play(t, built, map[string]string{"CUSTODY_COMMANDS": "cleanup.run", "CUSTODY_RESERVATIONS_TABLE": "", "CUSTODY_REPORT_BUCKET": "none",
		"CUSTODY_DELETE_SCOPES": "warehouse:wh-17,warehouse:wh-20,warehouse:wh-21"})
	p.put("pod/wh-18/kept", "")
	p.deliver(p.URL(), "d-dry", p.cleanupRun("r-dry", "wh-18"), "204 accepted")
	p.ends("r-dry", inbox.StateDone)

	p.put("pod/wh-20/barred", "")
	p.record.setBefore(deny(func(r *http.Request) bool { return r.URL.Query().Has("tagging") }))
	p.deliver(p.URL(), "d-barred", p.cleanupRun("r-barred", "wh-20"), "204 accepted")
	p.ends("r-barred", inbox.StateFailed)

	p.record.setBefore(deny(func(r *http.Request) bool { return r.Header.Get("X-Amz-Expected-Bucket-Owner") != "" }))
	p.deliver(p.URL(), "d-owner", p.cleanupRun("r-owner", "wh-21"), "204 accepted")
	p.ends("r-owner", inbox.StateFailed)
	p.record.setBefore(nil)

	// A bucket that had no versioning once has a null version, which is asked about again before it goes.
	p.versioning(s3types.BucketVersioningStatusSuspended)
	p.put("pod/wh-17/null", "")
	p.versioning(s3types.BucketVersioningStatusEnabled)
	p.deliver(p.URL(), "d-null", p.cleanupRun("r-null", "wh-17"), "204 accepted")
	p.ends("r-null", inbox.StateDone)
	return p.end()
}

// once does something before the first request of each kind, which then goes on to its engine.
func once(acts map[string]func()) func(string, *http.Request) *httptest.ResponseRecorder {
	var mu sync.Mutex
	return func(_ string, r *http.Request) *httptest.ResponseRecorder {
		kind := r.Method + " " + strings.TrimSuffix(r.URL.Path, "/")
		for _, selector := range []string{"tagging", "delete"} {
			if r.URL.Query().Has(selector) {
				kind += "?" + selector
			}
		}
		mu.Lock()
		act := acts[kind]
		delete(acts, kind)
		mu.Unlock()
		if act != nil {
			act()
		}
		return nil
	}
}

// deny answers requests to S3 as a policy that forbids them does.
func deny(which func(*http.Request) bool) func(string, *http.Request) *httptest.ResponseRecorder {
	return func(_ string, r *http.Request) *httptest.ResponseRecorder {
		if r.Header.Get("X-Amz-Target") != "" || !which(r) {
			return nil
		}
		answer := httptest.NewRecorder()
		answer.WriteHeader(http.StatusForbidden)
		fmt.Fprint(answer, `<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`)
		return answer
	}
}
