package webhook_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	engine "custody/internal/localaws/dynamodb"
	"custody/internal/localaws/steady"
	"custody/internal/webhook"
)

// crowd stands between the SDK and the local DynamoDB, which does one thing at a time, and makes what a busy DynamoDB makes:
// transactions that take their time and conflict with whatever else wants one of their items, answers that are lost, throttles.
type crowd struct {
	engine http.Handler

	mu       sync.Mutex
	rng      *rand.Rand
	calm     bool            // nothing is made any more
	busy     map[string]bool // the items of transactions on their way
	deaf     map[string]bool // tokens of transactions whose every answer is lost
	happened map[string]int
}

// member is one of a transaction's writes, or a single one, as far as it names its item.
type member struct {
	TableName string
	Key, Item map[string]struct{ S string }
}

func (m member) item() string {
	id := m.Key
	if id == nil {
		id = m.Item
	}
	return m.TableName + "/" + id["pk"].S + id["reservation_id"].S
}

func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); operation {
	case "TransactWriteItems":
		c.transact(w, r, body)
	case "PutItem", "UpdateItem":
		var m member
		if json.Unmarshal(body, &m) == nil && c.isBusy(m.item()) {
			c.refuse(w, "TransactionConflictException", "")
			return
		}
		c.engine.ServeHTTP(w, r)
	default:
		c.engine.ServeHTTP(w, r)
	}
}

func (c *crowd) isBusy(item string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.busy[item]
}

