package runbook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"pgregory.net/rapid"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	localdynamodb "custody/internal/localaws/dynamodb"
	"custody/internal/localaws/steady"
	"custody/internal/operator"
)

// twins are two inbox tables: in one the docs' commands move the items, in the other the tool moves equal ones.
type twins struct {
	engine *localdynamodb.Engine
	client *dynamodb.Client
	of     map[inbox.Attribute][]any
	base   map[string]any // the item of a claimed run
	n      int
	ctx    func() context.Context // the test's, also for its random cases
}

const (
	tableByHand = "by-hand"
	tableByTool = "by-tool"
)

func newTwins(t *testing.T) *twins {
	t.Helper()
	w := &twins{engine: localdynamodb.New(localdynamodb.Options{}), of: alternatives(), ctx: t.Context}
	server := httptest.NewServer(w.engine)
	t.Cleanup(server.Close)
	w.client = dynamodb.New(dynamodb.Options{Region: "us-east-1", HTTPClient: steady.Client{}, BaseEndpoint: &server.URL,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
	for _, name := range []string{tableByHand, tableByTool} {
		if err := (localaws.Tables{Inbox: name}).Make(t.Context(), w.client); err != nil {
			t.Fatal(err)
		}
	}
	run := claim(t, dynamostore.New(w.client, tableByTool), "base")
	w.base = w.item(t, tableByTool, map[string]any{"pk": text(run.RunKey().ItemKey())})
	return w
}

// claim claims a pending run as the webhook does; the delivery of r-1 is d-1.
func claim(t *testing.T, store *dynamostore.Store, runKey string) inbox.Run {
	t.Helper()
	key := inbox.RunKey{Type: "cleanup.run", Key: runKey}
	received := time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	run := inbox.NewRun(key, "warehouse:wh-17", inbox.Selection{Bucket: objectBucket, Prefixes: []string{"pod/wh-17/"},
		Cutoff: received.Add(-24 * time.Hour).Truncate(time.Second)}, "hash", strings.Replace(runKey, "r-", "d-", 1), received).Start("wake-" + runKey)
	there, err := store.Claim(t.Context(), inbox.Claim{Run: run, Delivery: inbox.Delivery{ID: run.DeliveryID, CommandType: key.Type,
		RunKey: key.Key, Outcome: inbox.OutcomeAccepted, BodySHA256: "00", ReceivedAt: received, TTL: received.Add(kept).Unix()}})
	if err != nil || there != nil {
		t.Fatal(there, err)
	}
	return run
}

// kept is the RetentionDays that the docs write down with its name; the architecture's tests hold that to the template.
const kept = 90 * 24 * time.Hour

// byTool makes the move as the tool does, with what the block made up.
func (w *twins) byTool(move inbox.Move, key inbox.RunKey, g generated, f filled) error {
	o := &operator.Operator{Inbox: dynamostore.New(w.client, tableByTool), Types: []string{key.Type}, Retention: kept,
		Now: func() time.Time { return g.at }, NewID: func() string { return g.wake }}
	if g.wake == "" { // refused, or a move without one
		o.NewID = func() string { return "a wake" }
	}
	if g.at.IsZero() {
		o.Now = time.Now
	}
	moves := map[string]func(context.Context, inbox.RunKey, string, string) (inbox.Run, error){
		inbox.MoveRetry: o.Retry, inbox.MoveRelease: o.Release, inbox.MoveDismiss: o.Dismiss,
	}
	if moves[move.Name] == nil {
		return fmt.Errorf("the test does not know how the tool makes %s", move.Name)
	}
	_, err := moves[move.Name](w.ctx(), key, f.who, f.why)
	return err
}

// call asks the engine as JSON has it, so that no client shapes what is compared. The refusal is the error's name.
func (w *twins) call(t fataler, operation string, asked request) (refusal string, answer map[string]any) {
	t.Helper()
	body, err := json.Marshal(asked)
	if err != nil {
		t.Fatalf("%v", err)
	}
	r := httptest.NewRequestWithContext(w.ctx(), http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	r.Header.Set("Authorization", "any")
	recorder := httptest.NewRecorder()
	w.engine.ServeHTTP(recorder, r)
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%s: %v: %s", operation, err, recorder.Body)
	}
	if recorder.Code != http.StatusOK {
		name, _ := answer["__type"].(string)
		return name[strings.LastIndex(name, "#")+1:], answer
	}
	return "", answer
}

func (w *twins) must(t fataler, operation string, asked request) map[string]any {
	t.Helper()
	refusal, answer := w.call(t, operation, asked)
	if refusal != "" {
		t.Fatalf("%s %v: %v", operation, asked, answer)
	}
	return answer
}

// item is what a table has, nil for nothing.
func (w *twins) item(t fataler, table string, pk map[string]any) map[string]any {
	t.Helper()
	item, _ := w.must(t, "GetItem", request{"TableName": table, "Key": pk, "ConsistentRead": true})["Item"].(map[string]any)
	return item
}

// generatedIn finds in an item what a use of the block made up. Where nothing was made, it is what was there before.
func generatedIn(item map[string]any) generated {
	in := func(v any, name, kind string) string {
		attribute, _ := v.(map[string]any)
		of, _ := attribute[name].(map[string]any)
		value, _ := of[kind].(string)
		return value
	}
	operation, _ := item[string(inbox.AttrOperation)].(map[string]any)
	g := generated{wake: in(item, string(inbox.AttrWake), "S")}
	if at, err := strconv.ParseInt(in(operation["M"], "at", "N"), 10, 64); err == nil {
		g.at = time.UnixMilli(at)
	}
	return g
}

// ---- shapes of items ----

func text(s string) map[string]any  { return map[string]any{"S": s} }
func number(n int64) map[string]any { return map[string]any{"N": strconv.FormatInt(n, 10)} }
func dict(m map[string]any) any     { return map[string]any{"M": m} }
func past() any                     { return number(1_700_000_000_000) }
func future() any                   { return number(4_000_000_000_000) }
func problem(category, m string) any {
	return dict(map[string]any{"category": text(category), "message": text(m), "at": past()})
}

// alternatives are values that an attribute may have; any of them may also be absent. They need not fit together: the moves'
// conditions alone decide.
func alternatives() map[inbox.Attribute][]any {
	var states []any
	for _, s := range inbox.States() {
		states = append(states, text(string(s)))
	}
	return map[inbox.Attribute][]any{
		inbox.AttrState:    append(states, text("of a later version")),
		inbox.AttrMode:     {text(string(inbox.ModeDelete)), text(string(inbox.ModeDryRun)), text("of a later version")},
		inbox.AttrAttempts: {number(0), number(12)}, inbox.AttrSlices: {number(0), number(40)},
		inbox.AttrLastError: {problem("throttled", "m")}, inbox.AttrCause: {problem("unavailable", "m")},
		inbox.AttrOperation:  {dict(map[string]any{"move": text("retry"), "by": text("another"), "reason": text(""), "at": past()})},
		inbox.AttrLeaseToken: {text("token")}, inbox.AttrLeaseExpiresAt: {past(), future()}, inbox.AttrLeaseRecord: {text("record")},
		inbox.AttrWake: {text("an older wake")}, inbox.AttrWakeAt: {past(), future()}, inbox.AttrWakeCount: {number(0), number(7)},
		inbox.AttrNextAttemptAt: {past(), future()}, inbox.AttrStartedAt: {past()}, inbox.AttrEndedAt: {past()},
		inbox.AttrPlace: {dict(map[string]any{"scan": number(3), "prefix": number(1), "key": text("pod/k"), "deleted": map[string]any{"BOOL": true},
			"retained": dict(map[string]any{"lock_retention": number(2)}), "refused_count": number(1),
			"refused": map[string]any{"L": []any{dict(map[string]any{"key": text("k"), "version_id": text("v"), "code": text("AccessDenied")})}}})},
		inbox.AttrCounters: {dict(map[string]any{"selected": number(9), "deleted": number(7), "absent": number(1), "listed": number(20)})},
		inbox.AttrOpen:     {text("open"), text("failed"), text("recorded")}, inbox.AttrOpenSince: {past(), future()},
		inbox.AttrTTL: {number(1_700_000_000), number(4_000_000_000)},
	}
}

// complete fails where a move names an attribute that has no alternatives: its comparison would prove nothing about it.
func (w *twins) complete(t *testing.T, move inbox.Move) {
	t.Helper()
	named := namedIn(move.If)
	for _, e := range move.Then {
		named = append(named, e.Attr)
	}
	for _, a := range named {
		if len(w.of[a]) == 0 {
			t.Fatalf("%s names %s, and no item is tried with it", move.Name, a)
		}
	}
}

func namedIn(c inbox.Condition) []inbox.Attribute {
	var named []inbox.Attribute
	if c.Attr != "" {
		named = append(named, c.Attr)
	}
	for _, of := range c.Of {
		named = append(named, namedIn(of)...)
	}
	return named
}

// bare is an item as its claim left it.
func (w *twins) bare() map[string]any { return maps.Clone(w.base) }

// full is one with every attribute, and with one that this version does not know.
func (w *twins) full() map[string]any {
	item := w.bare()
	for a, values := range w.of {
		item[string(a)] = values[len(values)-1]
	}
	item["later"] = text("of a later version")
	return item
}

// any is one in which each attribute is absent or has one of its values.
func (w *twins) any(rt *rapid.T) map[string]any {
	item := w.bare()
	for _, a := range slices.Sorted(maps.Keys(w.of)) {
		values := append(slices.Clone(w.of[a]), nil)
		item = with(item, a, values[rapid.IntRange(0, len(values)-1).Draw(rt, string(a))])
	}
	return item
}

// with is the item with the attribute; nil is its absence.
func with(item map[string]any, a inbox.Attribute, value any) map[string]any {
	item = maps.Clone(item)
	item[string(a)] = value
	if value == nil {
		delete(item, string(a))
	}
	return item
}
