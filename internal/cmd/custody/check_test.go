package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/localaws"
	"custody/internal/signature"
)

// verdicts are the stages of a check's answer, each with its verdict.
func verdicts(t *testing.T, output string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, o := range objects(t, output) {
		all[fmt.Sprint(o["stage"])] = fmt.Sprint(o["verdict"])
	}
	return all
}

// saysOf is what the check says of a stage.
func saysOf(t *testing.T, output, stage string) string {
	t.Helper()
	for _, o := range objects(t, output) {
		if o["stage"] == stage {
			return fmt.Sprint(o["says"])
		}
	}
	return ""
}

// allOK is a check of a local stack without a fault, and what differs.
func allOK(differs map[string]string) map[string]string {
	want := map[string]string{
		"stack": "skipped", "bucket": "ok", "signing key": "ok", "delivery": "ok", "duplicate": "ok", "forgery": "ok", "run": "ok", "canary": "ok",
		"report": "ok", "sweeper": "skipped", "alarms": "skipped",
	}
	for stage, verdict := range differs {
		want[stage] = verdict
	}
	return want
}

// canaries are the keys below the folder of canaries that have a version left.
func (w *whole) canaries(t *testing.T) (left []string) {
	t.Helper()
	out, err := w.stack.S3().ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{
		Bucket: aws.String(w.env["CUSTODY_BUCKET"]), Prefix: aws.String("custody-check/"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range out.Versions {
		left = append(left, aws.ToString(v.VersionId))
	}
	for _, m := range out.DeleteMarkers {
		left = append(left, aws.ToString(m.VersionId))
	}
	return left
}

// The tool's clock and S3's are the same here, as they are in an account.
func startToCheck(t *testing.T, settings map[string]string) *whole {
	t.Helper()
	return startWholeWith(t, settings, nil)
}

func TestCheckOfALocalStack(t *testing.T) {
	t.Parallel()
	w := startToCheck(t, nil)
	out := w.does(t, "check", "--json")
	if diff := cmp.Diff(allOK(nil), verdicts(t, out)); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, out)
	}
	for stage, want := range map[string]string{
		"bucket": "versioning Enabled, MFA delete off", "signing key": "from CUSTODY_SIGNING_KEY, id local", "delivery": "204 accepted",
		"duplicate": "204 already_processed", "forgery": "401 rejected to a body that was changed behind its signature",
		"run": "is done as a dry run", "canary": "3 versions, the last a delete marker, were deleted by version id with the cleanup function's role",
		"report": "4 objects say of 3 versions of the canary that they were selected, and then deleted", "sweeper": "there is no CloudWatch without a stack",
	} {
		if got := saysOf(t, out, stage); !strings.Contains(got, want) {
			t.Errorf("%s says %q, and not %q", stage, got, want)
		}
	}
	if left := w.canaries(t); len(left) != 0 {
		t.Errorf("canaries are left: %v", left)
	}
	text := w.does(t, "check")
	if !strings.Contains(text, "\ncanary       ok       ") || !strings.Contains(text, "stack        skipped  ") {
		t.Errorf("as text:\n%s", text)
	}
	for line := range strings.Lines(w.with("COLUMNS", "60").does(t, "check")) {
		if len(line) > 61 && !strings.Contains(line, "/check-") && !strings.Contains(line, "/canary-check-") {
			t.Errorf("a line of %d columns where there are 60: %s", len(line)-1, line)
		}
	}
	if got := w.does(t, "runs"); got != "0 open, 0 failed, 0 recorded\n" {
		t.Errorf("checks leave behind:\n%s", got)
	}
}

func TestCheckInTheOtherSchemes(t *testing.T) {
	t.Parallel()
	for _, scheme := range signature.SchemeNames()[1:] {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			w, _ := schemed(t, scheme)
			out := w.does(t, "check", "--json")
			if diff := cmp.Diff(allOK(nil), verdicts(t, out)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, out)
			}
		})
	}
}

// At every stage of a rollout a check can be made, and leaves nothing that waits for somebody.
func TestCheckAtTheFirstStages(t *testing.T) {
	t.Parallel()
	w := startToCheck(t, map[string]string{"CUSTODY_RECORD_ONLY": "true", "CUSTODY_DELETE_SCOPES": "", "CUSTODY_REPORT_BUCKET": "none"})
	out := w.does(t, "check", "--json")
	if diff := cmp.Diff(allOK(map[string]string{"report": "skipped"}), verdicts(t, out)); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, out)
	}
	if got := saysOf(t, out, "run"); !strings.Contains(got, "is recorded and not started, as the record-only stage wants it; it is dismissed again") {
		t.Errorf("run says %q", got)
	}
	if got := w.does(t, "runs"); got != "0 open, 0 failed, 0 recorded\n" {
		t.Errorf("the check leaves behind:\n%s", got)
	}
}

