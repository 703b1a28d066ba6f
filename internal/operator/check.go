package operator

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"custody/internal/inbox"
	"custody/internal/report"
	"custody/internal/retention"
)

// The stages of a check, in their order.
const (
	StageStack     = "stack"
	StageBucket    = "bucket"
	StageKey       = "signing key"
	StageDelivery  = "delivery"
	StageDuplicate = "duplicate"
	StageForgery   = "forgery"
	StageRun       = "run"
	StageCanary    = "canary"
	StageReport    = "report"
	StageSweeper   = "sweeper"
	StageAlarms    = "alarms"
)

// CheckAnswer is what the webhook answered to a delivery of the check.
type CheckAnswer struct {
	Status  int
	Outcome inbox.Outcome
	Means   string // in words
}

// senders make deliveries of the check.
type senders interface {
	// Key finds the key that the deliveries are signed with, and says where it is from.
	Key(ctx context.Context) (string, error)
	// Send signs the body and sends it, again where that helps, as a producer does.
	Send(ctx context.Context, id string, body []byte) (CheckAnswer, error)
	// Forge sends a body that differs by one byte from what was signed, once.
	Forge(ctx context.Context, id string, body []byte) (CheckAnswer, error)
}

// canaries put canaries and have the cleanup function delete them.
type canaries interface {
	// DefaultRetention says in words how long the bucket keeps every new version, whoever wants to delete it; "" where it does not.
	DefaultRetention(ctx context.Context) (string, error)
	// Put puts versions of the key and a delete marker over them, and returns their ids: all that were put, with an error too.
	Put(ctx context.Context, key string) ([]string, error)
	// Invoke has the function delete them.
	Invoke(ctx context.Context, key string) (inbox.Canary, error)
	// Left lists the ids that the key still has.
	Left(ctx context.Context, key string) ([]string, error)
}

// reports reads the audit trail back.
type reports interface {
	// Read gives the objects of a run; none where there are none.
	Read(ctx context.Context, commandType, runKey string) iter.Seq2[report.Stored, error]
}

// watchers know what a stack's functions have published.
type watchers interface {
	// Swept is the last sweep since the given time, and the age of the oldest open run that it published; false for none.
	Swept(ctx context.Context, since, now time.Time) (at time.Time, oldest time.Duration, found bool, err error)
	// Alarms are the alarms of the stack and their states.
	Alarms(ctx context.Context) ([]Alarm, error)
}

// Alarm is an alarm of the stack and its state.
type Alarm struct {
	Name   string // its heading in the runbook
	State  string // CloudWatch's word: OK, ALARM, INSUFFICIENT_DATA; or MISSING
	Reason string
}

// Check finds out whether a deployed stack works, by using it: a delivery of the reserved warehouse, whose run is always dry,
// and a canary, which proves the one permission that no dry run can.
type Check struct {
	*Operator // of the stack: its inbox, and its clock

	Stack    func(ctx context.Context) (string, error) // says what was read of it
	Bucket   func(ctx context.Context) (retention.Bucket, error)
	Senders  senders
	Canaries canaries
	Reports  reports
	Watchers watchers
	// Skip says for stages why there is nothing to look at; their parts may be nil.
	Skip map[string]string

	By           string // who checks, as it is kept where the check dismisses its own run
	ID           string // of this check: an id without a full stop, never the same twice
	Began        time.Time
	MinObjectAge time.Duration // the stack's
	Within       time.Duration // how long the run may take, and a sweep be waited for
}

// Run goes through the stages, and tells of each when it is over. An error beside the results is the end of ctx.
func (c *Check) Run(ctx context.Context, tell func(StageResult)) ([]StageResult, error) {
	var stages []stage
	for _, s := range []stage{
		{StageStack, "", c.Stack},
		{StageBucket, "", c.bucket},
		{StageKey, "", func(ctx context.Context) (string, error) { return c.Senders.Key(ctx) }},
		{StageDelivery, StageKey, c.delivery},
		{StageDuplicate, StageDelivery, c.duplicate},
		{StageForgery, StageKey, c.forgery},
		{StageRun, StageDelivery, c.run},
		{StageCanary, StageBucket, c.canary},
		{StageReport, StageCanary, c.report},
		{StageSweeper, "", c.sweeper},
		{StageAlarms, "", c.alarms},
	} {
		if why, none := c.Skip[s.name]; none {
			s.after, s.do = "", func(context.Context) (string, error) { return "", skip("%s", why) }
		}
		stages = append(stages, s)
	}
	results := inOrder(ctx, stages, c.Now, tell)
	if ctx.Err() != nil {
		return results, context.Cause(ctx)
	}
	return results, nil
}

func (c *Check) bucket(ctx context.Context) (string, error) {
	b, err := c.Bucket(ctx)
	switch {
	case err != nil:
		return "", advised(err)
	case b.Versioning == retention.VersioningNever:
		return "", fmt.Errorf("its versioning was never enabled, and must be Enabled: every run fails with %s", inbox.CategoryVersioningOff)
	case b.Versioning != retention.VersioningEnabled:
		return "", fmt.Errorf("its versioning is %s, and must be Enabled: what is put now has no version id of its own, and is left alone", b.Versioning)
	case b.MFADelete:
		return "", fmt.Errorf("it has MFA delete: every run fails with %s, since no function has a second factor", inbox.CategoryMFADelete)
	case b.ObjectLock:
		return "versioning Enabled, MFA delete off, Object Lock on: locked versions are kept", nil
	}
	return "versioning Enabled, MFA delete off", nil
}

// advised adds what cures an error of a category.
func advised(err error) error {
	c := inbox.CategoryOf(err)
	if c == inbox.CategoryInternal {
		return err
	}
	return &advisedError{c, err}
}

type advisedError struct {
	category inbox.Category
	err      error
}

func (e *advisedError) Error() string { return advisedText(e.category, e.err.Error()) }

func (e *advisedError) Unwrap() error { return e.err }

// advisedText is a problem of a category with what cures it. A problem may begin with its category, and says it once.
func advisedText(c inbox.Category, problem string) string {
	return fmt.Sprintf("%s: %s (%s; read %s)", c, strings.TrimPrefix(problem, string(c)+": "), Advise(c).Do, Heading(c))
}
