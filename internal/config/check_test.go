package config_test

import (
	"errors"
	"strings"
	"testing"

	"custody/internal/config"
)

func TestCheckTakesAndRefuses(t *testing.T) {
	t.Parallel()
	arn := "arn:aws:secretsmanager:eu-central-1:123456789012:secret:"
	for name, c := range map[string]struct{ takes, refuses []string }{
		"CUSTODY_STACK":     {[]string{"trial", "T-1"}, []string{"", "1st", "a b", strings.Repeat("a", 129)}},
		"CUSTODY_TABLE":     {[]string{"abc", "a_b.c-d"}, []string{"", "ab", "a#b", "inbox\n"}},
		"CUSTODY_LOG_LEVEL": {[]string{"DEBUG", "INFO"}, []string{"", "info", "WARN", "ERROR"}},
		"CUSTODY_COMMANDS": {[]string{"cleanup.run", "listing.expire", "reservation.expire,cleanup.run", "listing.expire,cleanup.run,reservation.expire"},
			[]string{"", "cleanup.walk", "cleanup.run,", "cleanup.run, listing.expire", "cleanup.run,cleanup.run", "cleanup-run", "listing.expire,listing.expire,cleanup.run"}},
		"CUSTODY_RESERVATIONS_TABLE": {[]string{"", "seats", "a.b-c_D"}, []string{"ab", "seats!", strings.Repeat("a", 256)}},
		"CUSTODY_LISTING_PREFIXES": {[]string{"{listing_id}/", "search/{listing_id}/,reservations/{listing_id}/"},
			[]string{"", "search/", "search/{listing_id}", "search/{warehouse_id}/", "search/{listing_id}/,search/{listing_id}/new/", "/{listing_id}/"}},
		"CUSTODY_SIGNATURE_SCHEME": {[]string{"timestamped", "standard-webhooks", "body"}, []string{"", "none", "Body"}},
		"CUSTODY_SIGNING_SECRET":   {[]string{"", arn + "custody/keys-AbCdEf"}, []string{"custody", arn + "custody", arn + "*-AbCdEf"}},
		"CUSTODY_SIGNING_KEYS":     {[]string{"", `{"k1":"a"}`, " {\n} "}, []string{"a key", `["k1"]`}},
		"CUSTODY_REPLAY_WINDOW":    {[]string{"1s", "300s", "1h30m", "12h"}, []string{"", "0s", "-5m", "300", "5", "12h1s", "1.5h", "5m "}},
		"CUSTODY_PATH":             {[]string{"/", "/a/b-c_d.e~f"}, []string{"", "a", "/a b", "/a?b", "/ü"}},
		"CUSTODY_MAX_BODY_BYTES":   {[]string{"1", "4194304"}, []string{"", "0", "-1", "4194305", "256k", "1.5"}},
		"CUSTODY_ACK_TIMEOUT":      {[]string{"100ms", "9999ms", "1s", "9s"}, []string{"", "0s", "99ms", "10s", "1m"}},
		"CUSTODY_RECORD_ONLY":      {[]string{"true", "false"}, []string{"", "yes", "1", "True"}},
		"CUSTODY_BUCKET":           {[]string{"abc", "a.b-c", "123"}, []string{"", "ab", "Abc", "a_b", "-ab", "192.168.1.1", "a..b", "s3://abc"}},
		"CUSTODY_MIN_OBJECT_AGE":   {[]string{"0s", "24h", "90m", "8760h"}, []string{"", "0", "-1h", "1d", "999999h999999h999999h"}},
		"CUSTODY_HOLDS_TABLE":      {[]string{"holds"}, []string{"", "h"}},
		"CUSTODY_BUCKET_OWNER":     {[]string{"", "123456789012"}, []string{"12345678901", "1234567890123", "12345678901a"}},
		"CUSTODY_DELETE_SCOPES": {[]string{"", "*", "warehouse:wh-17", "warehouse:a,listing:4821", "warehouse:a:b"},
			[]string{"*,warehouse:a", "all", "warehouse:", "warehous:a", "warehouse:a,", "warehouse:a, warehouse:b", "warehouse:*", "true"}},
		"CUSTODY_DELETE_CONCURRENCY": {[]string{"1", "32"}, []string{"", "0", "33"}},
		"CUSTODY_SLICE_BUDGET":       {[]string{"1s", "4m", "885s"}, []string{"", "0s", "886s", "1h", "500ms"}},
		"CUSTODY_LEASE_DURATION":     {[]string{"6s", "90s", "15m"}, []string{"", "0s", "5s", "901s", "1h"}},
		"CUSTODY_SCAN_CEILING":       {[]string{"2", "1000"}, []string{"", "1", "1001"}},
		"CUSTODY_ATTEMPT_CEILING":    {[]string{"1", "1000"}, []string{"", "0", "1001"}},
		"CUSTODY_RETENTION_DAYS":     {[]string{"1", "3650"}, []string{"", "0", "3651", "90d"}},
		"CUSTODY_WAKE_AFTER":         {[]string{"1s", "2m", "1h"}, []string{"", "0s", "61m", "2h"}},
		"CUSTODY_SWEEP_LIMIT":        {[]string{"1", "10000"}, []string{"", "0", "10001"}},
		"CUSTODY_WAREHOUSE_PREFIXES": {
			[]string{"{warehouse_id}/", "pod/{warehouse_id}/", "{warehouse_id}/pod/,{warehouse_id}/labels/", "a/{warehouse_id}/,b.c/{warehouse_id}/d/e/"},
			[]string{"", "pod/", "pod/{warehouse_id}", "pod/{warehouse_id}x/", "pod/{id}/", "/pod/{warehouse_id}/", "pod//{warehouse_id}/",
				"pod/{warehouse_id}/,", "pod/{warehouse_id}/, labels/{warehouse_id}/", "pod/{warehouse_id}/{warehouse_id}/",
				"pod/{warehouse_id}/,pod/{warehouse_id}/", "pod/{warehouse_id}/,pod/{warehouse_id}/new/", "{warehouse_id}/,labels/{warehouse_id}/",
				"a/{warehouse_id}/,{warehouse_id}/b/", strings.Repeat("a", 900) + "/{warehouse_id}/"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, value := range c.takes {
				if err := config.Check(name, value); err != nil {
					t.Errorf("%q: %v", value, err)
				}
			}
			for _, value := range c.refuses {
				problem, ok := errors.AsType[*config.Problem](config.Check(name, value))
				if !ok || problem.Variable != name || problem.Allowed == "" {
					t.Errorf("%q was answered with %v", value, config.Check(name, value))
				}
			}
		})
	}
}

func TestEveryDefaultIsTaken(t *testing.T) {
	t.Parallel()
	for _, s := range config.Settings() {
		if s.Required {
			continue
		}
		if err := config.Check(s.Name, s.Default); err != nil {
			t.Errorf("the default of %s is refused: %v", s.Name, err)
		}
	}
	if err := config.Check("CUSTODY_NOTHING", "x"); err == nil {
		t.Error("an unknown setting was taken")
	}
}

func TestParameterNamesFollowTheVariables(t *testing.T) {
	t.Parallel()
	s, ok := config.Lookup("CUSTODY_MAX_BODY_BYTES")
	if !ok || s.Parameter() != "MaxBodyBytes" {
		t.Errorf("got %q", s.Parameter())
	}
}

func TestLongValueIsCutInTheMessage(t *testing.T) {
	t.Parallel()
	err := config.Check("CUSTODY_BUCKET", strings.Repeat("x", 5000))
	if err == nil || len(err.Error()) > 500 || !strings.Contains(err.Error(), "xxx") {
		t.Errorf("got %v", err)
	}
}
