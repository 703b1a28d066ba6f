package dynamostore_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/inbox/inboxtest"
	"custody/internal/sweeper"
)

// What is explored in memory is true of the product only as far as the memory behaves like the table: random runs, moves and
// changes must be answered alike by both, leave the same items, rows and stream records behind, and refuse with the same run.
func TestTheTableInMemoryAnswersAsDynamoDBDoes(t *testing.T) {
	t.Parallel()
	store, db := storeOver(t, nil)
	memory := new(inboxtest.Store)
	n, answers := 0, map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		last := ""
		for range runsPerCheck {
			n++
			run := anyRun().Draw(rt, "run")
			run.Key = fmt.Sprintf("r-%06d", n)
			d := newDelivery(fmt.Sprintf("d-%06d", n))
			if last != "" && rapid.IntRange(0, 4).Draw(rt, "copy of a delivery") == 0 {
				d.ID = last
			}
			last = d.ID
			claimBoth(t, rt, store, memory, inbox.Claim{Delivery: d, Run: run})
			for range rapid.IntRange(1, 4).Draw(rt, "moves") {
				answers[moveBoth(t, rt, store, memory, run.RunKey())]++
			}
		}
	})
	t.Log(answers)
	for _, m := range inbox.Moves() {
		if len(m.From) > 0 && (answers[m.Name+" made"] == 0 || answers[m.Name+" refused"] == 0) {
			t.Errorf("%s was made %d times and refused %d times: one of them was never compared", m.Name, answers[m.Name+" made"], answers[m.Name+" refused"])
		}
	}
	for _, state := range []inbox.State{inbox.StatePending, inbox.StateFailed, inbox.StateRecorded} {
		if diff := gocmp.Diff(rowsOf(t, store, state), rowsOf(t, memory, state)); diff != "" {
			t.Errorf("rows of %s (-DynamoDB +memory):\n%s", state.OpenIndex(), diff)
		}
	}
	var want []wakeRecord
	for _, r := range memory.Drain() {
		want = append(want, wakeRecord{r.Image.Key, r.Image.Wake, millis(r.Image.WakeAt), string(r.Image.State)})
	}
	if diff := gocmp.Diff(wakesOnStream(t, db), want); diff != "" {
		t.Errorf("stream records that carry a wake (-DynamoDB +memory):\n%s", diff)
	}
	if len(want) == 0 {
		t.Error("no run was ever woken: the test compares nothing")
	}
}

// runsPerCheck makes some two thousand moves of rapid's hundred checks, enough to meet nearly every edge of a comparison each time.
const runsPerCheck = 10

// claimBoth makes a claim, the alias that may follow, and a claim of the same run under another id.
func claimBoth(t *testing.T, rt *rapid.T, store *dynamostore.Store, memory *inboxtest.Store, c inbox.Claim) {
	t.Helper()
	for _, id := range []string{c.Delivery.ID, c.Delivery.ID + "-2"} {
		c.Delivery.ID = id
		theirs, err := store.Claim(t.Context(), c)
		ours, _ := memory.Claim(t.Context(), c)
		if diff := gocmp.Diff(theirs, ours); diff != "" || err != nil {
			rt.Fatalf("claim by %s: %v (-DynamoDB +memory):\n%s", id, err, diff)
		}
	}
	alias, err := store.Alias(t.Context(), c.Delivery)
	known, _ := memory.Alias(t.Context(), c.Delivery)
	if diff := gocmp.Diff(alias, known); diff != "" || err != nil {
		rt.Fatalf("alias: %v (-DynamoDB +memory):\n%s", err, diff)
	}
}

// moveBoth says which move it made and how it was answered.
func moveBoth(t *testing.T, rt *rapid.T, store *dynamostore.Store, memory *inboxtest.Store, key inbox.RunKey) string {
	t.Helper()
	before, _ := memory.Run(t.Context(), key)
	if before == nil { // its claim was refused
		before = &inbox.Run{State: inbox.StatePending}
	}
	move, c := anyMove(before.State).Draw(rt, "move"), anyChange().Draw(rt, "change")
	if rapid.Bool().Draw(rt, "fits") {
		c = fitting(*before, move, c)
		c.Ceiling = before.Attempts + rapid.IntRange(0, 1).Draw(rt, "left")
	}
	if before.Operation != nil && rapid.Bool().Draw(rt, "the last operation again") {
		c.Operation = *before.Operation
	}
	theirs, theirErr := store.Move(t.Context(), key, move, c)
	ours, ourErr := memory.Move(t.Context(), key, move, c)
	if diff := gocmp.Diff(theirs, ours); diff != "" {
		rt.Fatalf("answer to %s: %v and %v (-DynamoDB +memory):\n%s", move.Name, theirErr, ourErr, diff)
	}
	if (theirErr == nil) != (ourErr == nil) {
		rt.Fatalf("%s: DynamoDB says %v, memory %v", move.Name, theirErr, ourErr)
	}
	refused, is := errors.AsType[*inbox.Refused](theirErr)
	refusedToo, isToo := errors.AsType[*inbox.Refused](ourErr)
	if is != isToo {
		rt.Fatalf("%s: DynamoDB says %v, memory %v", move.Name, theirErr, ourErr)
	}
	if diff := gocmp.Diff(refused, refusedToo); diff != "" {
		rt.Fatalf("refusal of %s (-DynamoDB +memory):\n%s", move.Name, diff)
	}
	item, err := store.Run(t.Context(), key)
	inMemory, _ := memory.Run(t.Context(), key)
	if diff := gocmp.Diff(item, inMemory); diff != "" || err != nil {
		rt.Fatalf("item behind %s: %v (-DynamoDB +memory):\n%s", move.Name, err, diff)
	}
	switch {
	case is:
		return move.Name + " refused"
	case theirErr != nil:
		return move.Name + " in error"
	}
	return move.Name + " made"
}

