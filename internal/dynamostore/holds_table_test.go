package dynamostore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/retention"
)

const wh17 = "warehouse:wh-17"

func holdsOver(t *testing.T) (*dynamostore.Holds, *dynamodb.Client) {
	t.Helper()
	_, db := storeOver(t, nil)
	return dynamostore.NewHolds(db, "holds", slog.New(slog.DiscardHandler)), db
}

func holdRow(id string) retention.Row {
	return retention.Row{
		Hold: retention.Hold{Scope: wh17, ID: id, Prefix: "pod/wh-17/", Reason: retention.ReasonLegalHold, ExpiresAt: now.Add(time.Hour)},
		Note: "case 4", By: "alice", CreatedAt: now,
	}
}

func putHold(t *testing.T, h *dynamostore.Holds, row retention.Row) {
	t.Helper()
	if there, err := h.Put(t.Context(), row, now); there != nil || err != nil {
		t.Fatalf("put: %+v, %v", there, err)
	}
}

func TestWhatIsPutIsWhatTheFunctionsRead(t *testing.T) {
	t.Parallel()
	h, _ := holdsOver(t)
	prefix, key, stop := holdRow("a"), holdRow("b"), holdRow("c")
	key.Key, key.Prefix, key.ExpiresAt, key.Note = "pod/wh-17/x", "", time.Time{}, ""
	stop.Reason, stop.Prefix = retention.ReasonStop, ""
	want := []retention.Row{prefix, key, stop}
	for _, row := range want {
		putHold(t, h, row)
	}
	rows, err := h.Rows(t.Context(), wh17)
	if diff := cmp.Diff(want, rows); diff != "" || err != nil {
		t.Errorf("rows, error %v (-want +got):\n%s", err, diff)
	}
	covering, err := h.Covering(t.Context(), wh17)
	if diff := cmp.Diff([]retention.Hold{prefix.Hold, key.Hold, stop.Hold}, covering); diff != "" || err != nil {
		t.Errorf("covering, error %v (-want +got):\n%s", err, diff)
	}
}

// Other systems read the table, too: what is empty is not there, and above all no end in the year 1.
func TestPutWritesNoEmptyAttributes(t *testing.T) {
	t.Parallel()
	h, db := holdsOver(t)
	putHold(t, h, retention.Row{Hold: retention.Hold{Scope: "*", ID: "brake", Reason: retention.ReasonStop}})
	out, err := db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("holds")})
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(out.Items[0]))
	if diff := cmp.Diff([]string{"hold_id", "reason", "scope"}, got); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

func TestPutNeverReplacesAHoldThatIsInForce(t *testing.T) {
	t.Parallel()
	h, db := holdsOver(t)
	first, second := holdRow("a"), holdRow("a")
	second.Prefix = "labels/"
	putHold(t, h, first)
	for sentence, test := range map[string]struct {
		id   string
		at   time.Time
		want bool // whether it was written
	}{
		"in its last second": {"a", now.Add(time.Hour - time.Second), false},
		"in the same second": {"a", now.Add(time.Hour - time.Nanosecond), false},
		"of another id":      {"b", now, true},
	} {
		second.ID = test.id
		there, err := h.Put(t.Context(), second, test.at)
		if (there == nil) != test.want || err != nil {
			t.Errorf("%s: %+v stood there, error %v", sentence, there, err)
		}
		if there != nil && there.Prefix != first.Prefix {
			t.Errorf("%s: what stood there is %+v", sentence, there)
		}
	}
	second.ID = "a"
	if there, err := h.Put(t.Context(), second, now.Add(time.Hour)); there != nil || err != nil {
		t.Errorf("over a hold that has just ended: %+v, %v", there, err)
	}
	// A row whose end cannot be understood has none.
	for sentence, end := range map[string]types.AttributeValue{
		"text": &types.AttributeValueMemberS{Value: "0"}, "zero": &types.AttributeValueMemberN{Value: "0"}, "negative": &types.AttributeValueMemberN{Value: "-1"},
	} {
		_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("holds"), Item: map[string]types.AttributeValue{
			"scope": &types.AttributeValueMemberS{Value: wh17}, "hold_id": &types.AttributeValueMemberS{Value: sentence},
			"reason": &types.AttributeValueMemberS{Value: "legal_hold"}, "key": &types.AttributeValueMemberS{Value: "k"}, "expires_at": end,
		}})
		if err != nil {
			t.Fatal(err)
		}
		second.ID = sentence
		if there, err := h.Put(t.Context(), second, now); there == nil || there.Problem == "" || err != nil {
			t.Errorf("over a row whose end is %s: %+v, %v", sentence, there, err)
		}
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	h, _ := holdsOver(t)
	stop := holdRow("brake")
	stop.Reason, stop.Prefix = retention.ReasonStop, ""
	putHold(t, h, holdRow("a"))
	putHold(t, h, stop)
	for _, test := range []struct {
		scope, id string
		only      retention.Reason
		found     bool
		removed   bool
	}{
		{wh17, "b", retention.ReasonLegalHold, false, false},
		{"warehouse:wh-18", "a", retention.ReasonLegalHold, false, false},
		{wh17, "a", retention.ReasonStop, true, false},
		{wh17, "a", retention.ReasonLegalHold, true, true},
		{wh17, "a", retention.ReasonLegalHold, false, false},
		{wh17, "brake", retention.ReasonStop, true, true},
	} {
		row, removed, err := h.Remove(t.Context(), test.scope, test.id, test.only)
		if (row != nil) != test.found || removed != test.removed || err != nil {
			t.Errorf("%s of %s, only %q: %+v, %v, error %v", test.id, test.scope, test.only, row, removed, err)
		}
		if row != nil && (row.ID != test.id || row.By != "alice") {
			t.Errorf("%s: what it said is %+v", test.id, row)
		}
	}
}