func (c *crowd) transact(w http.ResponseWriter, r *http.Request, body []byte) {
	var in struct {
		ClientRequestToken string
		TransactItems      []map[string]member
	}
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var items []string
	for _, m := range in.TransactItems {
		for _, m := range m {
			items = append(items, m.item())
		}
	}
	reasons, spin, lose := c.enter(in.ClientRequestToken, items)
	if reasons != "" {
		c.refuse(w, "TransactionCanceledException", `,"CancellationReasons":[`+reasons+`]`)
		return
	}
	for range spin { // the transaction is on its way, and the others go on
		runtime.Gosched()
	}
	answer := httptest.NewRecorder()
	c.engine.ServeHTTP(answer, r)
	c.leave(items)
	if lose {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	for name := range answer.Header() {
		w.Header().Set(name, answer.Header().Get(name))
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// enter takes the transaction's items, or says why it is cancelled, member by member.
func (c *crowd) enter(token string, items []string) (reasons string, spin int, lose bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calm {
		return "", 0, false
	}
	codes, cancelled := make([]string, len(items)), ""
	throttled := c.rng.IntN(40) == 0
	for i, item := range items {
		code := "None"
		switch {
		case c.busy[item]:
			code, cancelled = "TransactionConflict", "conflict"
		case throttled && i == len(items)-1:
			code, cancelled = "ThrottlingError", "throttle"
		}
		codes[i] = fmt.Sprintf(`{"Code":%q}`, code)
	}
	if cancelled != "" {
		c.happened[cancelled]++
		return strings.Join(codes, ","), 0, false
	}
	for _, item := range items {
		c.busy[item] = true
	}
	if lose = c.deaf[token] || c.rng.IntN(15) == 0; lose {
		c.happened["lost answer"]++
		c.deaf[token] = c.deaf[token] || c.rng.IntN(2) == 0
	}
	return "", c.rng.IntN(100), lose
}

func (c *crowd) leave(items []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, item := range items {
		delete(c.busy, item)
	}
}

// quiet ends all troubles, so that whatever is asked then has a definite answer.
func (c *crowd) quiet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calm = true
}

func (c *crowd) refuse(w http.ResponseWriter, typ, more string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"m"%s}`, typ, more)
}

// arena is a front door over the tables, in a crowd.
type arena struct {
	*crowd
	handler *webhook.Handler
	db      *dynamodb.Client
}

const reservationsTable = "reservations"

func newArena(t *testing.T, seed uint64) *arena {
	t.Helper()
	c := &crowd{
		engine: engine.New(engine.Options{}), rng: rand.New(rand.NewPCG(seed, 1)),
		busy: map[string]bool{}, deaf: map[string]bool{}, happened: map[string]int{},
	}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	a := &arena{crowd: c, db: dynamodb.New(dynamodb.Options{
		HTTPClient: steady.Client{}, Region: "us-east-1", BaseEndpoint: &server.URL,
		Retryer:     retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = 2 * time.Millisecond }),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})}
	for _, table := range (localaws.Tables{Inbox: tableName, Holds: "holds", Reservations: reservationsTable}).All() {
		table.Input.StreamSpecification = &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		}
		if _, err := a.db.CreateTable(t.Context(), table.Input); err != nil {
			t.Fatal(err)
		}
	}
	store := dynamostore.New(a.db, tableName)
	a.handler = open(t, func(h *webhook.Handler) {
		h.Commands, h.Store, h.Reservations = everyCommand(t), store, dynamostore.NewReservations(store, reservationsTable)
	}).Handler
	return a
}

// told is an answer to a delivery.
type told struct {
	id, body string
	answer
}

// deliverAtOnce sends the deliveries from some goroutines, while the others do theirs, and returns every answer.
func (a *arena) deliverAtOnce(t *testing.T, deliveries []told, workers int, others ...func()) []told {
	t.Helper()
	event := sample(t, "delivery.json")
	work := make(chan int, len(deliveries))
	for i := range deliveries {
		work <- i
	}
	close(work)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range work {
				d := &deliveries[i]
				d.answer = a.deliver(t.Context(), event, d.id, d.body)
			}
		})
	}
	for _, other := range others {
		wg.Go(other)
	}
	wg.Wait()
	return deliveries
}

func (a *arena) deliver(ctx context.Context, event events.LambdaFunctionURLRequest, id, body string) answer {
	resp, sum := a.handler.Handle(ctx, resign(event, id, body, receipt()))
	return answer{resp.StatusCode, sum.Outcome}
}

// deed is one change of an item, as the streams tell it.
type deed struct {
	table    string
	at       string // the sequence number; the local engine counts all tables' together
	old, new map[string]streamtypes.AttributeValue
}

// history reads the streams of both tables, in the order in which things happened.
func (a *arena) history(t *testing.T) []deed {
	t.Helper()
	streams := dynamodbstreams.New(dynamodbstreams.Options{
		HTTPClient: steady.Client{}, Region: "us-east-1", BaseEndpoint: a.db.Options().BaseEndpoint,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	var all []deed
	for _, table := range []string{tableName, reservationsTable} {
		about, err := a.db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
		if err != nil {
			t.Fatal(err)
		}
		arn := about.Table.LatestStreamArn
		stream, err := streams.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
		if err != nil || len(stream.StreamDescription.Shards) != 1 {
			t.Fatalf("stream %+v, %v, want one shard", stream, err)
		}
		begin, err := streams.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
			StreamArn: arn, ShardId: stream.StreamDescription.Shards[0].ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
		})
		if err != nil {
			t.Fatal(err)
		}
		for cursor := begin.ShardIterator; cursor != nil; {
			page, err := streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: cursor})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Records {
				all = append(all, deed{table, *r.Dynamodb.SequenceNumber, r.Dynamodb.OldImage, r.Dynamodb.NewImage})
			}
			if cursor = page.NextShardIterator; len(page.Records) == 0 {
				break
			}
		}
	}
	slices.SortFunc(all, func(x, y deed) int { return cmp.Compare(x.at, y.at) })
	return all
}

// text reads a text attribute of a stream's image; "" where there is none.
func text(image map[string]streamtypes.AttributeValue, name string) string {
	s, ok := image[name].(*streamtypes.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}

// number reads a number, as it is spelled.
func number(image map[string]streamtypes.AttributeValue, name string) string {
	n, ok := image[name].(*streamtypes.AttributeValueMemberN)
	if !ok {
		return ""
	}
	return n.Value
}

// deliveryOf is what a delivery's item says.
func deliveryOf(image map[string]streamtypes.AttributeValue) inbox.Delivery {
	return inbox.Delivery{
		ID: text(image, "delivery_id"), BodySHA256: text(image, "body_sha256"), Outcome: inbox.Outcome(text(image, "outcome")),
		RunKey: text(image, "run_key"), ReservationID: text(image, "reservation_id"),
	}
}
