package sweeper_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	local "custody/internal/localaws/dynamodb"
	"custody/internal/sweeper"
)

// table is a real store over the local engine, behind the real SDK.
type table struct {
	*dynamostore.Store
	db   *dynamodb.Client
	down func(operation string) bool // whether the engine answers 500
}

const tableName = "inbox"

func newTable(t *testing.T) *table {
	t.Helper()
	engine, made := local.New(local.Options{}), &table{down: func(string) bool { return false }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); made.down(operation) {
			http.Error(w, `{"__type":"InternalServerError"}`, http.StatusInternalServerError)
			return
		}
		engine.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	made.db = dynamodb.New(dynamodb.Options{
		BaseEndpoint: &server.URL, Region: "eu-central-1", HTTPClient: server.Client(), Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	made.Store = dynamostore.New(made.db, tableName)
	if _, err := made.db.CreateTable(t.Context(), inboxTable()); err != nil {
		t.Fatal(err)
	}
	return made
}

func inboxTable() *dynamodb.CreateTableInput {
	name, index := tableName, dynamostore.IndexOpen
	pk, partition, since := "pk", "open", "open_since"
	return &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{{AttributeName: &pk, KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: &pk, AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: &partition, AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: &since, AttributeType: types.ScalarAttributeTypeN},
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: &index,
			KeySchema: []types.KeySchemaElement{
				{AttributeName: &partition, KeyType: types.KeyTypeHash}, {AttributeName: &since, KeyType: types.KeyTypeRange},
			},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{
				"state", "attempts", "lease_expires_at", "wake", "wake_at", "wake_count", "next_attempt_at", "scope", "received_at",
			}},
		}},
	}
}

func runKey(key string) inbox.RunKey { return inbox.RunKey{Type: "cleanup.run", Key: key} }

// claim writes a run as the webhook does, received the given time before noon.
func (x *table) claim(t *testing.T, key string, ago time.Duration) {
	t.Helper()
	x.write(t, inbox.NewRun(runKey(key), "warehouse:wh-1", inbox.Selection{}, "hash", "d-"+key, noon.Add(-ago)).Start("first-"+key))
}

func (x *table) write(t *testing.T, run inbox.Run) {
	t.Helper()
	existing, err := x.Claim(t.Context(), inbox.Claim{Delivery: inbox.Delivery{ID: run.DeliveryID, ReceivedAt: run.ReceivedAt}, Run: run})
	if err != nil || existing != nil {
		t.Fatalf("claim %s: %v %v", run.Key, existing, err)
	}
}

func (x *table) mustMove(t *testing.T, key string, m inbox.Move, c inbox.Change) {
	t.Helper()
	if _, err := x.Move(t.Context(), runKey(key), m, c); err != nil {
		t.Fatal(err)
	}
}

// acquire takes the lease as the cleanup function does; it ends the given time before noon.
func (x *table) acquire(t *testing.T, key string, ago time.Duration) {
	t.Helper()
	x.mustMove(t, key, inbox.Acquire(), inbox.Change{Now: noon.Add(-time.Hour), Token: "t", LeaseExpiresAt: noon.Add(-ago),
		Record: "record", Wake: "first-" + key, Ceiling: 12, Mode: inbox.ModeDelete})
}

func (x *table) park(t *testing.T, key string, attempts int, ago time.Duration) {
	t.Helper()
	x.mustMove(t, key, inbox.Park(), inbox.Change{Now: noon.Add(-time.Hour), Token: "t", Attempts: attempts, Place: inbox.StartPlace(),
		NextAttemptAt: noon.Add(-ago), Err: inbox.LastError{Category: inbox.CategoryThrottled, Message: "slow down", At: noon.Add(-time.Hour)}})
}

// raw puts an item that no function of ours would write.
func (x *table) raw(t *testing.T, it map[string]types.AttributeValue) {
	t.Helper()
	name := tableName
	if _, err := x.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
		t.Fatal(err)
	}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func at(ago time.Duration) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(noon.Add(-ago).UnixMilli(), 10)}
}

func (x *table) sweeper(s sweeper.Settings) *sweeper.Sweeper {
	sw := sweeper.New(x, s)
	sw.Now = func() time.Time { return noon }
	return sw
}

func (x *table) stored(t *testing.T, key string) inbox.Run {
	t.Helper()
	run, err := x.Run(t.Context(), runKey(key))
	if err != nil || run == nil {
		t.Fatalf("run %s: %v %v", key, run, err)
	}
	return *run
}