// others writes these attributes of the row, as another system may at any time.
func others(t *testing.T, db *dynamodb.Client, row map[string]types.AttributeValue) {
	t.Helper()
	if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("holds"), Item: row}); err != nil {
		t.Fatal(err)
	}
}

func TestARowThatSaysSomethingElseThanWhatWasShownStays(t *testing.T) {
	t.Parallel()
	word := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := func(n time.Time) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: fmt.Sprint(n.Unix())}
	}
	for sentence, change := range map[string]map[string]types.AttributeValue{
		"another reason":                 {"reason": word("other")},
		"another prefix":                 {"prefix": word("pod/")},
		"a key beside it":                {"key": word("pod/wh-17/a")},
		"a key instead":                  {"key": word("pod/wh-17/a"), "prefix": nil},
		"another note":                   {"note": word("case 5")},
		"no note":                        {"note": nil},
		"somebody else":                  {"by": word("bob")},
		"another end":                    {"expires_at": number(now.Add(2 * time.Hour))},
		"no end":                         {"expires_at": nil},
		"another beginning":              {"created_at": number(now.Add(time.Minute))},
		"nothing that can be understood": {"reason": word("legal hold")},
		"nothing":                        nil,
		"what nobody is shown":           {"ticket": word("INC-7")},
	} {
		for _, when := range []string{"before it is read again", "behind that"} {
			t.Run(sentence+", "+when, func(t *testing.T) {
				t.Parallel()
				var engine http.Handler
				_, direct := storeOver(t, func(e http.Handler) http.Handler { engine = e; return e })
				row := map[string]types.AttributeValue{
					"scope": word(wh17), "hold_id": word("a"), "prefix": word("pod/wh-17/"), "reason": word("legal_hold"), "note": word("case 4"), "by": word("alice"),
					"expires_at": number(now.Add(time.Hour)), "created_at": number(now),
				}
				others(t, direct, row)
				changed := maps.Clone(row)
				for name, value := range change {
					if changed[name] = value; value == nil {
						delete(changed, name)
					}
				}
				db := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DeleteItem") && when == "behind that" {
						others(t, direct, changed)
					}
					engine.ServeHTTP(w, r)
				}), 1)
				h := dynamostore.NewHolds(db, "holds", slog.New(slog.DiscardHandler))
				if when != "behind that" {
					others(t, direct, changed)
				}
				says, removed, err := h.RemoveShown(t.Context(), holdRow("a"))
				same := len(change) == 0 || change["ticket"] != nil
				if err != nil || removed != same || says == nil {
					t.Fatalf("removed %v, says %+v, error %v", removed, says, err)
				}
				rows, err := h.Rows(t.Context(), wh17)
				if err != nil || (len(rows) == 0) != same || !same && rows[0] != *says {
					t.Errorf("left are %+v, and it says %+v (error %v)", rows, says, err)
				}
			})
		}
	}
}

