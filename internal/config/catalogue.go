package config

import (
	"slices"
	"strings"
	"time"

	"custody/internal/command"
	"custody/internal/signature"
)

// Function is who reads a setting.
type Function string

// The functions.
const (
	FunctionWebhook Function = "webhook"
	FunctionCleanup Function = "cleanup"
	FunctionSweeper Function = "sweeper"
)

// Prefix starts the name of every setting.
const Prefix = "CUSTODY_"

// Setting is one environment variable of the functions. Where it is a parameter of the template too, default and check are
// the same in both places, which a test compares.
type Setting struct {
	Name     string // CUSTODY_LIKE_THIS
	Template bool   // whether the template has a parameter LikeThis; the others come from the stack itself, or are for local work
	Default  string
	Required bool // there is no default, and it must be given
	Secret   bool // its value is never shown
	ReadBy   []Function

	// Exactly one of the three checks the form; a value must match as a whole.
	Pattern  string   // AllowedPattern of the parameter
	Values   []string // AllowedValues
	Min, Max int64    // MinValue and MaxValue of a number, where Max is not 0

	// What no pattern can say is checked by the functions alone.
	Shortest, Longest time.Duration // of a duration, where Longest is not 0
	more              func(value string) error

	Allowed string // what is allowed, in words
}

// Parameter is the name of the template's parameter: MaxBodyBytes for CUSTODY_MAX_BODY_BYTES.
func (s Setting) Parameter() string {
	var b strings.Builder
	for word := range strings.SplitSeq(strings.TrimPrefix(s.Name, Prefix), "_") {
		b.WriteString(word[:1] + strings.ToLower(word[1:]))
	}
	return b.String()
}

// For lists the settings that the function reads, in the order of the catalogue.
func For(f Function) []Setting {
	return slices.DeleteFunc(Settings(), func(s Setting) bool { return !slices.Contains(s.ReadBy, f) })
}

// Lookup finds a setting by the name of its variable.
func Lookup(name string) (Setting, bool) {
	for _, s := range Settings() {
		if s.Name == name {
			return s, true
		}
	}
	return Setting{}, false
}

// The forms that several settings share. Leading zeros are left out, so that no duration but "0s" is zero.
const (
	someTime     = `([1-9][0-9]{0,5}(h|m|s))+`
	shortTime    = `([1-9][0-9]{0,5}(m|s))+`
	tableName    = `[A-Za-z0-9_.-]{3,255}`             // DynamoDB's naming rules
	bucketName   = `[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]`  // S3's general purpose buckets
	identifier   = `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}` // the alphabet of delivery ids
	folders      = `([^,{}/\s]+/)*`
	onePrefix    = folders + `\{warehouse_id\}/` + folders // pod/{warehouse_id}/
	oneListing   = folders + `\{listing_id\}/` + folders   // search/{listing_id}/
	secretARN    = `arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{6}`
	maxBody      = 4 << 20 // an event of at most 6 MB holds the body in base64
	webhookLimit = 9999 * time.Millisecond
)

// oneScope is warehouse:wh-17 or listing:4821. A word that no run's scope begins with would be found by the function's start only.
func oneScope() string { return `(` + strings.Join(command.ScopeWords(), "|") + `):` + identifier }

// commandLists are the lists of command types that have none twice.
func commandLists() string {
	const cleanup, listing, reservation = `cleanup[.]run`, `listing[.]expire`, `reservation[.]expire`
	beginning := func(first, one, other string) string {
		return first + `(,` + one + `(,` + other + `)?|,` + other + `(,` + one + `)?)?`
	}
	return `(` + beginning(cleanup, listing, reservation) + `|` + beginning(listing, reservation, cleanup) + `|` +
		beginning(reservation, cleanup, listing) + `)`
}

// warehousePrefixes asks those who fill them in.
func warehousePrefixes(value string) error {
	return command.CheckPrefixes(command.WarehousePlaceholder, strings.Split(value, ","))
}

// listingPrefixes does the same for listings.
func listingPrefixes(value string) error {
	return command.CheckPrefixes(command.ListingPlaceholder, strings.Split(value, ","))
}

