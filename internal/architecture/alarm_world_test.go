package architecture_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/cleanup"
	"custody/internal/command"
	"custody/internal/config"
	"custody/internal/inbox"
	"custody/internal/inbox/inboxtest"
	"custody/internal/keyring"
	"custody/internal/producer"
	"custody/internal/retention"
	"custody/internal/signature"
	"custody/internal/sweeper"
	"custody/internal/telemetry"
	"custody/internal/webhook"
)

// account is an account with one stack in it, whose clock is the test's: the features and the telemetry of the three functions, built
// with the settings that the template hands them, over a table in memory. What they log becomes metrics, as CloudWatch makes them of
// the embedded format; what AWS itself publishes is added as documented.
type account struct {
	t       *testing.T
	stack   rendered
	now     time.Time
	metrics metrics
	log     bytes.Buffer

	table  *shaky
	signer producer.Signer
	front  *webhook.Handler
	worker *cleanup.Worker
	sweep  *sweeper.Sweeper
	say    *telemetry.Telemetry
	sent   int // deliveries and wakes so far, which name the next

	sweeperDead bool
	noKey       bool
	denied      bool // S3 refuses the cleanup
}

// shaky is the table, which can fail.
type shaky struct {
	*inboxtest.Store
	down struct{ claims, reads bool }
	held map[string]bool // reservations to look at for the oldest
}

var errDown = inbox.Failed(inbox.CategoryUnavailable, errors.New("the table does not answer"))

func (s *shaky) Claim(ctx context.Context, c inbox.Claim) (*inbox.Existing, error) {
	if s.down.claims {
		return nil, errDown
	}
	return s.Store.Claim(ctx, c)
}

func (s *shaky) Rows(ctx context.Context, partition string) iter.Seq2[inbox.Run, error] {
	if s.down.reads {
		return func(yield func(inbox.Run, error) bool) { yield(inbox.Run{}, errDown) }
	}
	return s.Store.Rows(ctx, partition)
}

// OldestHeld is the application's index of the held reservations.
func (s *shaky) OldestHeld(_ context.Context, now time.Time) (time.Time, error) {
	if s.down.reads {
		return time.Time{}, errDown
	}
	var oldest time.Time
	for id := range s.held {
		r, _ := s.Reservation(id)
		if r.Status == inbox.ReservationHeld && !r.ExpiresAt.After(now) && (oldest.IsZero() || r.ExpiresAt.Before(oldest)) {
			oldest = r.ExpiresAt
		}
	}
	return oldest, nil
}

// Cached is none: the keys may be gone at any time.
func (a *account) Cached(string, time.Time) (signature.Keys, bool) { return nil, false }

// Active makes the account the webhook's source of keys.
func (a *account) Active(ctx context.Context, id string, at time.Time) (signature.Keys, error) {
	if a.noKey {
		return nil, keyring.ErrUnavailable
	}
	static, err := keyring.NewStatic(`{"k1": "the key of this test"}`, a.signer.Scheme)
	if err != nil {
		return nil, err
	}
	return static.Active(ctx, id, at)
}

// emptyBucket is a bucket without a version; denied, it is closed to the cleanup.
type emptyBucket struct{ *account }

func (b emptyBucket) Bucket(context.Context, string) (retention.Bucket, error) {
	if b.denied {
		return retention.Bucket{}, inbox.Failed(inbox.CategoryAccessDenied, errors.New("access denied"))
	}
	return retention.Bucket{Versioning: retention.VersioningEnabled}, nil
}

func (b emptyBucket) Versioning(context.Context, string) (retention.Versioning, error) {
	return retention.VersioningEnabled, nil
}

func (b emptyBucket) Marks(context.Context, string, []retention.Version, retention.Ask) ([]retention.Marks, error) {
	return nil, errors.New("there is nothing to ask about")
}

func (b emptyBucket) Page(context.Context, string, string, retention.Marker) (retention.Page, error) {
	return retention.Page{}, nil
}

func (b emptyBucket) Delete(context.Context, string, []retention.Version, time.Time) ([]retention.Fate, error) {
	return nil, errors.New("there is nothing to delete")
}

