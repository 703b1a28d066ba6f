package runbook_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	"custody/internal/localaws/steady"
	"custody/internal/retention"
)

// threeRuns are two open runs, the older one first by name, and a failed one.
func threeRuns(t *testing.T, s *sandbox) string {
	t.Helper()
	for _, key := range []string{"r-1", "r-2", "r-3"} {
		claim(t, s.inbox, key)
	}
	s.set(t, "r-1", inbox.AttrOpenSince, time.UnixMilli(1_700_000_000_000))
	s.set(t, "r-3", inbox.AttrState, string(inbox.StateFailed))
	s.set(t, "r-3", inbox.AttrOpen, inbox.StateFailed.OpenIndex())
	return ""
}

// manyRuns are runs of which each of the commands for several finds some.
func manyRuns(t *testing.T, s *sandbox) string {
	t.Helper()
	in := func(key string, state inbox.State, since time.Duration) {
		claim(t, s.inbox, key)
		s.set(t, key, inbox.AttrState, string(state))
		s.set(t, key, inbox.AttrOpen, state.OpenIndex())
		s.set(t, key, inbox.AttrOpenSince, time.Now().Add(-since))
	}
	in("r-1", inbox.StatePending, time.Hour)
	in("r-2", inbox.StateFailed, time.Hour)
	in("r-3", inbox.StateFailed, time.Hour)
	in("r-4", inbox.StateRecorded, 25*time.Hour)
	in("r-5", inbox.StateRunning, time.Hour)
	s.set(t, "r-3", inbox.AttrLastError, &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
		"category": &types.AttributeValueMemberS{Value: string(inbox.CategoryAccessDenied)},
		"message":  &types.AttributeValueMemberS{Value: "m"}, "at": &types.AttributeValueMemberN{Value: "1700000000000"}}})
	return ""
}

// set writes one attribute of a run, whatever the moves say.
func (s *sandbox) set(t *testing.T, runKey string, a inbox.Attribute, value any) {
	t.Helper()
	var v types.AttributeValue
	switch value := value.(type) {
	case string:
		v = &types.AttributeValueMemberS{Value: value}
	case time.Time:
		v = &types.AttributeValueMemberN{Value: fmt.Sprint(value.UnixMilli())}
	case types.AttributeValue:
		v = value
	default:
		t.Fatalf("no way to write %T", value)
	}
	_, err := s.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(inboxTable), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: keyOf(runKey).ItemKey()}},
		UpdateExpression: aws.String("SET #a = :v"), ConditionExpression: aws.String("attribute_exists(pk)"),
		ExpressionAttributeNames: map[string]string{"#a": string(a)}, ExpressionAttributeValues: map[string]types.AttributeValue{":v": v},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func keyOf(runKey string) inbox.RunKey { return inbox.RunKey{Type: "cleanup.run", Key: runKey} }

// run is the item as it stands.
func (s *sandbox) run(t *testing.T, runKey string) inbox.Run {
	t.Helper()
	run, err := s.inbox.Run(t.Context(), keyOf(runKey))
	if err != nil || run == nil {
		t.Fatal(run, err)
	}
	return *run
}

// streamCases look up what a dead letter is about, and what nobody expired.
func streamCases() map[string]blockCase {
	return map[string]blockCase{
		"DeadLettersAlarm: aws dynamodbstreams get-shard-iterator": {prepare: func(t *testing.T, s *sandbox) string {
			return s.secondRecord(t).variables()
		}, check: func(t *testing.T, _ *sandbox, out string) { same(t, "run#cleanup.run#r-2\n", out) }},
		"Replay the dead-letter queue: aws sqs receive-message": {prepare: func(t *testing.T, s *sandbox) string {
			return s.queueOf(t, s.secondRecord(t))
		}, check: func(t *testing.T, _ *sandbox, out string) { same(t, "run#cleanup.run#r-2\n", out) }},
		"Replay the dead-letter queue: aws sqs delete-message": {prepare: func(t *testing.T, s *sandbox) string {
			s.write(t, "messages.json", `{"Messages":[{"ReceiptHandle":"receipt-1"},{"ReceiptHandle":"receipt 2"}]}`)
			return "aws() { printf '%s|' \"$@\" >> deleted; }"
		}, check: func(t *testing.T, s *sandbox, _ string) {
			const each = "sqs|delete-message|--queue-url|queue-url|--receipt-handle|"
			same(t, each+"receipt-1|"+each+"receipt 2|", s.read(t, "deleted"))
		}},
		"OverdueReservationsAlarm: aws dynamodb query": {prepare: func(t *testing.T, s *sandbox) string {
			for id, status := range map[string]string{"late": inbox.ReservationHeld, "paid": "paid"} {
				s.put(t, reservationsTable, map[string]types.AttributeValue{"reservation_id": &types.AttributeValueMemberS{Value: id},
					"status": &types.AttributeValueMemberS{Value: status}, "expires_at": &types.AttributeValueMemberN{Value: "1700000000000"}})
			}
			return ""
		}, check: func(t *testing.T, _ *sandbox, out string) { same(t, "late\t1700000000000\n", out) }},
	}
}

