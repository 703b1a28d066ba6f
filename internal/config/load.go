package config

import (
	"log/slog"
	"time"

	"custody/internal/command"
)

// Webhook holds the settings of the webhook function.
type Webhook struct {
	Stack    string
	Table    string
	LogLevel slog.Level

	Commands        []string // accepted types; the first is that of a payload without one
	SignatureScheme string
	SigningSecret   string // ARN of the keyring in Secrets Manager, or
	SigningKeys     Secret // the keyring itself; exactly one of the two is set
	ReplayWindow    time.Duration
	Path            string
	MaxBodyBytes    int
	AckTimeout      time.Duration
	RecordOnly      bool

	WarehousePrefixes []string // templates with {warehouse_id}
	ListingPrefixes   []string // templates with {listing_id}
	Bucket            string
	MinObjectAge      time.Duration
	ReservationsTable string // "" where Commands has no reservation.expire
	RetentionDays     int
}

// Cleanup holds the settings of the cleanup function.
type Cleanup struct {
	Stack    string
	Table    string
	LogLevel slog.Level

	HoldsTable        string
	Bucket            string
	BucketOwner       string   // account id, "" for the account that the role belongs to
	DeleteScopes      []string // empty: every run is a dry run; "*" alone: every run deletes
	CheckTags         bool
	ReportBucket      string // "" where no report is written
	ReportBucketOwner string // as BucketOwner
	DeleteConcurrency int
	SliceBudget       time.Duration
	LeaseDuration     time.Duration
	ScanCeiling       int
	AttemptCeiling    int
	RetentionDays     int
}

// Sweeper holds the settings of the sweeper function.
type Sweeper struct {
	Stack    string
	Table    string
	LogLevel slog.Level

	ReservationsTable string // "" where the stack takes no reservation.expire
	WakeAfter         time.Duration
	SweepLimit        int
	AttemptCeiling    int
}

// LoadWebhook reads the settings of the webhook from an environment in the form of os.Environ. The error is Problems and
// names all of them; what was right is returned with it, so that the line about it can name the stack.
func LoadWebhook(environ []string) (Webhook, error) {
	r := newReader(FunctionWebhook, environ)
	w := Webhook{
		Stack: r.text("CUSTODY_STACK"), Table: r.text("CUSTODY_TABLE"), LogLevel: r.level("CUSTODY_LOG_LEVEL"),
		Commands: r.list("CUSTODY_COMMANDS"), SignatureScheme: r.text("CUSTODY_SIGNATURE_SCHEME"),
		SigningSecret: r.text("CUSTODY_SIGNING_SECRET"), SigningKeys: NewSecret(r.text("CUSTODY_SIGNING_KEYS")),
		ReplayWindow: r.duration("CUSTODY_REPLAY_WINDOW"), Path: r.text("CUSTODY_PATH"),
		MaxBodyBytes: r.number("CUSTODY_MAX_BODY_BYTES"), AckTimeout: r.duration("CUSTODY_ACK_TIMEOUT"),
		RecordOnly:        r.text("CUSTODY_RECORD_ONLY") == "true",
		WarehousePrefixes: r.list("CUSTODY_WAREHOUSE_PREFIXES"), ListingPrefixes: r.list("CUSTODY_LISTING_PREFIXES"),
		Bucket: r.text("CUSTODY_BUCKET"), MinObjectAge: r.duration("CUSTODY_MIN_OBJECT_AGE"),
		ReservationsTable: r.text("CUSTODY_RESERVATIONS_TABLE"), RetentionDays: r.number("CUSTODY_RETENTION_DAYS"),
	}
	r.neededFor("CUSTODY_RESERVATIONS_TABLE", "CUSTODY_COMMANDS", command.ReservationExpire)
	r.exactlyOne("CUSTODY_SIGNING_SECRET", "CUSTODY_SIGNING_KEYS")
	return w, r.err()
}

// LoadCleanup reads the settings of the cleanup function, as LoadWebhook does.
func LoadCleanup(environ []string) (Cleanup, error) {
	r := newReader(FunctionCleanup, environ)
	c := Cleanup{
		Stack: r.text("CUSTODY_STACK"), Table: r.text("CUSTODY_TABLE"), LogLevel: r.level("CUSTODY_LOG_LEVEL"),
		HoldsTable: r.text("CUSTODY_HOLDS_TABLE"), Bucket: r.text("CUSTODY_BUCKET"), BucketOwner: r.text("CUSTODY_BUCKET_OWNER"),
		DeleteScopes: r.list("CUSTODY_DELETE_SCOPES"), CheckTags: r.text("CUSTODY_CHECK_TAGS") == "true",
		ReportBucket:      r.reportBucket("CUSTODY_REPORT_BUCKET", "CUSTODY_BUCKET"),
		ReportBucketOwner: r.text("CUSTODY_REPORT_BUCKET_OWNER"), DeleteConcurrency: r.number("CUSTODY_DELETE_CONCURRENCY"),
		SliceBudget: r.duration("CUSTODY_SLICE_BUDGET"), LeaseDuration: r.duration("CUSTODY_LEASE_DURATION"),
		ScanCeiling: r.number("CUSTODY_SCAN_CEILING"), AttemptCeiling: r.number("CUSTODY_ATTEMPT_CEILING"),
		RetentionDays: r.number("CUSTODY_RETENTION_DAYS"),
	}
	return c, r.err()
}

// LoadSweeper reads the settings of the sweeper function, as LoadWebhook does.
func LoadSweeper(environ []string) (Sweeper, error) {
	r := newReader(FunctionSweeper, environ)
	s := Sweeper{
		Stack: r.text("CUSTODY_STACK"), Table: r.text("CUSTODY_TABLE"), LogLevel: r.level("CUSTODY_LOG_LEVEL"),
		ReservationsTable: r.text("CUSTODY_RESERVATIONS_TABLE"), WakeAfter: r.duration("CUSTODY_WAKE_AFTER"),
		SweepLimit: r.number("CUSTODY_SWEEP_LIMIT"), AttemptCeiling: r.number("CUSTODY_ATTEMPT_CEILING"),
	}
	return s, r.err()
}