func (b emptyBucket) Covering(context.Context, string) ([]retention.Hold, error) { return nil, nil }

// environ is what the template hands a function, as its process sees it.
func (r rendered) environ(function string) []string {
	r.t.Helper()
	var pairs []string
	for name, value := range r.tpl.environment(function) {
		if value = r.value(value); value != nil {
			pairs = append(pairs, name+"="+fmt.Sprint(value))
		}
	}
	return pairs
}

func open(t *testing.T, stack rendered) *account {
	t.Helper()
	a := &account{t: t, stack: stack, now: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), metrics: metrics{}, table: &shaky{Store: &inboxtest.Store{}, held: map[string]bool{}}}
	clock := func() time.Time { return a.now }
	hook, err := config.LoadWebhook(stack.environ("WebhookFunction"))
	sweep, sweepErr := config.LoadSweeper(stack.environ("SweeperFunction"))
	clean, cleanErr := config.LoadCleanup(stack.environ("CleanupFunction"))
	scheme, schemeErr := signature.Named(hook.SignatureScheme)
	commands, commandErr := command.NewDecoder(command.Settings{Accepted: hook.Commands, Bucket: hook.Bucket, MinObjectAge: hook.MinObjectAge,
		WarehousePrefixes: hook.WarehousePrefixes, ListingPrefixes: hook.ListingPrefixes})
	if err := errors.Join(err, sweepErr, cleanErr, schemeErr, commandErr); err != nil {
		t.Fatal(err)
	}
	a.signer = producer.Signer{Scheme: scheme, Key: signature.NewKey("k1", "the key of this test", time.Time{})}
	a.front, err = webhook.New(webhook.Handler{
		Settings: webhook.Settings{Path: hook.Path, MaxBodyBytes: hook.MaxBodyBytes, ReplayWindow: hook.ReplayWindow, AckTimeout: hook.AckTimeout,
			RecordOnly: hook.RecordOnly, Retention: time.Duration(hook.RetentionDays) * 24 * time.Hour},
		Scheme: scheme, Keys: a, Commands: commands, Store: a.table, Reservations: a.table, Now: clock, Wake: a.fresh,
	})
	if err != nil {
		t.Fatal(err)
	}
	a.worker = cleanup.New(a.table, emptyBucket{a}, emptyBucket{a}, cleanup.Settings{
		DeleteScopes: clean.DeleteScopes, CheckTags: clean.CheckTags, DeleteConcurrency: clean.DeleteConcurrency, SliceBudget: clean.SliceBudget,
		LeaseDuration: clean.LeaseDuration, ScanCeiling: clean.ScanCeiling, AttemptCeiling: clean.AttemptCeiling, Retention: time.Hour,
	}, clock, a.fresh)
	a.sweep = sweeper.New(a.table, sweeper.Settings{WakeAfter: sweep.WakeAfter, Limit: sweep.SweepLimit, AttemptCeiling: sweep.AttemptCeiling})
	a.sweep.Now, a.sweep.NewWake = clock, a.fresh
	if sweep.ReservationsTable != "" {
		a.sweep.Reservations = a.table
	}
	a.say = telemetry.New(&a.log, hook.Stack, hook.LogLevel)
	a.say.Now = clock
	return a
}

func (a *account) fresh() string {
	a.sent++
	return fmt.Sprintf("n-%d", a.sent)
}

// minute is what goes on by itself: the schedule, and the metrics of what was logged.
func (a *account) minute() {
	a.t.Helper()
	if !a.sweeperDead {
		a.say.Sweep(a.t.Context(), a.sweep.Tick(a.t.Context()))
		a.invoked("SweeperFunction", false)
	}
	a.collect()
}

