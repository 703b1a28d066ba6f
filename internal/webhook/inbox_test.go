package webhook_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	engine "custody/internal/localaws/dynamodb"
	"custody/internal/localaws/steady"
	"custody/internal/webhook"
)

// table is the inbox table on the local DynamoDB, with a place for faults between it and the SDK.
type table struct {
	client *dynamodb.Client
	store  *dynamostore.Store
	writes atomic.Int64 // requests that arrived, repetitions included

	mu    sync.Mutex
	fault func(next http.Handler) http.Handler // of writes; nil for none
}

const tableName = "inbox"

func newTable(t *testing.T) *table {
	t.Helper()
	tab := new(table)
	server := httptest.NewServer(tab.between(engine.New(engine.Options{})))
	t.Cleanup(server.Close)
	tab.client = dynamodb.New(dynamodb.Options{
		HTTPClient: steady.Client{},
		Region:     "us-east-1", BaseEndpoint: &server.URL,
		// The SDK's own three tries, without its pauses of up to 20 s.
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = 5 * time.Millisecond }),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
	tab.store = dynamostore.New(tab.client, tableName)
	_, err := tab.client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(tableName), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// between lets a fault have the writes of the inbox before, or instead of, the engine.
func (tab *table) between(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target := r.Header.Get("X-Amz-Target")
		if !strings.HasSuffix(target, "TransactWriteItems") && !strings.HasSuffix(target, "PutItem") {
			next.ServeHTTP(w, r)
			return
		}
		tab.writes.Add(1)
		tab.mu.Lock()
		fault := tab.fault
		tab.mu.Unlock()
		if fault != nil {
			fault(next).ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (tab *table) breakWith(fault func(http.Handler) http.Handler) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.fault = fault
}

// first lets the fault have the first n writes only.
func first(n int64, fault func(http.Handler) http.Handler) func(http.Handler) http.Handler {
	var seen atomic.Int64
	return func(next http.Handler) http.Handler {
		if seen.Add(1) > n {
			return next
		}
		return fault(next)
	}
}

// loseAnswer lets the engine do its work, and the connection break behind it.
func loseAnswer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
}

// loseRequest breaks the connection before the engine sees the request.
func loseRequest(http.Handler) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	})
}