// Each fault is named by the stage that meets it, with what cures it, and the other stages go on.
func TestCheckNamesWhatIsBroken(t *testing.T) {
	t.Parallel()
	fails := func(stages ...string) map[string]string {
		all := map[string]string{}
		for _, stage := range stages {
			verdict := "failed"
			if name, found := strings.CutPrefix(stage, "~"); found {
				stage, verdict = name, "skipped"
			}
			all[stage] = verdict
		}
		return all
	}
	versioning := func(status types.BucketVersioningStatus) func(*testing.T, *whole) tool {
		return func(t *testing.T, w *whole) tool {
			_, err := w.stack.S3().PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
				Bucket: aws.String(w.env["CUSTODY_BUCKET"]), VersioningConfiguration: &types.VersioningConfiguration{Status: status},
			})
			if err != nil {
				t.Fatal(err)
			}
			return w.tool
		}
	}
	has := func(variable, value string) func(*testing.T, *whole) tool {
		return func(_ *testing.T, w *whole) tool { return w.with(variable, value) }
	}
	for name, test := range map[string]struct {
		fault   func(*testing.T, *whole) tool
		differs map[string]string
		stage   string
		says    string
	}{
		"a wrong key": {has("CUSTODY_SIGNING_KEY", "another"), fails("delivery", "~duplicate", "~run"), "delivery",
			"401 rejected, and it should be 204 accepted: the signature is malformed or not ours"},
		"a key that the scheme cannot use": {func(_ *testing.T, w *whole) tool {
			return w.with("CUSTODY_SIGNATURE_SCHEME", "standard-webhooks", "CUSTODY_SIGNING_KEY", "short")
		},
			fails("signing key", "~delivery", "~duplicate", "~forgery", "~run"), "signing key", "the signing key (CUSTODY_SIGNING_KEY): must be"},
		"another scheme": {has("CUSTODY_SIGNATURE_SCHEME", "standard-webhooks"), fails("delivery", "~duplicate", "forgery", "~run"), "forgery",
			"is answered 400 rejected, and it should be 401: a header is missing"},
		"no key": {has("CUSTODY_SIGNING_KEY", ""), fails("signing key", "~delivery", "~duplicate", "~forgery", "~run"), "signing key",
			"which signing key? Set CUSTODY_SIGNING_KEY"},
		"nobody behind the URL": {has("CUSTODY_URL", "http://127.0.0.1:1/"), fails("delivery", "~duplicate", "forgery", "~run"), "forgery", "no answer: "},
		"versioning suspended": {versioning("Suspended"), fails("bucket", "~canary", "~report"), "bucket",
			"its versioning is Suspended, and must be Enabled"},
		"another table than the URL's": {func(t *testing.T, w *whole) tool {
			if err := (localaws.Tables{Inbox: "another"}).Make(t.Context(), w.stack.DynamoDB()); err != nil {
				t.Fatal(err)
			}
			return w.with("CUSTODY_TABLE", "another")
		}, fails("run"), "run", "the URL and the table are of two different stacks"},
		"another bucket than the stack's": {func(t *testing.T, w *whole) tool {
			if err := localaws.MakeBucket(t.Context(), w.stack.S3(), "another"); err != nil {
				t.Fatal(err)
			}
			return w.with("CUSTODY_BUCKET", "another")
		}, fails("canary", "~report"), "canary", "the cleanup function deleted 0 versions, and 3 others were put: its Bucket is another one"},
		"no bucket": {has("CUSTODY_BUCKET", "nowhere"), fails("bucket", "~canary", "~report"), "bucket", "no_such_bucket: "},
		"another report bucket than the stack's": {func(t *testing.T, w *whole) tool {
			if err := localaws.MakeBucket(t.Context(), w.stack.S3(), "another"); err != nil {
				t.Fatal(err)
			}
			return w.with("CUSTODY_REPORT_BUCKET", "another")
		}, fails("report"), "report", "there is no word in 0 objects: the cleanup function's ReportBucket is another one, or none"},
		"no report bucket": {func(t *testing.T, w *whole) tool {
			if _, err := w.stack.S3().DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: aws.String(w.env["CUSTODY_REPORT_BUCKET"])}); err != nil {
				t.Fatal(err)
			}
			return w.tool
		}, fails("canary", "~report"), "canary", "the cleanup function says report_unwritable: "},
		"a dead cleanup function": {func(_ *testing.T, w *whole) tool {
			w.stack.Function("cleanup").Kill()
			return w.tool
		}, fails("run", "canary", "~report"), "canary", "invoke function CleanupFunction: ServiceException"},
		"a role that may not list": {func(_ *testing.T, w *whole) tool {
			w.denied.Store(true)
			return w.tool
		}, fails("run", "canary", "~report"), "run", "is failed, with the error access_denied"},
		"the brake is on": {func(t *testing.T, w *whole) tool {
			w.does(t, "stop", "--reason", "x")
			return w.tool
		}, fails("canary", "~report"), "canary", "the cleanup function says stopped: the emergency brake is on for warehouse:custody-check"},
		"no Lambda endpoint": {has("AWS_ENDPOINT_URL_LAMBDA", ""), fails("~canary", "~report"), "canary", "which function cleans up is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startToCheck(t, nil)
			x := test.fault(t, w)
			a := x.run(t, "check", "--json", "--within", "2s")
			if diff := cmp.Diff(allOK(test.differs), verdicts(t, a.stdout)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s%s", diff, a.stdout, a.stderr)
			}
			if got := saysOf(t, a.stdout, test.stage); !strings.Contains(got, test.says) {
				t.Errorf("%s says %q, and not %q", test.stage, got, test.says)
			}
			failed := 0
			for _, verdict := range test.differs {
				if verdict == "failed" {
					failed++
				}
			}
			if failed > 0 && (a.code != 1 || !strings.Contains(a.stderr, fmt.Sprintf("%d of 11 stages failed: ", failed))) || failed == 0 && a.code != 0 {
				t.Errorf("exit code %d, %s", a.code, a.stderr)
			}
		})
	}
}