// collect reads the log lines as CloudWatch does ("Specification: Embedded metric format"): each metric of a directive under each of
// its sets of dimensions, whose values stand beside it.
func (a *account) collect() {
	a.t.Helper()
	for line := range bytes.Lines(a.log.Bytes()) {
		var members map[string]any
		var embedded struct {
			AWS struct {
				Timestamp         int64
				CloudWatchMetrics []struct {
					Namespace  string
					Dimensions [][]string
					Metrics    []struct{ Name, Unit string }
				}
			} `json:"_aws"`
		}
		if err := errors.Join(json.Unmarshal(line, &members), json.Unmarshal(line, &embedded)); err != nil {
			a.t.Fatalf("%s: %v", line, err)
		}
		for _, directive := range embedded.AWS.CloudWatchMetrics {
			for _, set := range directive.Dimensions {
				dimensions := map[string]string{}
				for _, name := range set {
					dimensions[name] = fmt.Sprint(members[name])
				}
				for _, metric := range directive.Metrics {
					a.count(directive.Namespace, metric.Name, metric.Unit, dimensions, time.UnixMilli(embedded.AWS.Timestamp), members[metric.Name].(float64))
				}
			}
		}
	}
	a.log.Reset()
}

func (a *account) count(namespace, name, unit string, dimensions map[string]string, at time.Time, value float64) {
	a.t.Helper()
	if err := a.metrics.add(whole(namespace, name, dimensions), unit, at, value); err != nil {
		a.t.Fatal(err)
	}
}

// platformMetrics are those that AWS publishes, with unit and dimension, as far as an alarm may want them. Sources: Lambda Developer
// Guide, "Types of metrics for Lambda functions" and "Monitoring Lambda function URLs"; SQS Developer Guide, "Available CloudWatch
// metrics for Amazon SQS".
func platformMetrics() map[string][2]string {
	return map[string][2]string{
		"AWS/Lambda Invocations":                     {"Count", "FunctionName"},        // of every invocation that ran or failed to
		"AWS/Lambda Errors":                          {"Count", "FunctionName"},        // 0 or 1 with every invocation
		"AWS/Lambda Throttles":                       {"Count", "FunctionName"},        // 0 with every invocation, 1 for each that was refused
		"AWS/Lambda IteratorAge":                     {"Milliseconds", "FunctionName"}, // of the last record of a batch of a stream, with every invocation by it
		"AWS/Lambda UrlRequestCount":                 {"Count", "FunctionName"},
		"AWS/Lambda Url4xxCount":                     {"Count", "FunctionName"},
		"AWS/Lambda Url5xxCount":                     {"Count", "FunctionName"},
		"AWS/SQS ApproximateNumberOfMessagesVisible": {"Count", "QueueName"}, // every minute, while the queue is active
	}
}

// aws publishes one value of one of AWS's own metrics about a resource of the stack.
func (a *account) aws(metric, resource string, value float64) {
	a.t.Helper()
	about, known := platformMetrics()[metric]
	if !known {
		a.t.Fatalf("AWS is not known to publish %s", metric)
	}
	namespace, name, _ := strings.Cut(metric, " ")
	attribute := map[string]string{"QueueName": "QueueName"}[about[1]] // "", for Ref, of a function
	a.count(namespace, name, about[0], map[string]string{about[1]: a.stack.attribute(resource, attribute)}, a.now, value)
}

func (a *account) invoked(function string, failed bool) {
	a.t.Helper()
	a.aws("AWS/Lambda Invocations", function, 1)
	a.aws("AWS/Lambda Throttles", function, 0)
	a.aws("AWS/Lambda Errors", function, map[bool]float64{true: 1}[failed])
}

// push is a request to the function URL.
type push struct {
	id, body string
	signed   time.Time               // now, where it is zero
	spoil    func(map[string]string) // changes the headers behind the signing
}

