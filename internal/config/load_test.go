package config_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/config"
)

// The least that each function needs.
func webhookEnv(more ...string) []string {
	return append([]string{"CUSTODY_STACK=trial", "CUSTODY_TABLE=inbox", "CUSTODY_BUCKET=proofs", `CUSTODY_SIGNING_KEYS={"k1":"s3cret"}`}, more...)
}

func cleanupEnv(more ...string) []string {
	return append([]string{"CUSTODY_STACK=trial", "CUSTODY_TABLE=inbox", "CUSTODY_BUCKET=proofs", "CUSTODY_HOLDS_TABLE=holds",
		"CUSTODY_REPORT_BUCKET=none"}, more...)
}

func sweeperEnv(more ...string) []string {
	return append([]string{"CUSTODY_STACK=trial", "CUSTODY_TABLE=inbox"}, more...)
}

func TestWebhookReadsItsDefaults(t *testing.T) {
	t.Parallel()
	got, err := config.LoadWebhook(webhookEnv("PATH=/bin", "AWS_REGION=eu-central-1"))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Webhook{
		Stack: "trial", Table: "inbox", LogLevel: slog.LevelInfo,
		Commands: []string{"cleanup.run"}, SignatureScheme: "timestamped", SigningKeys: config.NewSecret(`{"k1":"s3cret"}`),
		ReplayWindow: 300 * time.Second, Path: "/", MaxBodyBytes: 262144, AckTimeout: 5 * time.Second,
		WarehousePrefixes: []string{"pod/{warehouse_id}/", "labels/{warehouse_id}/"},
		ListingPrefixes:   []string{"search/{listing_id}/", "reservations/{listing_id}/"}, Bucket: "proofs",
		MinObjectAge: 24 * time.Hour, RetentionDays: 90,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWebhookReadsEverySetting(t *testing.T) {
	t.Parallel()
	secret := "arn:aws:secretsmanager:eu-central-1:123456789012:secret:keys/custody-AbCdEf"
	got, err := config.LoadWebhook([]string{
		"CUSTODY_STACK=prod", "CUSTODY_TABLE=t-1", "CUSTODY_LOG_LEVEL=DEBUG", "CUSTODY_COMMANDS=reservation.expire,cleanup.run",
		"CUSTODY_LISTING_PREFIXES=l/{listing_id}/", "CUSTODY_RESERVATIONS_TABLE=seats",
		"CUSTODY_SIGNATURE_SCHEME=timestamped", "CUSTODY_SIGNING_SECRET=" + secret, "CUSTODY_REPLAY_WINDOW=10m",
		"CUSTODY_PATH=/in", "CUSTODY_MAX_BODY_BYTES=4194304", "CUSTODY_ACK_TIMEOUT=900ms", "CUSTODY_RECORD_ONLY=true",
		"CUSTODY_WAREHOUSE_PREFIXES=a/{warehouse_id}/b/", "CUSTODY_BUCKET=my.bucket-1", "CUSTODY_MIN_OBJECT_AGE=0s",
		"CUSTODY_RETENTION_DAYS=7",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Webhook{
		Stack: "prod", Table: "t-1", LogLevel: slog.LevelDebug, SignatureScheme: "timestamped",
		Commands: []string{"reservation.expire", "cleanup.run"}, ListingPrefixes: []string{"l/{listing_id}/"}, ReservationsTable: "seats",
		SigningSecret: secret, ReplayWindow: 10 * time.Minute, Path: "/in", MaxBodyBytes: 4 << 20, AckTimeout: 900 * time.Millisecond,
		RecordOnly: true, WarehousePrefixes: []string{"a/{warehouse_id}/b/"}, Bucket: "my.bucket-1", RetentionDays: 7,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCleanupReadsDefaultsAndSettings(t *testing.T) {
	t.Parallel()
	byDefault := config.Cleanup{
		Stack: "trial", Table: "inbox", LogLevel: slog.LevelInfo, HoldsTable: "holds", Bucket: "proofs", CheckTags: true, DeleteConcurrency: 4,
		SliceBudget: 240 * time.Second, LeaseDuration: 90 * time.Second, ScanCeiling: 10, AttemptCeiling: 12, RetentionDays: 90,
	}
	given := byDefault
	given.BucketOwner, given.DeleteScopes = "123456789012", []string{"warehouse:wh-17", "listing:4821"}
	given.DeleteConcurrency, given.SliceBudget, given.LeaseDuration = 1, 2*time.Second, time.Minute
	given.CheckTags, given.ReportBucket, given.ReportBucketOwner = false, "reports", "210987654321"
	given.ScanCeiling, given.AttemptCeiling, given.RetentionDays = 2, 3, 1
	all := byDefault
	all.DeleteScopes = []string{"*"}
	for name, c := range map[string]struct {
		env  []string
		want config.Cleanup
	}{
		"what is not given has its default": {cleanupEnv(), byDefault},
		"an empty list of scopes is none":   {cleanupEnv("CUSTODY_DELETE_SCOPES=", "CUSTODY_BUCKET_OWNER="), byDefault},
		"a star is all scopes":              {cleanupEnv("CUSTODY_DELETE_SCOPES=*"), all},
		"every setting is read": {cleanupEnv("CUSTODY_BUCKET_OWNER=123456789012", "CUSTODY_DELETE_SCOPES=warehouse:wh-17,listing:4821",
			"CUSTODY_DELETE_CONCURRENCY=1", "CUSTODY_SLICE_BUDGET=2s", "CUSTODY_LEASE_DURATION=1m", "CUSTODY_SCAN_CEILING=2",
			"CUSTODY_ATTEMPT_CEILING=3", "CUSTODY_RETENTION_DAYS=1", "CUSTODY_CHECK_TAGS=false", "CUSTODY_REPORT_BUCKET=reports",
			"CUSTODY_REPORT_BUCKET_OWNER=210987654321"), given},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := config.LoadCleanup(c.env)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSweeperReadsDefaultsAndSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  []string
		want config.Sweeper
	}{
		"what is not given has its default": {sweeperEnv(),
			config.Sweeper{Stack: "trial", Table: "inbox", WakeAfter: 2 * time.Minute, SweepLimit: 500, AttemptCeiling: 12}},
		"every setting is read": {sweeperEnv("CUSTODY_WAKE_AFTER=2s", "CUSTODY_SWEEP_LIMIT=7", "CUSTODY_ATTEMPT_CEILING=3", "CUSTODY_LOG_LEVEL=INFO",
			"CUSTODY_RESERVATIONS_TABLE=seats"),
			config.Sweeper{Stack: "trial", Table: "inbox", ReservationsTable: "seats", WakeAfter: 2 * time.Second, SweepLimit: 7, AttemptCeiling: 3}},
		"a setting of another function is known and passed by": {sweeperEnv("CUSTODY_MIN_OBJECT_AGE=0s"),
			config.Sweeper{Stack: "trial", Table: "inbox", WakeAfter: 2 * time.Minute, SweepLimit: 500, AttemptCeiling: 12}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := config.LoadSweeper(c.env)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// load reads the environment as the function of the given name would.
func load(f config.Function, environ []string) error {
	var err error
	switch f {
	case config.FunctionWebhook:
		_, err = config.LoadWebhook(environ)
	case config.FunctionCleanup:
		_, err = config.LoadCleanup(environ)
	case config.FunctionSweeper:
		_, err = config.LoadSweeper(environ)
	}
	return err
}

func TestWrongSettingsAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f     config.Function
		env   []string
		wrong []string // variables, in order
	}{
		"nothing at all is given to the webhook": {config.FunctionWebhook, nil,
			[]string{"CUSTODY_STACK", "CUSTODY_TABLE", "CUSTODY_BUCKET", "CUSTODY_SIGNING_SECRET"}},
		"nothing at all is given to the cleanup": {config.FunctionCleanup, nil,
			[]string{"CUSTODY_STACK", "CUSTODY_TABLE", "CUSTODY_BUCKET", "CUSTODY_HOLDS_TABLE", "CUSTODY_REPORT_BUCKET"}},
		"every problem is named at once": {config.FunctionSweeper,
			sweeperEnv("CUSTODY_WAKE_AFTER=soon", "CUSTODY_SWEEP_LIMIT=0", "CUSTODY_ATTEMPT_CEILING=twelve", "CUSTODY_LOG_LEVEL=WARN"),
			[]string{"CUSTODY_LOG_LEVEL", "CUSTODY_ATTEMPT_CEILING", "CUSTODY_WAKE_AFTER", "CUSTODY_SWEEP_LIMIT"}},
		"a required setting is given and empty": {config.FunctionSweeper, []string{"CUSTODY_STACK=", "CUSTODY_TABLE=inbox"}, []string{"CUSTODY_STACK"}},
		"a setting with a default is given and empty": {config.FunctionWebhook, webhookEnv("CUSTODY_MIN_OBJECT_AGE="),
			[]string{"CUSTODY_MIN_OBJECT_AGE"}},
		"a misspelt safety setting": {config.FunctionWebhook, webhookEnv("CUSTODY_MIN_OBJECT_AGES=48h"), []string{"CUSTODY_MIN_OBJECT_AGES"}},
		"a setting of a later version": {config.FunctionCleanup, cleanupEnv("CUSTODY_FUTURE_GUARD=true", "CUSTODY_ADVICE=none"),
			[]string{"CUSTODY_ADVICE", "CUSTODY_FUTURE_GUARD"}},
		"a report into the bucket that is cleaned up": {config.FunctionCleanup, cleanupEnv("CUSTODY_REPORT_BUCKET=proofs"),
			[]string{"CUSTODY_REPORT_BUCKET"}},
		"a report without a bucket": {config.FunctionCleanup, cleanupEnv("CUSTODY_REPORT_BUCKET="), []string{"CUSTODY_REPORT_BUCKET"}},
		"reservations without their table": {config.FunctionWebhook, webhookEnv("CUSTODY_COMMANDS=cleanup.run,reservation.expire"),
			[]string{"CUSTODY_RESERVATIONS_TABLE"}},
		"both a secret and keys": {config.FunctionWebhook,
			webhookEnv("CUSTODY_SIGNING_SECRET=arn:aws:secretsmanager:eu-central-1:123456789012:secret:custody-AbCdEf"), []string{"CUSTODY_SIGNING_SECRET"}},
		"a wrong secret is named once": {config.FunctionWebhook,
			[]string{"CUSTODY_STACK=trial", "CUSTODY_TABLE=inbox", "CUSTODY_BUCKET=proofs", "CUSTODY_SIGNING_SECRET=custody"}, []string{"CUSTODY_SIGNING_SECRET"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems, ok := errors.AsType[config.Problems](load(c.f, c.env))
			if !ok {
				t.Fatalf("no problems in %v", load(c.f, c.env))
			}
			var got []string
			for _, p := range problems {
				got = append(got, p.Variable)
				if !strings.Contains(problems.Error(), p.Variable) {
					t.Errorf("%q does not name %s", problems.Error(), p.Variable)
				}
			}
			if diff := cmp.Diff(c.wrong, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatWasRightComesWithTheError(t *testing.T) {
	t.Parallel()
	got, err := config.LoadSweeper(sweeperEnv("CUSTODY_WAKE_AFTER=0s"))
	if err == nil {
		t.Fatal("a wake after 0s was taken")
	}
	if got.Stack != "trial" {
		t.Errorf("the stack is lost: %+v", got)
	}
}

func TestMessageNamesVariableValueAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  []string
		says []string
	}{
		"a duration without a unit": {sweeperEnv("CUSTODY_WAKE_AFTER=120"), []string{"CUSTODY_WAKE_AFTER", `"120"`, "a duration from 1s to 1h"}},
		"a slip of one letter":      {sweeperEnv("CUSTODY_WAKE_AFTR=2m"), []string{"CUSTODY_WAKE_AFTR", "nearest name is CUSTODY_WAKE_AFTER"}},
		"a missing table":           {[]string{"CUSTODY_STACK=trial"}, []string{"CUSTODY_TABLE is not given", "name of the inbox table"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.LoadSweeper(c.env)
			for _, want := range c.says {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
		})
	}
}