// A row that cannot be understood is shown, and removed, like any other; and it may be changed like any other.
func TestARowThatCannotBeUnderstoodIsRemovedAsItWasShown(t *testing.T) {
	t.Parallel()
	h, db := holdsOver(t)
	odd := map[string]types.AttributeValue{
		"scope": &types.AttributeValueMemberS{Value: wh17}, "hold_id": &types.AttributeValueMemberS{Value: "odd"},
		"reason": &types.AttributeValueMemberSS{Value: []string{"legal_hold"}}, "expires_at": &types.AttributeValueMemberS{Value: "soon"},
	}
	others(t, db, odd)
	rows, err := h.Rows(t.Context(), wh17)
	if err != nil || len(rows) != 1 || rows[0].Problem == "" {
		t.Fatalf("%+v, error %v", rows, err)
	}
	shown := rows[0]
	shown.Problem = "another"
	if _, removed, err := h.RemoveShown(t.Context(), shown); removed || err != nil {
		t.Errorf("with another problem: removed %v, error %v", removed, err)
	}
	if says, removed, err := h.RemoveShown(t.Context(), rows[0]); !removed || says == nil || err != nil {
		t.Errorf("as it was shown: removed %v, says %+v, error %v", removed, says, err)
	}
	if says, removed, err := h.RemoveShown(t.Context(), rows[0]); removed || says != nil || err != nil {
		t.Errorf("once more: removed %v, says %+v, error %v", removed, says, err)
	}
}

func TestARemovalWhoseAnswerWasLostIsOne(t *testing.T) {
	t.Parallel()
	for sentence, remove := range map[string]func(*dynamostore.Holds, context.Context) (*retention.Row, bool, error){
		"of a row that was shown": func(h *dynamostore.Holds, ctx context.Context) (*retention.Row, bool, error) {
			return h.RemoveShown(ctx, holdRow("a"))
		},
		"of a row of one reason": func(h *dynamostore.Holds, ctx context.Context) (*retention.Row, bool, error) {
			return h.Remove(ctx, wh17, "a", retention.ReasonLegalHold)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			removeWithALostAnswer(t, remove)
		})
	}
}

func removeWithALostAnswer(t *testing.T, remove func(*dynamostore.Holds, context.Context) (*retention.Row, bool, error)) {
	t.Helper()
	var engine http.Handler
	_, _ = storeOver(t, func(e http.Handler) http.Handler { engine = e; return e })
	var deletes atomic.Int32
	db := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DeleteItem") && deletes.Add(1) == 1 {
			engine.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler) // done, and nobody hears of it
		}
		engine.ServeHTTP(w, r)
	}), 3)
	h := dynamostore.NewHolds(db, "holds", slog.New(slog.DiscardHandler))
	putHold(t, h, holdRow("a"))
	row, removed, err := remove(h, t.Context())
	if row == nil || row.By != "alice" || !removed || err != nil {
		t.Errorf("%+v, %v, error %v", row, removed, err)
	}
	if n := deletes.Load(); n != 2 {
		t.Errorf("%d deletes were sent, so no answer was lost", n)
	}
}

func TestHoldsPageThroughMoreThanAMegabyte(t *testing.T) {
	t.Parallel()
	h, _ := holdsOver(t)
	const n = 600
	for i := range n {
		row := holdRow(fmt.Sprintf("h-%d", i))
		row.Prefix = strings.Repeat("p", 1000) + "/"
		row.Note = strings.Repeat("n", 1000)
		putHold(t, h, row)
	}
	other := holdRow("other")
	other.Scope = "*"
	putHold(t, h, other)
	own, err := h.Rows(t.Context(), wh17)
	if len(own) != n || err != nil {
		t.Errorf("%d rows of the scope, error %v", len(own), err)
	}
	all, err := h.AllRows(t.Context())
	if len(all) != n+1 || err != nil {
		t.Errorf("%d rows of every scope, error %v", len(all), err)
	}
}

func TestDelivery(t *testing.T) {
	t.Parallel()
	s, _ := storeOver(t, nil)
	has(t, s, newRun())
	want := newDelivery("d-1")
	got, err := s.Delivery(t.Context(), "d-1")
	if diff := cmp.Diff(&want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if got, err := s.Delivery(t.Context(), "d-2"); got != nil || err != nil {
		t.Errorf("a delivery that there is not: %+v, error %v", got, err)
	}
}

func TestAnOperatorsReadsAndWritesOfAStoreThatIsDown(t *testing.T) {
	t.Parallel()
	s, db := storeOver(t, nil)
	h := dynamostore.NewHolds(db, "holds", slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for sentence, call := range map[string]func() error{
		"delivery": func() error { _, err := s.Delivery(ctx, "d-1"); return err },
		"rows":     func() error { _, err := h.Rows(ctx, wh17); return err },
		"all rows": func() error { _, err := h.AllRows(ctx); return err },
		"put":      func() error { _, err := h.Put(ctx, holdRow("a"), now); return err },
		"remove":   func() error { _, _, err := h.Remove(ctx, wh17, "a", retention.ReasonStop); return err },
	} {
		if err := call(); !errors.Is(err, inbox.ErrUnavailable) {
			t.Errorf("%s: error %v", sentence, err)
		}
	}
}