// deliver sends a request and returns the status.
func (a *account) deliver(p push) int {
	a.t.Helper()
	at := a.now
	if !p.signed.IsZero() {
		at = p.signed
	}
	signed, err := a.signer.Headers(producer.Delivery{ID: p.id, Body: []byte(p.body)}, at)
	if err != nil {
		a.t.Fatal(err)
	}
	headers := map[string]string{}
	for name, value := range signed {
		headers[strings.ToLower(name)] = value // as Lambda hands them over
	}
	if p.spoil != nil {
		p.spoil(headers)
	}
	request := events.LambdaFunctionURLRequest{RawPath: "/", Headers: headers, Body: p.body}
	request.RequestContext.HTTP.Method, request.RequestContext.HTTP.Path = "POST", "/"
	request.RequestContext.TimeEpoch = a.now.UnixMilli()
	answer, summary := a.front.Handle(a.t.Context(), request)
	a.say.Delivery(a.t.Context(), summary)
	a.invoked("WebhookFunction", false)
	a.aws("AWS/Lambda UrlRequestCount", "WebhookFunction", 1)
	for hundred, metric := range map[int]string{4: "AWS/Lambda Url4xxCount", 5: "AWS/Lambda Url5xxCount"} {
		a.aws(metric, "WebhookFunction", map[bool]float64{true: 1}[answer.StatusCode/100 == hundred])
	}
	return answer.StatusCode
}

// run is the body of a command that starts a run of its own.
func (a *account) run(id string) string {
	a.t.Helper()
	body, err := producer.Payload(command.CleanupRun, map[string]string{"run_id": id, "warehouse_id": "wh-17",
		"expired_before": a.now.Add(-48 * time.Hour).Format(time.RFC3339)})
	if err != nil {
		a.t.Fatal(err)
	}
	return string(body)
}

// accept sends a delivery with a run of its own, whose record is then on the stream.
func (a *account) accept() {
	a.t.Helper()
	id := a.fresh()
	if status := a.deliver(push{id: id, body: a.run(id)}); status != 204 {
		a.t.Errorf("a valid delivery is answered %d", status)
	}
}

// work hands the stream's records to the cleanup.
func (a *account) work() {
	a.t.Helper()
	for _, record := range a.table.Drain() {
		image := map[string]events.DynamoDBAttributeValue{
			"wake": events.NewStringAttribute(record.Image.Wake), "scope": events.NewStringAttribute(record.Image.Scope),
		}
		event := events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{EventID: record.Identity, Change: events.DynamoDBStreamRecord{
			Keys: map[string]events.DynamoDBAttributeValue{"pk": events.NewStringAttribute(record.Image.RunKey().ItemKey())}, NewImage: image,
		}}}}
		_, slices := a.worker.Handle(a.t.Context(), event)
		for _, s := range slices {
			a.say.Slice(a.t.Context(), s)
		}
		a.sliced(time.Second, false)
	}
}

// sliced is what Lambda publishes of one invocation by the stream.
func (a *account) sliced(age time.Duration, failed bool) {
	a.t.Helper()
	a.invoked("CleanupFunction", failed)
	a.aws("AWS/Lambda IteratorAge", "CleanupFunction", float64(age.Milliseconds()))
}

// crash takes the stream's records as a worker does that dies in the middle of its slice.
func (a *account) crash() {
	a.t.Helper()
	for _, record := range a.table.Drain() {
		_, err := a.table.Move(a.t.Context(), record.Image.RunKey(), inbox.Acquire(), inbox.Change{
			Now: a.now, Token: a.fresh(), LeaseExpiresAt: a.now.Add(90 * time.Second), Record: record.Identity, Wake: record.Image.Wake,
			Ceiling: 12, Mode: inbox.ModeDelete,
		})
		if err != nil {
			a.t.Error(err)
		}
		a.sliced(time.Second, true)
	}
}

// reserve puts a held reservation that is past its deadline by so much.
func (a *account) reserve(id, status string, overdue time.Duration) {
	a.table.SetReservation(id, inbox.Reservation{Status: status, ExpiresAt: a.now.Add(-overdue)})
	a.table.held[id] = true
}

// alarms are those that the stack has.
func (a *account) alarms() []alarm {
	var all []alarm
	for _, id := range a.stack.tpl.of("AWS::CloudWatch::Alarm") {
		if a.stack.present(id) {
			all = append(all, a.stack.readAlarm(id))
		}
	}
	return all
}

// published are the names of all series so far.
func (a *account) published() map[string]string {
	units := map[string]string{}
	for name, s := range maps.All(a.metrics) {
		units[name] = s.unit
	}
	return units
}