// place is where a record is on the stream.
type place struct{ stream, shard, sequence string }

func (p place) variables() string {
	return fmt.Sprintf("stream='%s' shard='%s' sequence='%s'", p.stream, p.shard, p.sequence)
}

// secondRecord is the record of the claim of r-2, between two others.
func (s *sandbox) secondRecord(t *testing.T) place {
	t.Helper()
	for _, key := range []string{"r-1", "r-2", "r-3"} {
		claim(t, s.inbox, key)
	}
	table, err := s.db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(inboxTable)})
	if err != nil {
		t.Fatal(err)
	}
	streams := dynamodbstreams.New(dynamodbstreams.Options{Region: "us-east-1", HTTPClient: steady.Client{},
		BaseEndpoint: s.db.Options().BaseEndpoint, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
	p := place{stream: *table.Table.LatestStreamArn}
	stream, err := streams.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &p.stream})
	if err != nil {
		t.Fatal(err)
	}
	p.shard = *stream.StreamDescription.Shards[0].ShardId
	at, err := streams.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{StreamArn: &p.stream, ShardId: &p.shard,
		ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon})
	if err != nil {
		t.Fatal(err)
	}
	page, err := streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: at.ShardIterator})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Records {
		if pk, ok := r.Dynamodb.Keys["pk"].(*streamtypes.AttributeValueMemberS); ok && pk.Value == keyOf("r-2").ItemKey() {
			p.sequence = *r.Dynamodb.SequenceNumber
			return p
		}
	}
	t.Fatal("the stream has no record of r-2")
	return p
}

// queueOf stands for SQS alone, with one message about the place as Lambda writes it; everything else is the real AWS CLI.
func (s *sandbox) queueOf(t *testing.T, p place) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"DDBStreamBatchInfo": map[string]string{
		"streamArn": p.stream, "shardId": p.shard, "startSequenceNumber": p.sequence}})
	if err != nil {
		t.Fatal(err)
	}
	queue, err := json.Marshal(map[string]any{"Messages": []any{map[string]string{"ReceiptHandle": "receipt-1", "Body": string(body)}}})
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "queue.json", string(queue))
	return "aws() { if [ \"$1\" = sqs ]; then cat queue.json; else command aws \"$@\"; fi; }"
}

// restoreCases copy from a table that was restored, and clean up.
func restoreCases() map[string]blockCase {
	const restored = "custody-restored"
	restore := func(t *testing.T, s *sandbox) string {
		if err := (localaws.Tables{Inbox: restored}).Make(t.Context(), s.db); err != nil {
			t.Fatal(err)
		}
		return "restored=" + restored
	}
	return map[string]blockCase{
		"Restore a table from point-in-time recovery: aws dynamodb scan": {prepare: func(t *testing.T, s *sandbox) string {
			before := restore(t, s)
			old := dynamostore.New(s.db, restored)
			for _, key := range []string{"r-1", "r-2"} {
				claim(t, old, key)
			}
			// A note as people write it: it goes through jq, tr, xargs and two shells.
			s.put(t, restored, map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "odd"},
				"note": &types.AttributeValueMemberS{Value: "it's \"so\" \\ $HOME `id`\nand ü"}})
			claim(t, s.inbox, "r-1")
			s.set(t, "r-1", inbox.AttrState, string(inbox.StateDismissed))
			return before
		}, check: func(t *testing.T, s *sandbox, out string) {
			same(t, "", out)
			same(t, inbox.StateDismissed, s.run(t, "r-1").State)
			same(t, inbox.StatePending, s.run(t, "r-2").State)
			odd := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "odd"}}
			got, err := s.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(inboxTable), Key: odd})
			if err != nil {
				t.Fatal(err)
			}
			note, _ := got.Item["note"].(*types.AttributeValueMemberS)
			if note == nil || note.Value != "it's \"so\" \\ $HOME `id`\nand ü" {
				t.Errorf("the odd item came over as %+v", got.Item)
			}
		}},
		"Restore a table from point-in-time recovery: bin/custody resume": {asks: true, prepare: func(t *testing.T, s *sandbox) string {
			stop := retention.Row{Hold: retention.Hold{Scope: retention.ScopeAll, ID: "custody-stop", Reason: retention.ReasonStop}}
			if stands, err := s.holds.Put(t.Context(), stop, time.Now()); err != nil || stands != nil {
				t.Fatal(stands, err)
			}
			return restore(t, s)
		}, check: func(t *testing.T, s *sandbox, _ string) {
			same(t, nil, s.rows(t, retention.ScopeAll))
			tables, err := s.db.ListTables(t.Context(), &dynamodb.ListTablesInput{})
			if err != nil {
				t.Fatal(err)
			}
			same(t, []string{holdsTable, inboxTable, reservationsTable}, tables.TableNames)
		}},
	}
}

func (s *sandbox) put(t *testing.T, table string, item map[string]types.AttributeValue) {
	t.Helper()
	if _, err := s.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
		t.Fatal(err)
	}
}

func (s *sandbox) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *sandbox) read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(string(content), "\ufeff")
}