// times are around every edge that a condition compares at; the odd microseconds are lost in both stores.
func anyTime() *rapid.Generator[time.Time] {
	return rapid.SampledFrom([]time.Time{
		{}, now.Add(-time.Millisecond), now, now.Add(300 * time.Microsecond), now.Add(time.Millisecond),
	})
}

// anyName is one of a few, so that tokens, wakes and records often agree; none often enough.
func anyName(prefix string) *rapid.Generator[string] {
	return rapid.Custom(func(rt *rapid.T) string {
		if n := rapid.IntRange(0, 2).Draw(rt, "n"); n > 0 {
			return fmt.Sprintf("%s-%d", prefix, n)
		}
		return ""
	})
}

func anyError() *rapid.Generator[inbox.LastError] {
	return rapid.Custom(func(rt *rapid.T) inbox.LastError {
		return inbox.LastError{Category: rapid.SampledFrom(inbox.Categories()).Draw(rt, "category"), Message: "m", At: anyTime().Draw(rt, "at")}
	})
}

func anyPlace() *rapid.Generator[inbox.Place] {
	return rapid.Custom(func(rt *rapid.T) inbox.Place {
		p := inbox.StartPlace()
		p.Scan, p.Prefix = rapid.IntRange(1, 3).Draw(rt, "scan"), rapid.IntRange(0, 2).Draw(rt, "prefix")
		p.Key, p.Deleted = anyName("key").Draw(rt, "key"), rapid.Bool().Draw(rt, "deleted")
		if rapid.Bool().Draw(rt, "refused") {
			p.RefusedCount, p.Refused = 1, []inbox.RefusedVersion{{Key: "k", VersionID: "v", Code: "AccessDenied"}}
			p.Retained = map[string]int64{"legal_hold": 2}
		}
		return p
	})
}

func optional[T any](rt *rapid.T, g *rapid.Generator[T], label string) *T {
	if !rapid.Bool().Draw(rt, "has "+label) {
		return nil
	}
	v := g.Draw(rt, label)
	return &v
}

func anyOperation() *rapid.Generator[inbox.Operation] {
	return rapid.Custom(func(rt *rapid.T) inbox.Operation {
		return inbox.Operation{Move: "retry", By: anyName("person").Draw(rt, "by"), At: anyTime().Draw(rt, "at")}
	})
}

// anyRun is a run in any state with anything in it, sensible or not: the moves' conditions alone decide.
func anyRun() *rapid.Generator[inbox.Run] {
	return rapid.Custom(func(rt *rapid.T) inbox.Run {
		run := newRun()
		run.State = rapid.SampledFrom(append(inbox.States(), inbox.StateRunning, inbox.StateRunning, inbox.StateRunning)).Draw(rt, "state")
		run.Open = run.State.OpenIndex()
		if run.Open == "" {
			run.OpenSince = time.Time{}
		}
		run.Mode = rapid.SampledFrom([]inbox.Mode{"", inbox.ModeDelete, inbox.ModeDryRun}).Draw(rt, "mode")
		run.Attempts, run.Slices = rapid.IntRange(0, 3).Draw(rt, "attempts"), rapid.IntRange(0, 4).Draw(rt, "slices")
		run.LastError, run.Cause = optional(rt, anyError(), "last error"), optional(rt, anyError(), "cause")
		run.Operation = optional(rt, anyOperation(), "operation")
		run.LeaseToken, run.LeaseRecord = anyName("token").Draw(rt, "token"), anyName("record").Draw(rt, "record")
		if run.LeaseToken == "" {
			run.LeaseRecord = "" // a record without its token would ask <> of an absent attribute, in which engines differ
		}
		run.LeaseExpiresAt, run.NextAttemptAt = anyTime().Draw(rt, "lease expires at"), anyTime().Draw(rt, "next attempt at")
		run.Wake, run.WakeAt = anyName("wake").Draw(rt, "wake"), anyTime().Draw(rt, "wake at")
		run.WakeCount = rapid.IntRange(0, 3).Draw(rt, "wake count")
		run.StartedAt, run.EndedAt = anyTime().Draw(rt, "started at"), anyTime().Draw(rt, "ended at")
		run.Place = anyPlace().Draw(rt, "place")
		run.Counters.Listed = rapid.Int64Range(0, 1).Draw(rt, "listed")
		run.TTL = rapid.Int64Range(0, 1).Draw(rt, "ttl")
		return run
	})
}

