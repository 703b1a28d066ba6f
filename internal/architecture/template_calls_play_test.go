package architecture_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/command"
	"custody/internal/config"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	"custody/internal/localaws/lambda"
	"custody/internal/producer"
	"custody/internal/signature"
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
	for name, test := range map[string]struct {
		given  map[string]string
		played *record
		using  map[string]map[ask]string // what the grants are there for
	}{
		"a stack that makes everything":    {everything, whole, whole.asked},
		"a stack that is given everything": {named, whole, whole.asked},
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

// yesterday is the cutoff of every run; S3's clock is a day behind it, so that everything has expired.
func yesterday() time.Time { return time.Now().Add(-24 * time.Hour).UTC().Truncate(time.Second) }

// played is a local stack whose functions' requests are noted.
type played struct {
	*localaws.Stack
	t      *testing.T
	record *record
}

func play(t *testing.T, built string, settings map[string]string) played {
	t.Helper()
	p := played{t: t, record: newRecord()}
	stack, err := localaws.Start(t.Context(), localaws.Options{
		Functions: built, Settings: settings, WrapDynamoDB: p.record.wrap, WrapS3: p.record.wrap,
		Now: func() time.Time { return time.Now().Add(-48 * time.Hour) },
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Stack = stack
	return p
}

// end stops the stack: what it noted changes no more.
func (p played) end() *record {
	p.t.Helper()
	if err := p.Close(); err != nil {
		p.t.Error(err)
	}
	return p.record
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

func (p played) bucket() string { return p.Setting("CUSTODY_BUCKET") }

// put writes a version of an object and returns its id.
func (p played) put(key, tags string) string {
	p.t.Helper()
	in := &s3.PutObjectInput{Bucket: aws.String(p.bucket()), Key: &key, Body: strings.NewReader("x")}
	if tags != "" {
		in.Tagging = &tags
	}
	out, err := p.S3().PutObject(p.t.Context(), in)
	if err != nil {
		p.t.Fatal(err)
	}
	return aws.ToString(out.VersionId)
}

func (p played) legalHold(key, version string) {
	_, err := p.S3().PutObjectLegalHold(p.t.Context(), &s3.PutObjectLegalHoldInput{Bucket: aws.String(p.bucket()), Key: &key, VersionId: &version,
		LegalHold: &s3types.ObjectLockLegalHold{Status: s3types.ObjectLockLegalHoldStatusOn}})
	if err != nil {
		p.t.Error(err)
	}
}

func (p played) remove(key, version string) {
	_, err := p.S3().DeleteObject(p.t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(p.bucket()), Key: &key, VersionId: &version})
	if err != nil {
		p.t.Error(err)
	}
}

func (p played) versioning(status s3types.BucketVersioningStatus) {
	p.t.Helper()
	_, err := p.S3().PutBucketVersioning(p.t.Context(), &s3.PutBucketVersioningInput{Bucket: aws.String(p.bucket()),
		VersioningConfiguration: &s3types.VersioningConfiguration{Status: status}})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p played) reserve(id string, deadline time.Time) {
	p.t.Helper()
	_, err := p.DynamoDB().PutItem(p.t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(p.Setting("CUSTODY_RESERVATIONS_TABLE")), Item: map[string]ddb.AttributeValue{
			"reservation_id": &ddb.AttributeValueMemberS{Value: id}, "status": &ddb.AttributeValueMemberS{Value: inbox.ReservationHeld},
			"expires_at": &ddb.AttributeValueMemberN{Value: fmt.Sprint(deadline.UnixMilli())},
		},
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p played) store() *dynamostore.Store {
	return dynamostore.New(p.DynamoDB(), p.Setting("CUSTODY_TABLE"))
}

// claim writes a pending run without a wake, as one is whose record was lost.
func (p played) claim(key string, attempts int) {
	p.t.Helper()
	received := time.Now().Add(-time.Hour)
	run := inbox.NewRun(inbox.RunKey{Type: command.CleanupRun, Key: key}, "warehouse:"+key,
		inbox.Selection{Bucket: p.bucket(), Prefixes: []string{"pod/" + key + "/"}, Cutoff: yesterday()}, key, "d-"+key, received)
	run.State, run.Open, run.Attempts = inbox.StatePending, inbox.StatePending.OpenIndex(), attempts
	delivery := inbox.Delivery{ID: "d-" + key, CommandType: command.CleanupRun, RunKey: key, BodySHA256: key, Outcome: inbox.OutcomeAccepted,
		ReceivedAt: received, TTL: time.Now().Add(time.Hour).Unix()}
	if there, err := p.store().Claim(p.t.Context(), inbox.Claim{Delivery: delivery, Run: run}); err != nil || there != nil {
		p.t.Fatalf("claim %s: %+v, %v", key, there, err)
	}
}

// ends waits until a run has ended, in the state that is meant. The test's own deadline bounds it.
func (p played) ends(key string, want inbox.State) {
	p.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		run, err := p.store().Run(p.t.Context(), inbox.RunKey{Type: command.CleanupRun, Key: key})
		if err != nil {
			p.t.Fatal(err)
		}
		if run != nil && !run.EndedAt.IsZero() {
			if run.State != want {
				p.t.Errorf("run %s is %s, want %s: %+v", key, run.State, want, run.LastError)
			}
			return
		}
		select {
		case <-tick.C:
		case <-p.t.Context().Done():
			p.t.Fatalf("run %s did not end: %+v", key, run)
		}
	}
}

func (p played) payload(kind string, values map[string]string) []byte {
	p.t.Helper()
	body, err := producer.Payload(kind, values)
	if err != nil {
		p.t.Fatal(err)
	}
	return body
}

func (p played) cleanupRun(run, warehouse string) []byte {
	return p.payload(command.CleanupRun, map[string]string{"run_id": run, "warehouse_id": warehouse,
		"expired_before": yesterday().Format(time.RFC3339)})
}

func (p played) reservationExpire(id string, deadline time.Time) []byte {
	return p.payload(command.ReservationExpire, map[string]string{"reservationId": id, "titleId": "t-1", "expiresAt": deadline.Format(time.RFC3339)})
}

// deliver sends a signed delivery.
func (p played) deliver(url, id string, body []byte, want string) {
	p.t.Helper()
	scheme, err := signature.Named(signature.SchemeTimestamped)
	if err != nil {
		p.t.Fatal(err)
	}
	keyID, key := p.SigningKey()
	headers, err := producer.Signer{Scheme: scheme, Key: signature.NewKey(keyID, key, time.Time{})}.Headers(producer.Delivery{ID: id, Body: body}, time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	if got := fmt.Sprint(answer.StatusCode, " ", answer.Header.Get("Custody-Outcome")); got != want {
		p.t.Errorf("delivery %s is answered %s, want %s", id, got, want)
	}
}

// webhookWithSecret is the URL of a further webhook that has its keys from Secrets Manager, as the template's has.
func (p played) webhookWithSecret(built string) string {
	p.t.Helper()
	id, key := p.SigningKey()
	keyring, err := json.Marshal(map[string]string{id: key})
	if err != nil {
		p.t.Fatal(err)
	}
	secrets := httptest.NewServer(p.record.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_ = json.NewEncoder(w).Encode(map[string]string{"ARN": secretARN, "Name": "custody/keys", "SecretString": string(keyring)})
	})))
	p.t.Cleanup(secrets.Close)
	env := map[string]string{"AWS_SDK_UA_APP_ID": "webhook", "AWS_ENDPOINT_URL_SECRETS_MANAGER": secrets.URL}
	for _, setting := range config.For(config.FunctionWebhook) {
		if value := p.Setting(setting.Name); value != "" && !setting.Secret {
			env[setting.Name] = value
		}
	}
	env["CUSTODY_SIGNING_SECRET"] = secretARN
	for _, pair := range p.Env() {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "AWS_") {
			env[name] = value
		}
	}
	function, err := lambda.NewFunction(lambda.Config{Name: "webhook-with-secret", Binary: filepath.Join(built, "webhook", "bootstrap"),
		Environment: env, Timeout: 10 * time.Second, Memory: 256})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(function.Close)
	if err := function.Warm(context.WithoutCancel(p.t.Context())); err != nil {
		p.t.Fatal(err)
	}
	front := httptest.NewServer(lambda.NewURL(function, nil))
	p.t.Cleanup(front.Close)
	return front.URL + "/"
}