func TestSweepMovesWhatIsStuckInTheTable(t *testing.T) {
	t.Parallel()
	x := newTable(t)
	x.claim(t, "lost", 3*time.Minute)
	x.claim(t, "fresh", time.Minute)
	x.claim(t, "working", 2*time.Hour)
	x.acquire(t, "working", -time.Minute)
	x.claim(t, "dead", 3*time.Hour)
	x.acquire(t, "dead", 0)
	x.claim(t, "parked", 4*time.Hour)
	x.acquire(t, "parked", -time.Minute)
	x.park(t, "parked", 3, 0)
	x.claim(t, "waiting", 4*time.Hour)
	x.acquire(t, "waiting", -time.Minute)
	x.park(t, "waiting", 3, -time.Minute)
	x.claim(t, "poison", 5*time.Hour)
	x.acquire(t, "poison", -time.Minute)
	x.park(t, "poison", 12, -time.Minute)
	x.write(t, inbox.NewRun(runKey("held back"), "warehouse:wh-1", inbox.Selection{}, "hash", "d-record", noon.Add(-time.Hour)).Record())
	x.raw(t, map[string]types.AttributeValue{"pk": text("run#odd"), "open": text("open"), "open_since": at(9 * time.Hour)})
	x.raw(t, map[string]types.AttributeValue{
		"pk": text("run#cleanup.run#broken"), "open": text("open"), "open_since": at(time.Hour), "attempts": text("many")})

	first := x.sweeper(settings).Tick(t.Context())
	want := inbox.SweepSummary{Counted: true, Open: 9, OldestOpenAge: 9 * time.Hour, Recorded: 1, Woken: 3, GivenUp: 1, BadRows: 2}
	if diff := cmp.Diff(want, first, cmpopts.IgnoreFields(inbox.SweepSummary{}, "Problem")); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(first.Problem, "run#odd") {
		t.Errorf("the problem is %q", first.Problem)
	}

	lost := x.stored(t, "lost")
	if lost.Wake != "first-lost" || !lost.WakeAt.Equal(noon) || lost.WakeCount != 1 || lost.State != inbox.StatePending {
		t.Errorf("a present wake stays, its time and count change: %+v", lost)
	}
	if fresh := x.stored(t, "fresh"); fresh.WakeCount != 0 || fresh.WakeAt.Equal(noon) {
		t.Errorf("a fresh wake was touched: %+v", fresh)
	}
	for _, key := range []string{"dead", "parked"} {
		if run := x.stored(t, key); run.Wake == "" || run.WakeCount != 1 || run.State.OpenIndex() != "open" {
			t.Errorf("%s was not woken: %+v", key, run)
		}
	}
	for _, key := range []string{"working", "waiting"} {
		if run := x.stored(t, key); run.Wake != "" || run.WakeCount != 0 {
			t.Errorf("%s was touched: %+v", key, run)
		}
	}
	poison := x.stored(t, "poison")
	if poison.State != inbox.StateFailed || poison.Open != "failed" || poison.LastError.Category != inbox.CategoryAttemptCeiling ||
		poison.Wake != "" || !poison.OpenSince.Equal(noon) {
		t.Errorf("poison was not given up: %+v", poison)
	}

	second := x.sweeper(settings).Tick(t.Context())
	want = inbox.SweepSummary{Counted: true, Open: 8, OldestOpenAge: 9 * time.Hour, Failed: 1, Recorded: 1, BadRows: 2}
	if diff := cmp.Diff(want, second, cmpopts.IgnoreFields(inbox.SweepSummary{}, "Problem")); diff != "" {
		t.Errorf("the second sweep has nothing to do:\n%s", diff)
	}
}

// Many sweeps of a run whose record never arrives: the pauses double and end at an hour, and the wake stays the same one.
func TestWakesOfOneRunBackOff(t *testing.T) {
	t.Parallel()
	x := newTable(t)
	x.claim(t, "r", 0)
	clock, wokenAt := noon, []time.Duration{}
	sw := x.sweeper(settings)
	sw.Now = func() time.Time { return clock }
	for range 5 * 60 {
		clock = clock.Add(time.Minute)
		if sw.Tick(t.Context()).Woken == 1 {
			wokenAt = append(wokenAt, clock.Sub(noon))
		}
	}
	minutes := func(ms ...int) (all []time.Duration) {
		for _, m := range ms {
			all = append(all, time.Duration(m)*time.Minute)
		}
		return all
	}
	if diff := cmp.Diff(minutes(2, 6, 14, 30, 62, 122, 182, 242), wokenAt); diff != "" {
		t.Error(diff)
	}
	if got := x.stored(t, "r").Wake; got != "first-r" {
		t.Errorf("the wake became %q", got)
	}
}