// A default retention keeps every canary: none is put, since nobody could delete it.
func TestCheckPutsNoCanaryThatNobodyCanDelete(t *testing.T) {
	t.Parallel()
	w := startToCheck(t, nil)
	bucket := aws.String(w.env["CUSTODY_BUCKET"])
	_, err := w.stack.S3().PutObjectLockConfiguration(t.Context(), &s3.PutObjectLockConfigurationInput{
		Bucket: bucket, ObjectLockConfiguration: &types.ObjectLockConfiguration{ObjectLockEnabled: types.ObjectLockEnabledEnabled,
			Rule: &types.ObjectLockRule{DefaultRetention: &types.DefaultRetention{Mode: types.ObjectLockRetentionModeGovernance, Days: aws.Int32(30)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	out := w.does(t, "check", "--json")
	if got := saysOf(t, out, "canary"); !strings.Contains(got, "keeps every new version for 30 days in GOVERNANCE mode") {
		t.Errorf("canary says %q", got)
	}
	if left := w.canaries(t); len(left) != 0 {
		t.Errorf("canaries were put: %v", left)
	}
}

// What cannot be deleted is named, for somebody to remove.
func TestCheckNamesTheCanaryThatIsLeft(t *testing.T) {
	t.Parallel()
	w := startToCheck(t, nil)
	w.does(t, "hold", "add", "all", "--scope", "*", "--prefix", "custody-check/", "--reason", "legal_hold")
	a := w.run(t, "check", "--json")
	got := saysOf(t, a.stdout, "canary")
	left := w.canaries(t)
	if a.code != 1 || len(left) != 3 || !strings.Contains(got, "the cleanup function keeps it: version ") || !strings.Contains(got, "retained legal_hold") {
		t.Errorf("exit code %d, left %v, canary says %q", a.code, left, got)
	}
	for _, id := range left {
		if !strings.Contains(got, id) {
			t.Errorf("%s is not named in %q", id, got)
		}
	}
}

// inAccount is a local stack under the name of a deployed one: what CloudFormation, CloudWatch and Secrets Manager know of it is
// in an account beside it, and nothing in the environment but the endpoints.
func inAccount(t *testing.T) (*whole, *account, tool) {
	t.Helper()
	w := startToCheck(t, map[string]string{"CUSTODY_STACK": "custody", "CUSTODY_MIN_OBJECT_AGE": "36h"})
	a, x := newAccount(t)
	id, key := w.stack.SigningKey()
	a.change(func() {
		a.secrets["arn:secret"] = fmt.Sprintf(`{%q:%q,"k9":"another"}`, id, key)
		a.swept["custody"] = time.Now()
		a.stacks["custody"] = &stackOf{status: "UPDATE_COMPLETE", parameters: map[string]string{
			"SignatureScheme": "timestamped", "MinObjectAge": "36h", "Commands": "cleanup.run,listing.expire", "BucketOwner": "", "RetentionDays": "90",
		}, outputs: map[string]string{
			"Url": w.env["CUSTODY_URL"], "Table": w.env["CUSTODY_TABLE"], "HoldsTable": w.env["CUSTODY_HOLDS_TABLE"], "Bucket": w.env["CUSTODY_BUCKET"],
			"ReportBucket": w.env["CUSTODY_REPORT_BUCKET"], "SigningSecret": "arn:secret", "CleanupFunction": "CleanupFunction", "Version": "0.1.0",
		}}
		for i := range 12 {
			alarm := fmt.Sprintf("A%02dAlarm", i)
			a.stacks["custody"].alarms = append(a.stacks["custody"].alarms, alarm)
			a.alarms["custody-"+alarm] = "OK"
		}
	})
	for _, name := range []string{"DYNAMODB", "S3", "LAMBDA"} {
		x.env["AWS_ENDPOINT_URL_"+name] = w.env["AWS_ENDPOINT_URL_"+name]
	}
	return w, a, x
}

func TestCheckOfADeployedStack(t *testing.T) {
	t.Parallel()
	w, a, x := inAccount(t)
	every := map[string]string{"stack": "ok", "sweeper": "ok", "alarms": "ok"}
	out := x.does(t, "check", "--stack", "custody", "--json")
	if diff := cmp.Diff(allOK(every), verdicts(t, out)); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, out)
	}
	for stage, want := range map[string]string{
		"stack": "custody is UPDATE_COMPLETE, Custody 0.1.0", "signing key": "2 in force in secret arn:secret, id local",
		"sweeper": "the oldest open run was 1m30s old then", "alarms": "all 12 are OK",
	} {
		if got := saysOf(t, out, stage); !strings.Contains(got, want) {
			t.Errorf("%s says %q, and not %q", stage, got, want)
		}
	}
	if got := saysOf(t, out, "sweeper"); strings.Contains(got, "swept 1m") || strings.Contains(got, "swept 2m") {
		t.Errorf("sweeper says %q, of a sweep that is not the last", got)
	}
	if left := w.canaries(t); len(left) != 0 {
		t.Errorf("canaries are left: %v", left)
	}
	for name, test := range map[string]struct {
		change      func()
		stage, want string
		says        string
	}{
		"no sweep":      {func() { a.swept["custody"] = time.Now().Add(-time.Hour) }, "sweeper", "failed", "no sweep was published in the last 5m2s"},
		"another stack": {func() { delete(a.swept, "custody"); a.swept["other"] = time.Now() }, "sweeper", "failed", "no sweep was published"},
		"an alarm is on": {func() { a.alarms["custody-A03Alarm"] = "ALARM" }, "alarms", "failed",
			"A03Alarm is ALARM: Threshold Crossed; docs/operations.md has a heading for each"},
		"an alarm was removed": {func() { delete(a.alarms, "custody-A03Alarm") }, "alarms", "failed", "A03Alarm is MISSING: CloudWatch has no alarm custody-A03Alarm"},
		"an alarm is silent": {func() {
			a.alarms["custody-A03Alarm"], a.alarms["custody-A11Alarm"] = "INSUFFICIENT_DATA", "INSUFFICIENT_DATA"
		}, "alarms", "ok",
			"10 OK, 2 without data yet: A03Alarm, A11Alarm"},
		"no alarm at all":      {func() { a.stacks["custody"].alarms = nil }, "alarms", "failed", "the stack has no alarm"},
		"no secret":            {func() { delete(a.secrets, "arn:secret") }, "signing key", "failed", "secret arn:secret: get secret: keyring unavailable: ResourceNotFound"},
		"no key in the secret": {func() { a.secrets["arn:secret"] = "{}" }, "signing key", "failed", "it has no key that is in force"},
		"a secret that may not be read": {func() { a.denied["GetSecretValue"] = true }, "signing key", "failed",
			"AccessDeniedException; reading it needs secretsmanager:GetSecretValue, and --key-file does without"},
		"alarms that may not be read": {func() { a.denied["DescribeAlarms"] = true }, "alarms", "failed",
			"the AWS credentials lack the permission cloudwatch:DescribeAlarms (AccessDeniedException)"},
		"resources that may not be listed": {func() { a.denied["ListStackResources"] = true }, "alarms", "failed",
			"the AWS credentials lack the permission cloudformation:ListStackResources (AccessDenied)"},
		"a metric that may not be read": {func() { a.denied["GetMetricStatistics"] = true }, "sweeper", "failed",
			"the AWS credentials lack the permission cloudwatch:GetMetricStatistics"},
		"a stack without cleanup.run": {func() { a.stacks["custody"].parameters["Commands"] = "listing.expire" }, "delivery", "skipped",
			"the stack's Commands has no cleanup.run"},
	} {
		var before stackOf
		a.change(func() { before = *a.stacks["custody"] })
		parameters := before.parameters["Commands"]
		a.change(test.change)
		got := x.run(t, "check", "--stack", "custody", "--json", "--within", "2s")
		if v := verdicts(t, got.stdout)[test.stage]; v != test.want || !strings.Contains(saysOf(t, got.stdout, test.stage), test.says) {
			t.Errorf("%s: %s is %s and says %q", name, test.stage, v, saysOf(t, got.stdout, test.stage))
		}
		a.change(func() { // as it was
			before.parameters["Commands"] = parameters
			a.stacks["custody"], a.denied = &before, map[string]bool{}
			a.swept = map[string]time.Time{"custody": time.Now()}
			id, key := w.stack.SigningKey()
			a.secrets["arn:secret"] = fmt.Sprintf(`{%q:%q,"k9":"another"}`, id, key)
			a.alarms["custody-A03Alarm"], a.alarms["custody-A11Alarm"] = "OK", "OK"
		})
	}
}

// A variable that is left over from another stack turns no check of a stack that the command line names to that one.
func TestCheckOfAStackTakesNothingFromTheEnvironment(t *testing.T) {
	t.Parallel()
	_, _, x := inAccount(t)
	other := x.with("CUSTODY_URL", "http://127.0.0.1:1/", "CUSTODY_TABLE", "nowhere", "CUSTODY_BUCKET", "nowhere", "CUSTODY_REPORT_BUCKET", "nowhere",
		"CUSTODY_SIGNING_KEY", "another", "CUSTODY_SIGNATURE_SCHEME", "body", "CUSTODY_MIN_OBJECT_AGE", "0s", "CUSTODY_BUCKET_OWNER", "999999999999")
	other.does(t, "check", "--stack", "custody")
	other.refuses(t, 3, "no stack nowhere: ", "check", "--stack", "nowhere")
}

func TestCheckNamesThePermissionToInvoke(t *testing.T) {
	t.Parallel()
	w := startToCheck(t, nil)
	url, _ := serve(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
		rw.WriteHeader(http.StatusForbidden)
		fmt.Fprint(rw, `{"Message":"User is not authorized to perform: lambda:InvokeFunction"}`)
	}))
	a := w.with("AWS_ENDPOINT_URL_LAMBDA", url, "AWS_MAX_ATTEMPTS", "1").run(t, "check", "--json")
	got := saysOf(t, a.stdout, "canary")
	if a.code != 1 || !strings.Contains(got, "invoke function CleanupFunction: the AWS credentials lack the permission lambda:InvokeFunction (AccessDeniedException)") {
		t.Errorf("exit code %d, canary says %q", a.code, got)
	}
	if left := w.canaries(t); len(left) != 3 || !strings.Contains(got, left[0]) {
		t.Errorf("left are %v, and it says %q", left, got)
	}
}

func TestACheckThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	x.refuses(t, 2, "where to? Give --url, or set CUSTODY_URL", "check")
	x.with("CUSTODY_URL", "http://127.0.0.1:1/").refuses(t, 2, "which bucket? Give --stack, or set CUSTODY_BUCKET", "check")
	x.with("CUSTODY_URL", "ftp://x").refuses(t, 2, "is no URL to post to", "check")
	x.refuses(t, 2, "--within must be above 0s", "check", "--within", "0s")
	ready := x.with("CUSTODY_URL", "http://127.0.0.1:1/", "CUSTODY_BUCKET", "b-1")
	ready.with("CUSTODY_SIGNATURE_SCHEME", "none").refuses(t, 2, `signature scheme "none": must be one of`, "check")
	ready.with("CUSTODY_MIN_OBJECT_AGE", "a day").refuses(t, 2, `CUSTODY_MIN_OBJECT_AGE is "a day", must be a duration such as 24h`, "check")
	x.with("CUSTODY_TABLE", "").refuses(t, 2, "which table? Give --stack or --table", "check")
}