// anyMove is mostly one that the state allows.
func anyMove(s inbox.State) *rapid.Generator[inbox.Move] {
	return rapid.Custom(func(rt *rapid.T) inbox.Move {
		moves := inbox.Moves()
		if rapid.IntRange(0, 3).Draw(rt, "from any state") > 0 {
			moves = slices.DeleteFunc(moves, func(m inbox.Move) bool { return !m.Leaves(s) && s != inbox.StateDismissed || len(m.From) == 0 })
		}
		return rapid.SampledFrom(moves).Draw(rt, "of these")
	})
}

// fitting is the change with the names of the item: without it hardly any acquire would be made.
func fitting(run inbox.Run, m inbox.Move, c inbox.Change) inbox.Change {
	c.Wake, c.Record = run.Wake, run.LeaseRecord
	if m.Name != inbox.MoveAcquire { // which comes from another worker, or from the same
		c.Token = run.LeaseToken
	}
	full := change()
	for _, s := range []struct{ to, from *string }{{&c.Wake, &full.Wake}, {&c.Record, &full.Record}, {&c.Token, &full.Token}} {
		if *s.to == "" {
			*s.to = *s.from
		}
	}
	if c.LeaseExpiresAt.IsZero() {
		c.LeaseExpiresAt = full.LeaseExpiresAt
	}
	return c
}

// anyChange sometimes lacks a value, which only an optional effect allows.
func anyChange() *rapid.Generator[inbox.Change] {
	return rapid.Custom(func(rt *rapid.T) inbox.Change {
		c := change()
		c.Token, c.Record, c.Wake = anyName("token").Draw(rt, "token"), anyName("record").Draw(rt, "record"), anyName("wake").Draw(rt, "wake")
		c.LeaseExpiresAt, c.WakeBefore = anyTime().Draw(rt, "lease expires at"), anyTime().Draw(rt, "wake before")
		c.Ceiling, c.Attempts = rapid.IntRange(0, 3).Draw(rt, "ceiling"), rapid.IntRange(0, 3).Draw(rt, "attempts")
		c.Place = anyPlace().Draw(rt, "place")
		c.Operation = anyOperation().Draw(rt, "operation")
		c.Err = anyError().Draw(rt, "error")
		return c
	})
}

// rowsOf reads a partition of the index. Rows of one moment come in no promised order.
func rowsOf(t *testing.T, s sweeper.Runs, state inbox.State) []inbox.Run {
	t.Helper()
	var all []inbox.Run
	for r, err := range s.Rows(t.Context(), state.OpenIndex()) {
		if err != nil {
			t.Error(err)
		}
		all = append(all, r)
	}
	if !slices.IsSortedFunc(all, func(a, b inbox.Run) int { return a.OpenSince.Compare(b.OpenSince) }) {
		t.Errorf("the rows of %s are not in the order of their age", state.OpenIndex())
	}
	slices.SortStableFunc(all, func(a, b inbox.Run) int { return cmp.Compare(a.Key, b.Key) })
	return all
}

// wakeRecord is what a stream record with a wake says.
type wakeRecord struct {
	Key, Wake string
	WakeAt    int64
	State     string
}

// wakesOnStream reads the table's whole stream and applies the mapping's filter.
func wakesOnStream(t *testing.T, db *dynamodb.Client) []wakeRecord {
	t.Helper()
	streams := dynamodbstreams.New(dynamodbstreams.Options{
		Region: "us-east-1", BaseEndpoint: db.Options().BaseEndpoint, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	table, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(tableName)})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := streams.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: table.Table.LatestStreamArn})
	if err != nil || len(stream.StreamDescription.Shards) != 1 {
		t.Fatalf("stream %+v, %v, want one shard", stream, err)
	}
	at, err := streams.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
		StreamArn: table.Table.LatestStreamArn, ShardId: stream.StreamDescription.Shards[0].ShardId,
		ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		t.Fatal(err)
	}
	var found []wakeRecord
	for cursor := at.ShardIterator; ; {
		page, err := streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			if image := r.Dynamodb.NewImage; image["wake"] != nil {
				at, _ := strconv.ParseInt(number(image["wake_at"]), 10, 64)
				found = append(found, wakeRecord{text(image["run_key"]), text(image["wake"]), at, text(image["state"])})
			}
		}
		if cursor = page.NextShardIterator; cursor == nil || len(page.Records) == 0 {
			return found
		}
	}
}

// millis is the time as the table holds it, and 0 for the attribute that is not there.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func text(v streamtypes.AttributeValue) string {
	if s, ok := v.(*streamtypes.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func number(v streamtypes.AttributeValue) string {
	if n, ok := v.(*streamtypes.AttributeValueMemberN); ok {
		return n.Value
	}
	return ""
}