// say answers with an error instead of the engine.
func say(status int, code, more string) func(http.Handler) http.Handler {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"as asked"%s}`, code, more)
		})
	}
}

// cancel answers that the transaction was cancelled for these reasons.
func cancel(codes ...string) func(http.Handler) http.Handler {
	reasons := make([]string, len(codes))
	for i, c := range codes {
		reasons[i] = fmt.Sprintf(`{"Code":%q}`, c)
	}
	return say(400, "TransactionCanceledException", `,"CancellationReasons":[`+strings.Join(reasons, ",")+`]`)
}

// items counts what the table holds, read by the SDK and not through the store.
func (tab *table) items(t *testing.T) (deliveries, runs int) {
	t.Helper()
	out, err := tab.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(tableName), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range out.Items {
		if strings.HasPrefix(item["pk"].(*types.AttributeValueMemberS).Value, "run#") {
			runs++
		} else {
			deliveries++
		}
	}
	return deliveries, runs
}

func openOn(t *testing.T, tab *table) front {
	return open(t, func(h *webhook.Handler) { h.Store = tab.store })
}

func TestInboxCopiesAtOnceMakeOneRun(t *testing.T) {
	t.Parallel()
	tab := newTable(t)
	f := openOn(t, tab)
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		seen = map[answer]int{}
	)
	for n := range 30 {
		wg.Go(func() {
			// Ten copies of one delivery, and twenty of its run's command under other ids.
			req := signed(t, fmt.Sprintf("d-%d", max(0, n-9)), payload("r-1", "wh-1"))
			resp, sum := f.Handler.Handle(t.Context(), req)
			mu.Lock()
			defer mu.Unlock()
			seen[answer{resp.StatusCode, sum.Outcome}]++
		})
	}
	wg.Wait()
	if diff := cmp.Diff(map[answer]int{accepted: 1, already: 29}, seen); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if deliveries, runs := tab.items(t); deliveries != 21 || runs != 1 {
		t.Errorf("%d deliveries and %d runs, want 21 and 1", deliveries, runs)
	}
}

func TestInboxConflictsAndAliases(t *testing.T) {
	t.Parallel()
	tab := newTable(t)
	f := openOn(t, tab)
	for _, c := range []struct {
		id, body string
		want     answer
	}{
		{"d-1", payload("r-1", "wh-1"), accepted},
		{"d-1", payload("r-1", "wh-1"), already},
		{"d-1", payload("r-2", "wh-1"), conflict},
		{"d-1", payload("r-1", "wh-2"), conflict},
		{"d-2", payload("r-1", "wh-2"), conflict},
		{"d-2", payload("r-1", "wh-1"), already},
		{"d-2", payload("r-1", "wh-1") + " ", conflict},
		{"d-3", payload("r-3", "wh-1"), accepted},
	} {
		if got, _, sum := f.send(t, signed(t, c.id, c.body)); got != c.want {
			t.Errorf("%s %s: answer %v, want %v: %s", c.id, c.body, got, c.want, sum.Problem)
		}
	}
	if deliveries, runs := tab.items(t); deliveries != 3 || runs != 2 {
		t.Errorf("%d deliveries and %d runs, want 3 and 2", deliveries, runs)
	}
	run, err := tab.store.Run(t.Context(), inbox.RunKey{Type: "cleanup.run", Key: "r-1"})
	if err != nil || run == nil || run.State != inbox.StatePending || run.Scope != "warehouse:wh-1" || run.Wake == "" {
		t.Errorf("run %+v, error %v", run, err)
	}
}

// Each fault meets a first delivery. What the sender hears, what the table holds then, and that the redelivery finds it.
func TestInboxFaultsOnAClaim(t *testing.T) {
	t.Parallel()
	const always = 1 << 30
	for sentence, c := range map[string]struct {
		fault      func(http.Handler) http.Handler
		want       answer
		wantRuns   int
		redelivery answer
	}{
		"one answer is lost, and the SDK asks again":     {first(1, loseAnswer), accepted, 1, already},
		"every answer is lost":                           {first(always, loseAnswer), retryable, 1, already},
		"one request is lost":                            {first(1, loseRequest), accepted, 1, already},
		"every request is lost":                          {first(always, loseRequest), retryable, 0, accepted},
		"a conflict that passes":                         {first(2, cancel("None", "TransactionConflict")), accepted, 1, already},
		"a conflict that stays":                          {cancel("None", "TransactionConflict"), retryable, 0, accepted},
		"a throttle beside a refused condition":          {cancel("ConditionalCheckFailed", "ThrottlingError"), retryable, 0, accepted},
		"a refused condition beside a throttle":          {cancel("ThrottlingError", "ConditionalCheckFailed"), retryable, 0, accepted},
		"a conflict beside a refused condition":          {cancel("ConditionalCheckFailed", "TransactionConflict"), retryable, 0, accepted},
		"a capacity error":                               {cancel("ProvisionedThroughputExceeded", "None"), retryable, 0, accepted},
		"a validation error":                             {cancel("ValidationError", "None"), retryable, 0, accepted},
		"a collection that is too large":                 {cancel("ItemCollectionSizeLimitExceeded", "None"), retryable, 0, accepted},
		"no reason at all":                               {cancel(), retryable, 0, accepted},
		"a transaction in progress":                      {say(400, "TransactionInProgressException", ""), retryable, 0, accepted},
		"a token of another request":                     {say(400, "IdempotentParameterMismatchException", ""), retryable, 0, accepted},
		"a throttle":                                     {say(400, "ThrottlingException", ""), retryable, 0, accepted},
		"access denied":                                  {say(400, "AccessDeniedException", ""), retryable, 0, accepted},
		"no such table":                                  {say(400, "ResourceNotFoundException", ""), retryable, 0, accepted},
		"an internal error":                              {say(500, "InternalServerError", ""), retryable, 0, accepted},
		"a page of HTML":                                 {html, retryable, 0, accepted},
		"a condition that failed where nothing is known": {cancel("ConditionalCheckFailed", "None"), answer{}, 0, accepted},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			tab := newTable(t)
			f := openOn(t, tab)
			tab.breakWith(c.fault)
			got, resp, sum := f.send(t, sample(t, "delivery.json"))
			if c.want == (answer{}) { // no item came back: whatever the answer is, it promises nothing
				if got.Outcome.Committed() {
					t.Errorf("answer %v", got)
				}
			} else if got != c.want {
				t.Errorf("answer %v, want %v: %s", got, c.want, sum.Problem)
			}
			if got.Status == 503 && resp.Headers["Retry-After"] == "" {
				t.Error("503 without Retry-After")
			}
			if deliveries, runs := tab.items(t); runs != c.wantRuns || deliveries != runs {
				t.Errorf("%d deliveries and %d runs, want %d of each", deliveries, runs, c.wantRuns)
			}
			tab.breakWith(nil)
			if got, _, sum := f.send(t, sample(t, "duplicate.json")); got != c.redelivery {
				t.Errorf("redelivery: answer %v, want %v: %s", got, c.redelivery, sum.Problem)
			}
			if deliveries, runs := tab.items(t); deliveries != 1 || runs != 1 {
				t.Errorf("in the end %d deliveries and %d runs", deliveries, runs)
			}
		})
	}
}

func html(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write(bytes.Repeat([]byte("<html>"), 100))
	})
}

func TestInboxFaultsOnAnAlias(t *testing.T) {
	t.Parallel()
	// The claim goes through to its refusal; the fault has the put of the alias.
	onPut := func(fault func(http.Handler) http.Handler) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "PutItem") {
					next = fault(next)
				}
				next.ServeHTTP(w, r)
			})
		}
	}
	for sentence, c := range map[string]struct {
		fault func(http.Handler) http.Handler
		want  answer
	}{
		"the answer is lost, and the SDK's own repetition is refused": {first(1, loseAnswer), already},
		"every answer is lost": {loseAnswer, retryable},
		"a throttle":           {say(400, "ThrottlingException", ""), retryable},
		"a passing conflict":   {first(1, say(400, "TransactionConflictException", "")), already},
		"access denied":        {say(400, "AccessDeniedException", ""), retryable},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			tab := newTable(t)
			f := openOn(t, tab)
			f.send(t, signed(t, "d-1", payload("r-1", "wh-1")))
			tab.breakWith(onPut(c.fault))
			if got, _, sum := f.send(t, signed(t, "d-2", payload("r-1", "wh-1"))); got != c.want {
				t.Errorf("answer %v, want %v: %s", got, c.want, sum.Problem)
			}
			tab.breakWith(nil)
			if got, _, _ := f.send(t, signed(t, "d-2", payload("r-1", "wh-1"))); got != already {
				t.Errorf("redelivery: answer %v", got)
			}
			if deliveries, runs := tab.items(t); deliveries != 2 || runs != 1 {
				t.Errorf("%d deliveries and %d runs, want 2 and 1", deliveries, runs)
			}
		})
	}
}

// A store that does not answer is left behind in time, and what it did meanwhile is found.
func TestInboxThatHangs(t *testing.T) {
	t.Parallel()
	tab := newTable(t)
	impatient := open(t, func(h *webhook.Handler) { h.Store, h.Settings.AckTimeout = tab.store, time.Second })
	committed := make(chan struct{}, 10) // one for each time the SDK sends it
	tab.breakWith(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			committed <- struct{}{}
			<-r.Context().Done() // until the caller has gone
			panic(http.ErrAbortHandler)
		})
	})
	if got, _, sum := impatient.send(t, sample(t, "delivery.json")); got != retryable {
		t.Errorf("answer %v: %s", got, sum.Problem)
	}
	select {
	case <-committed:
	case <-time.After(time.Minute):
		t.Fatal("the claim never reached the store")
	}
	tab.breakWith(nil)
	if got, _, _ := openOn(t, tab).send(t, sample(t, "duplicate.json")); got != already {
		t.Errorf("redelivery: answer %v", got)
	}
}

func TestNothingUnsignedReachesTheTable(t *testing.T) {
	t.Parallel()
	tab := newTable(t)
	f := openOn(t, tab)
	for _, name := range []string{"tampered.json", "get.json"} {
		f.send(t, sample(t, name))
	}
	for _, c := range inOrder() {
		req := sample(t, "delivery.json")
		c.spoil(&req)
		f.send(t, req)
	}
	if n := tab.writes.Load(); n != 0 {
		t.Errorf("%d writes", n)
	}
}