// Settings is the catalogue of every setting there is.
func Settings() []Setting {
	all := []Function{FunctionWebhook, FunctionCleanup, FunctionSweeper}
	webhook, cleanup, sweeper := []Function{FunctionWebhook}, []Function{FunctionCleanup}, []Function{FunctionSweeper}
	return []Setting{
		{Name: "CUSTODY_STACK", Required: true, ReadBy: all,
			Pattern: `[A-Za-z][A-Za-z0-9-]{0,127}`, Allowed: "a stack's name: a letter, then at most 127 letters, digits and -"},
		{Name: "CUSTODY_TABLE", Required: true, ReadBy: all,
			Pattern: tableName, Allowed: "the name of the inbox table, 3 to 255 characters of A-Z a-z 0-9 _ . -"},
		{Name: "CUSTODY_LOG_LEVEL", Template: true, Default: "INFO", ReadBy: all,
			Values: []string{"DEBUG", "INFO"}, Allowed: "DEBUG or INFO; above INFO the metrics, which are log lines, would be dropped"},

		{Name: "CUSTODY_COMMANDS", Template: true, Default: "cleanup.run", ReadBy: webhook,
			Pattern: commandLists(),
			Allowed: "a comma-separated list of command types, each once, of cleanup.run, listing.expire and reservation.expire"},
		{Name: "CUSTODY_SIGNATURE_SCHEME", Template: true, Default: "timestamped", ReadBy: webhook,
			Values: signature.SchemeNames(), Allowed: "one of " + strings.Join(signature.SchemeNames(), ", ")},
		{Name: "CUSTODY_SIGNING_SECRET", Template: true, ReadBy: webhook,
			Pattern: `(` + secretARN + `)?`, Allowed: "the whole ARN of a Secrets Manager secret, with its six random characters"},
		{Name: "CUSTODY_SIGNING_KEYS", Secret: true, ReadBy: webhook,
			Pattern: `(?s)(\s*\{.*\}\s*)?`, Allowed: "a JSON object from key id to key, for local work"},
		{Name: "CUSTODY_REPLAY_WINDOW", Template: true, Default: "300s", ReadBy: webhook,
			// From the first receipt to the last moment at which a copy is fresh it can be two windows, where the sender's clock
			// runs ahead. Items live for a day at least (RetentionDays), so such a copy always meets its first.
			Pattern: someTime, Shortest: time.Second, Longest: 12 * time.Hour, Allowed: "a duration from 1s to 12h"},
		{Name: "CUSTODY_PATH", Template: true, Default: "/", ReadBy: webhook,
			Pattern: `/[A-Za-z0-9._~/-]{0,255}`, Allowed: "a path that starts with /, at most 256 characters of A-Z a-z 0-9 . _ ~ / -"},
		{Name: "CUSTODY_MAX_BODY_BYTES", Template: true, Default: "262144", ReadBy: webhook,
			Min: 1, Max: maxBody, Allowed: "a number from 1 to 4194304 (4 MiB)"},
		{Name: "CUSTODY_ACK_TIMEOUT", Template: true, Default: "5s", ReadBy: webhook,
			Pattern: `([1-9]s|[1-9][0-9]{2,3}ms)`, Shortest: 100 * time.Millisecond, Longest: webhookLimit,
			Allowed: "1s to 9s, or 100ms to 9999ms: below the webhook's timeout of 10s"},
		{Name: "CUSTODY_RECORD_ONLY", Template: true, Default: "false", ReadBy: webhook,
			Values: []string{"true", "false"}, Allowed: "true or false"},
		{Name: "CUSTODY_WAREHOUSE_PREFIXES", Template: true, Default: "pod/{warehouse_id}/,labels/{warehouse_id}/", ReadBy: webhook,
			Pattern: onePrefix + `(,` + onePrefix + `)*`, more: warehousePrefixes,
			Allowed: "a comma-separated list of key prefixes without spaces that cannot overlap for any ids, " +
				"each with {warehouse_id} once as a whole path segment, and with / at its end"},
		{Name: "CUSTODY_LISTING_PREFIXES", Template: true, Default: "search/{listing_id}/,reservations/{listing_id}/", ReadBy: webhook,
			Pattern: oneListing + `(,` + oneListing + `)*`, more: listingPrefixes,
			Allowed: "a comma-separated list of key prefixes without spaces that cannot overlap for any ids, " +
				"each with {listing_id} once as a whole path segment, and with / at its end"},
		{Name: "CUSTODY_BUCKET", Template: true, Required: true, ReadBy: []Function{FunctionWebhook, FunctionCleanup},
			Pattern: bucketName, more: bucketNotAddress,
			Allowed: "the name of a bucket, 3 to 63 characters of a-z 0-9 . - (no ARN, no s3://, no IP address)"},
		{Name: "CUSTODY_MIN_OBJECT_AGE", Template: true, Default: "24h", ReadBy: webhook,
			Pattern: `(0s|` + someTime + `)`, Longest: maxDuration, Allowed: "a duration such as 24h, 90m or 1h30m, or 0s"},

		{Name: "CUSTODY_RESERVATIONS_TABLE", Template: true, ReadBy: []Function{FunctionWebhook, FunctionSweeper},
			Pattern: `(` + tableName + `)?`, Allowed: "empty, or the name of the reservations table, 3 to 255 characters of A-Z a-z 0-9 _ . -"},

		{Name: "CUSTODY_HOLDS_TABLE", Required: true, ReadBy: cleanup,
			Pattern: tableName, Allowed: "the name of the holds table, 3 to 255 characters of A-Z a-z 0-9 _ . -"},
		{Name: "CUSTODY_BUCKET_OWNER", Template: true, ReadBy: cleanup,
			Pattern: `([0-9]{12})?`, Allowed: "empty or an account id of 12 digits"},
		{Name: "CUSTODY_DELETE_SCOPES", Template: true, ReadBy: cleanup,
			Pattern: `(\*|` + oneScope() + `(,` + oneScope() + `)*)?`,
			Allowed: "empty, * or a comma-separated list of scopes such as warehouse:wh-17 (the words are " +
				strings.Join(command.ScopeWords(), " and ") + ")"},
		{Name: "CUSTODY_CHECK_TAGS", Template: true, Default: "true", ReadBy: cleanup,
			Values: []string{"true", "false"}, Allowed: "true or false"},
		{Name: "CUSTODY_REPORT_BUCKET", Template: true, ReadBy: cleanup,
			Pattern: `(none|` + bucketName + `)?`, more: bucketNotAddress,
			Allowed: "the name of a bucket other than CUSTODY_BUCKET, or none"},
		{Name: "CUSTODY_REPORT_BUCKET_OWNER", Template: true, ReadBy: cleanup,
			Pattern: `([0-9]{12})?`, Allowed: "empty or an account id of 12 digits"},
		{Name: "CUSTODY_DELETE_CONCURRENCY", Template: true, Default: "4", ReadBy: cleanup,
			Min: 1, Max: 32, Allowed: "a number from 1 to 32"},
		{Name: "CUSTODY_SLICE_BUDGET", Template: true, Default: "240s", ReadBy: cleanup,
			// A Lambda function lives for 900 s at most, and a slice ends 15 s before that in any case.
			Pattern: shortTime, Shortest: time.Second, Longest: 885 * time.Second, Allowed: "a duration from 1s to 885s"},
		{Name: "CUSTODY_LEASE_DURATION", Template: true, Default: "90s", ReadBy: cleanup,
			// A lease is renewed by a checkpoint when a third of it is used, and there is at most one checkpoint a second:
			// shorter than 6 s, a third would not hold two of them. A dead worker's lease blocks its run for the whole of it.
			Pattern: shortTime, Shortest: 6 * time.Second, Longest: 15 * time.Minute, Allowed: "a duration from 6s to 15m"},
		{Name: "CUSTODY_SCAN_CEILING", Template: true, Default: "10", ReadBy: cleanup,
			Min: 2, Max: 1000, Allowed: "a number from 2 to 1000: the scan that proves a run empty needs one of its own"},
		{Name: "CUSTODY_ATTEMPT_CEILING", Template: true, Default: "12", ReadBy: []Function{FunctionCleanup, FunctionSweeper},
			Min: 1, Max: 1000, Allowed: "a number from 1 to 1000"},
		{Name: "CUSTODY_RETENTION_DAYS", Template: true, Default: "90", ReadBy: []Function{FunctionWebhook, FunctionCleanup},
			Min: 1, Max: 3650, Allowed: "a number of days from 1 to 3650"},

		{Name: "CUSTODY_WAKE_AFTER", Template: true, Default: "2m", ReadBy: sweeper,
			// The backoff between wakes never grows beyond an hour, so it cannot begin beyond it.
			Pattern: someTime, Shortest: time.Second, Longest: time.Hour, Allowed: "a duration from 1s to 1h"},
		{Name: "CUSTODY_SWEEP_LIMIT", Template: true, Default: "500", ReadBy: sweeper,
			Min: 1, Max: 10000, Allowed: "a number from 1 to 10000"},
	}
}