func TestTwoSweepersAtOnceWakeOnce(t *testing.T) {
	t.Parallel()
	x := newTable(t)
	const runs = 40
	for i := range runs {
		x.claim(t, fmt.Sprintf("r-%d", i), time.Hour)
	}
	sums := make([]inbox.SweepSummary, 4)
	var all sync.WaitGroup
	for i := range sums {
		all.Go(func() { sums[i] = x.sweeper(settings).Tick(t.Context()) })
	}
	all.Wait()
	woken := 0
	for _, s := range sums {
		woken += s.Woken
		if s.Errors != 0 || !s.Counted || s.Open != runs {
			t.Errorf("%+v", s)
		}
	}
	if woken != runs {
		t.Errorf("%d runs were woken %d times", runs, woken)
	}
	for i := range runs {
		if run := x.stored(t, fmt.Sprintf("r-%d", i)); run.WakeCount != 1 {
			t.Errorf("%s was woken %d times", run.RunKey(), run.WakeCount)
		}
	}
}

// movedOn lets a run move between the sweeper's reading and its writing.
type movedOn struct {
	*table
	before func()
}

func (m movedOn) Move(ctx context.Context, key inbox.RunKey, move inbox.Move, c inbox.Change) (inbox.Run, error) {
	m.before()
	return m.table.Move(ctx, key, move, c)
}

func TestRunThatMovedOnRefusesTheSweeper(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attempts int
		meantime func(*testing.T, *table)
		want     inbox.State
	}{
		"a slice takes it": {1, func(t *testing.T, x *table) { x.acquire(t, "r", -time.Minute) }, inbox.StateRunning},
		"a slice ends it": {1, func(t *testing.T, x *table) {
			x.acquire(t, "r", -time.Minute)
			x.mustMove(t, "r", inbox.Complete(), inbox.Change{Now: noon, Token: "t", Place: inbox.StartPlace(), TTL: 1})
		}, inbox.StateDone},
		"another sweeper wakes it": {1, func(t *testing.T, x *table) {
			x.mustMove(t, "r", inbox.Wake(), inbox.Change{Now: noon, NewWake: "other", WakeBefore: noon.Add(-time.Minute)})
		}, inbox.StatePending},
		"another sweeper gives it up": {12, func(t *testing.T, x *table) {
			x.mustMove(t, "r", inbox.GiveUp(), inbox.Change{Now: noon, Ceiling: 12, Err: inbox.LastError{Category: inbox.CategoryAttemptCeiling}})
		}, inbox.StateFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTable(t)
			run := inbox.NewRun(runKey("r"), "warehouse:wh-1", inbox.Selection{}, "hash", "d", noon.Add(-time.Hour)).Start("first-r")
			run.Attempts = c.attempts
			x.write(t, run)
			sw := sweeper.New(movedOn{x, func() { c.meantime(t, x) }}, settings)
			sw.Now = func() time.Time { return noon }
			got := sw.Tick(t.Context())
			if got.Refused != 1 || got.Woken+got.GivenUp+got.Errors != 0 {
				t.Errorf("%+v", got)
			}
			if stored := x.stored(t, "r"); stored.State != c.want {
				t.Errorf("the run is %s", stored.State)
			}
		})
	}
}

func TestSweepIsPublishedWhenTheTableTakesNoWrites(t *testing.T) {
	t.Parallel()
	x := newTable(t)
	x.claim(t, "a", time.Hour)
	x.claim(t, "b", time.Hour)
	x.down = func(operation string) bool { return operation == "UpdateItem" }
	got := x.sweeper(settings).Tick(t.Context())
	if !got.Counted || got.Open != 2 || got.OldestOpenAge != time.Hour || got.Errors != 2 || got.Woken != 0 {
		t.Errorf("%+v", got)
	}
}

// A thousand rows fill more than one page of the index, which is 1 MB.
func TestSweepPagesThroughTheIndex(t *testing.T) {
	t.Parallel()
	x := newTable(t)
	wide := strings.Repeat("x", 1200)
	for start := 0; start < 1000; start += 25 { // the most that one batch takes
		var puts []types.WriteRequest
		for i := start; i < start+25; i++ {
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: map[string]types.AttributeValue{
				"pk": text(fmt.Sprintf("run#cleanup.run#r-%04d", i)), "open": text("open"), "open_since": at(time.Duration(1000-i) * time.Second),
				"state": text("pending"), "scope": text(wide), "wake": text("w"), "wake_at": at(time.Second), // fresh: none of them is woken
			}}})
		}
		if _, err := x.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{tableName: puts}}); err != nil {
			t.Fatal(err)
		}
	}
	x.claim(t, "youngest", 0)
	x.acquire(t, "youngest", 0)
	queries := 0
	x.down = func(operation string) bool {
		if operation == "Query" {
			queries++
		}
		return false
	}
	got := x.sweeper(settings).Tick(t.Context())
	want := inbox.SweepSummary{Counted: true, Open: 1001, OldestOpenAge: 1000 * time.Second, Woken: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if queries < 4 { // two pages of open rows, one of failed, one of recorded
		t.Errorf("%d queries", queries)
	}
	if x.stored(t, "youngest").Wake == "" {
		t.Error("the row on the last page was not woken")
	}
}
