package wirecontract_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/localaws"
	"custody/internal/localaws/lambda"
)

// stack is a local stack of one scheme, and what the suite knows about it.
type stack struct {
	target
	local *localaws.Stack
	gate  *gate
	mark  string // stands in every body, and nowhere else
	count *atomic.Int32

	second, ended string // further keys of the keyring: k2 is active, k0 is over
}

// open starts a stack. At its end nothing may stand in the table but what was acknowledged, and nothing may have been said
// that is secret.
func open(t *testing.T, sc scheme, settings ...string) stack {
	t.Helper()
	key, second, ended, mark := sc.key(), sc.key(), sc.key(), "mark-"+rand.Text()
	keyring, err := json.Marshal(map[string]any{"k1": key, "k2": second, "k0": map[string]string{"key": ended, "not_after": "2020-01-01T00:00:00Z"}})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"CUSTODY_SIGNATURE_SCHEME": sc.name, "CUSTODY_SIGNING_KEYS": string(keyring), "CUSTODY_RECORD_ONLY": "true"}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		values[name] = value
	}
	record, gate := newRecord(key, second, ended, mark), newGate()
	local, err := localaws.Start(t.Context(), localaws.Options{
		Functions: os.Getenv(builtFunctions), Settings: values, WrapDynamoDB: gate.wrap, Output: record.said,
	})
	if err != nil {
		t.Fatal(err)
	}
	to := target{scheme: sc, url: parseURL(t, local.URL()), key: key, keyID: "k1", record: record}
	if path := values["CUSTODY_PATH"]; path != "" {
		to.url.Path = path
	}
	if sc.keyID == "" {
		to.keyID = ""
	}
	s := stack{target: to, local: local, gate: gate, mark: mark, count: new(atomic.Int32), second: second, ended: ended}
	t.Cleanup(func() { s.close(t) })
	return s
}

func (s stack) close(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	for _, id := range s.deliveries(ctx, t) {
		if !s.record.committed[id] {
			t.Errorf("delivery %s stands in the table, and nothing that was acknowledged has this id", id)
		}
	}
	if err := s.local.Close(); err != nil { // every line is read then
		t.Error(err)
	}
	for _, leak := range s.record.leaks() {
		t.Errorf("an answer or a log line holds %s", leak)
	}
	if n := s.record.unlogged(); n > 0 {
		t.Errorf("%d answers have no log line", n)
	}
}

// fresh is an id that nothing has yet, for a delivery and for its run.
func (s stack) fresh() string { return fmt.Sprintf("n-%d", s.count.Add(1)) }

// body is a command of the given run.
func (s stack) body(run string) string { return s.bodyFor(run, "wh-17") }

func (s stack) bodyFor(run, warehouse string) string {
	return fmt.Sprintf(`{"type":"cleanup.run","run_id":%q,"warehouse_id":%q,"expired_before":"2020-01-02T03:04:05Z","note":%q}`, run, warehouse, s.mark)
}

// delivery is one that will be accepted: its id is new, and so is its run, which has the same id.
func (s stack) delivery() message {
	id := s.fresh()
	return s.message(id, s.body(id))
}

// at is the same function behind another front, whose clock stands still.
func (s stack) at(t *testing.T, receipt time.Time) target {
	t.Helper()
	server := httptest.NewServer(lambda.NewURL(s.local.Function("webhook"), func() time.Time { return receipt }))
	t.Cleanup(server.Close)
	front := s.target
	front.url = parseURL(t, server.URL+s.url.Path)
	return front
}

// item reads one item of the inbox as plain text, nil where there is none.
func (s stack) item(ctx context.Context, t *testing.T, key string) map[string]string {
	t.Helper()
	table, consistent := s.local.Setting("CUSTODY_TABLE"), true
	out, err := s.local.DynamoDB().GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, ConsistentRead: &consistent, Key: pk(key)})
	if err != nil {
		t.Fatal(err)
	}
	return plain(out.Item)
}

func pk(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: key}}
}

func plain(item map[string]types.AttributeValue) map[string]string {
	if len(item) == 0 {
		return nil
	}
	texts := map[string]string{}
	for name, value := range item {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			texts[name] = v.Value
		case *types.AttributeValueMemberN:
			texts[name] = v.Value
		}
	}
	return texts
}

// removeItem is what the time to live does, early.
func (s stack) removeItem(t *testing.T, key string) {
	t.Helper()
	table := s.local.Setting("CUSTODY_TABLE")
	if _, err := s.local.DynamoDB().DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: pk(key)}); err != nil {
		t.Fatal(err)
	}
}

// stored says what stands in the table: delivery and run, or one of them, or nothing.
func (s stack) stored(t *testing.T, delivery, run string) string {
	t.Helper()
	var there []string
	if s.item(t.Context(), t, "delivery#"+delivery) != nil {
		there = append(there, "delivery")
	}
	if s.item(t.Context(), t, "run#cleanup.run#"+run) != nil {
		there = append(there, "run")
	}
	return strings.Join(there, " and ")
}

// deliveries lists the ids of the delivery items.
func (s stack) deliveries(ctx context.Context, t *testing.T) []string {
	table, consistent := s.local.Setting("CUSTODY_TABLE"), true
	pages := dynamodb.NewScanPaginator(s.local.DynamoDB(), &dynamodb.ScanInput{TableName: &table, ConsistentRead: &consistent})
	var ids []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Error(err)
			return nil
		}
		for _, item := range page.Items {
			if id, ok := strings.CutPrefix(plain(item)["pk"], "delivery#"); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// reason is the log's word for the signature of a delivery.
func (s stack) reason(t *testing.T, id string) string {
	t.Helper()
	line, err := s.record.lineOf(t.Context(), id)
	if err != nil {
		t.Error(err)
	}
	return line.Signature
}

// gate stands in front of DynamoDB. What it does to a request depends on the delivery that the request is about.
type gate struct {
	mu    sync.Mutex
	acts  map[string]act
	calls map[string]int // by delivery id
	ops   map[string]int // by operation
}

// act answers in the place of the engine, or with its help.
type act func(w http.ResponseWriter, r *http.Request, engine http.Handler)

func newGate() *gate {
	return &gate{acts: map[string]act{}, calls: map[string]int{}, ops: map[string]int{}}
}

var deliveryKey = regexp.MustCompile(`"delivery#([^"]+)"`)

func (g *gate) wrap(engine http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		id := ""
		if found := deliveryKey.FindSubmatch(body); found != nil {
			id = string(found[1])
		}
		g.mu.Lock()
		g.ops[op]++
		g.calls[id]++
		do := g.acts[id]
		g.mu.Unlock()
		if do != nil {
			do(w, r, engine)
			return
		}
		engine.ServeHTTP(w, r)
	})
}

// on sets what happens to the store calls about a delivery; nil lets them pass.
func (g *gate) on(id string, do act) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.acts[id] = do
}

func (g *gate) callsAbout(id string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls[id]
}

// opsNow is what of the store was asked so far, without what the stack's own parts ask: the sweeper its index, the mapping the
// stream, and the start the tables.
func (g *gate) opsNow() map[string]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	ops := maps.Clone(g.ops)
	maps.DeleteFunc(ops, func(op string, _ int) bool {
		return op == "Query" || strings.Contains(op, "Table") || strings.Contains(op, "Stream") || strings.Contains(op, "Shard") ||
			op == "GetRecords" || op == "UpdateTimeToLive"
	})
	return ops
}

// failing answers every call with an error of DynamoDB.
func failing(status int, code, more string) act {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"no"%s}`, code, more)
	}
}
