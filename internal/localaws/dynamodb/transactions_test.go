package dynamodb_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// claim is one half of a claim: a put that wants its key to be free and shows what took it.
func claim(table, pk, by string) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &table, Item: with(key(pk), item{"by_": str(by)}), ConditionExpression: aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

func (at *endpoint) transact(t testing.TB, items ...types.TransactWriteItem) error {
	t.Helper()
	_, err := at.items.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{TransactItems: items})
	return err
}

// reasons are the codes of a cancelled transaction, in order, and the items that came with them.
func reasons(t testing.TB, err error) (codes []string, items []item) {
	t.Helper()
	f, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		t.Fatalf("want a TransactionCanceledException, got %v", err)
	}
	for _, r := range f.CancellationReasons {
		codes = append(codes, aws.ToString(r.Code))
		items = append(items, r.Item)
	}
	return codes, items
}

func transactionChecks() []check {
	return []check{
		{"a transaction writes all its items", func(t testing.TB, at *endpoint) {
			table, other := at.inboxTable(t), at.inboxTable(t)
			at.put(t, table, with(key("u"), item{"n": num("1")}))
			at.put(t, table, key("d"))
			at.put(t, other, key("c"))
			noError(t, at.transact(t, claim(table, "p", "me"),
				types.TransactWriteItem{Update: &types.Update{TableName: &table, Key: key("u"), UpdateExpression: aws.String("SET n = n + :v"),
					ConditionExpression: aws.String("n = :v"), ExpressionAttributeValues: item{":v": num("1")}}},
				types.TransactWriteItem{Delete: &types.Delete{TableName: &table, Key: key("d"), ConditionExpression: aws.String("attribute_exists(pk)")}},
				types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: &other, Key: key("c"), ConditionExpression: aws.String("attribute_exists(pk)")}}))
			got := []item{at.get(t, table, key("p")), at.get(t, table, key("u")), at.get(t, table, key("d")), at.get(t, other, key("c"))}
			want := []item{with(key("p"), item{"by_": str("me")}), with(key("u"), item{"n": num("2")}), nil, key("c")}
			if d := diff(want, got); d != "" {
				t.Error(d)
			}
		}},
		{"a cancelled transaction gives its reasons in order and writes nothing", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, with(key("taken"), item{"by_": str("other")}))
			codes, items := reasons(t, at.transact(t, claim(table, "free", "me"), claim(table, "taken", "me"), claim(table, "free too", "me")))
			if d := diff([]string{"None", "ConditionalCheckFailed", "None"}, codes); d != "" {
				t.Error(d)
			}
			if d := diff([]item{nil, with(key("taken"), item{"by_": str("other")}), nil}, items); d != "" {
				t.Error(d)
			}
			if got := at.get(t, table, key("free")); got != nil {
				t.Errorf("partial write: %v", got)
			}
		}},
		{"each refused member of a transaction has its own reason", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, with(key("run"), item{"by_": str("first")}))
			at.put(t, table, with(key("delivery"), item{"by_": str("first")}))
			codes, items := reasons(t, at.transact(t, claim(table, "delivery", "me"), claim(table, "run", "me")))
			if d := diff([]string{"ConditionalCheckFailed", "ConditionalCheckFailed"}, codes); d != "" {
				t.Error(d)
			}
			if d := diff([]item{with(key("delivery"), item{"by_": str("first")}), with(key("run"), item{"by_": str("first")})}, items); d != "" {
				t.Error(d)
			}
		}},
		{"an absent item is checked as one without attributes, and stays absent", func(t testing.TB, at *endpoint) {
			table, other := at.inboxTable(t), at.inboxTable(t)
			check := func(condition string) types.TransactWriteItem {
				return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: &other, Key: key("absent"), ConditionExpression: &condition,
					ExpressionAttributeValues: item{":v": str("held"), ":w": num("1")}}}
			}
			codes, _ := reasons(t, at.transact(t, claim(table, "refused", "me"), check("by_ = :v AND n <= :w")))
			if d := diff([]string{"None", "ConditionalCheckFailed"}, codes); d != "" {
				t.Error(d)
			}
			noError(t, at.transact(t, claim(table, "made", "me"), check("NOT (by_ = :v AND n <= :w)")))
			got := []item{at.get(t, table, key("refused")), at.get(t, table, key("made")), at.get(t, other, key("absent"))}
			if d := diff([]item{nil, with(key("made"), item{"by_": str("me")}), nil}, got); d != "" {
				t.Error(d)
			}
		}},
		{"a reason carries no item unless asked", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, key("taken"))
			c := claim(table, "taken", "me")
			c.Put.ReturnValuesOnConditionCheckFailure = ""
			if _, items := reasons(t, at.transact(t, c)); items[0] != nil {
				t.Errorf("item %v", items[0])
			}
		}},
		{"an operand of the wrong kind cancels with ValidationError", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, with(key("u"), item{"n": str("text")}))
			codes, _ := reasons(t, at.transact(t, claim(table, "free", "me"),
				types.TransactWriteItem{Update: &types.Update{TableName: &table, Key: key("u"), UpdateExpression: aws.String("SET n = n + :v"),
					ExpressionAttributeValues: item{":v": num("1")}}}))
			if d := diff([]string{"None", "ValidationError"}, codes); d != "" {
				t.Error(d)
			}
		}},
		{"one item twice is refused as a whole", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.wantCode(t, at.transact(t, claim(table, "k", "me"), claim(table, "k", "me")), "ValidationException", "multiple operations on one item")
		}},
		{"a hundred items are allowed", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			noError(t, at.transact(t, claims(table, 100)...))
		}},
		{"more than a hundred items are refused", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.wantCode(t, at.transact(t, claims(table, 101)...), "ValidationException", "between 1 and 100")
		}},
		{"more than four megabytes are refused", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			items := claims(table, 11)
			for _, c := range items {
				c.Put.Item["big"] = str(strings.Repeat("x", 390<<10))
			}
			at.wantCode(t, at.transact(t, items...), "ValidationException", "Collective item size")
		}},
		{"a member of a transaction does one thing", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			c := claim(table, "k", "me")
			c.Delete = &types.Delete{TableName: &table, Key: key("other")}
			at.wantCode(t, at.transact(t, c), "ValidationException", "can only contain one of")
		}},
		{"a token has at most 36 characters", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			_, err := at.items.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{
				ClientRequestToken: aws.String(strings.Repeat("t", 37)), TransactItems: claims(table, 1)})
			at.wantCode(t, err, "ValidationException", "clientRequestToken")
		}},
		{"a transaction about a missing table is refused", func(t testing.TB, at *endpoint) {
			at.wantCode(t, at.transact(t, claim(uniqueName(), "k", "me")), "ResourceNotFoundException", "not found")
		}},
		{"a broken condition refuses the transaction as a whole", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			c := claim(table, "k", "me")
			c.Put.ConditionExpression = aws.String("attribute_not_exists(")
			at.wantCode(t, at.transact(t, c), "ValidationException", "Invalid ConditionExpression: Syntax error")
		}},
		{"a cancelled transaction may be sent again under its token", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, key("k"))
			in := &sdk.TransactWriteItemsInput{ClientRequestToken: newToken(), TransactItems: []types.TransactWriteItem{claim(table, "k", "me")}}
			_, err := at.items.TransactWriteItems(t.Context(), in)
			reasons(t, err)
			_, err = at.items.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: &table, Key: key("k")})
			noError(t, err)
			_, err = at.items.TransactWriteItems(t.Context(), in)
			noError(t, err)
		}},
		{"a committed transaction succeeds again under its token without effect", tokenRepeats},
		{"a token stands for one request only", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			token := newToken()
			_, err := at.items.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{ClientRequestToken: token, TransactItems: []types.TransactWriteItem{claim(table, "k", "me")}})
			noError(t, err)
			_, err = at.items.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{ClientRequestToken: token, TransactItems: []types.TransactWriteItem{claim(table, "k2", "me")}})
			at.wantCode(t, err, "IdempotentParameterMismatchException", "client token")
		}},
		{"of eight writers of one transaction one wins", oneWinner},
		{"a transactional read shows both items of a transaction or neither", neverTorn},
		{"a transactional read answers in order, absent items included", func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, key("b"))
			out, err := at.items.TransactGetItems(t.Context(), &sdk.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
				{Get: &types.Get{TableName: &table, Key: key("a")}}, {Get: &types.Get{TableName: &table, Key: key("b")}}}})
			noError(t, err)
			if d := diff([]types.ItemResponse{{}, {Item: key("b")}}, out.Responses); d != "" {
				t.Error(d)
			}
		}},
	}
}

// newToken is a client token that no earlier run against the same engine has used; 36 characters are allowed.
func newToken() *string {
	return aws.String(fmt.Sprintf("%x-%d", time.Now().UnixNano(), tableNumber.Add(1)))
}

func claims(table string, n int) []types.TransactWriteItem {
	var out []types.TransactWriteItem
	for i := range n {
		out = append(out, claim(table, fmt.Sprint("k", i), "me"))
	}
	return out
}

// tokenRepeats: the repeat of a committed counter update must not count again, which a condition could not show.
func tokenRepeats(t testing.TB, at *endpoint) {
	table := at.inboxTable(t)
	in := &sdk.TransactWriteItemsInput{
		ClientRequestToken: newToken(),
		TransactItems: []types.TransactWriteItem{{Update: &types.Update{TableName: &table, Key: key("k"),
			UpdateExpression: aws.String("ADD n :v"), ExpressionAttributeValues: item{":v": num("1")}}}},
	}
	for range 2 {
		_, err := at.items.TransactWriteItems(t.Context(), in)
		noError(t, err)
	}
	if d := diff(num("1"), at.get(t, table, key("k"))["n"]); d != "" {
		t.Error(d)
	}
	if at.clock == nil {
		return
	}
	at.clock.advance(10 * time.Minute) // the token's life, after which it is a new request
	_, err := at.items.TransactWriteItems(t.Context(), in)
	noError(t, err)
	if d := diff(num("2"), at.get(t, table, key("k"))["n"]); d != "" {
		t.Error(d)
	}
}

// oneWinner races eight claims of the same pair of keys, half of them in the other order.
func oneWinner(t testing.TB, at *endpoint) {
	table, other := at.inboxTable(t), at.inboxTable(t)
	for round := range 10 {
		pk := fmt.Sprint("k", round)
		var mu sync.Mutex
		var winners []string
		var wg sync.WaitGroup
		for w := range 8 {
			me := fmt.Sprint("w", w)
			wg.Go(func() {
				items := []types.TransactWriteItem{claim(table, pk, me), claim(other, pk, me)}
				if w%2 == 1 {
					items[0], items[1] = items[1], items[0]
				}
				if at.transact(t, items...) == nil {
					mu.Lock()
					winners = append(winners, me)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(winners) != 1 {
			t.Fatalf("winners of %s: %v", pk, winners)
		}
		for _, where := range []string{table, other} {
			if d := diff(with(key(pk), item{"by_": str(winners[0])}), at.get(t, where, key(pk))); d != "" {
				t.Error(d)
			}
		}
	}
}

// neverTorn reads pairs while they are being written.
func neverTorn(t testing.TB, at *endpoint) {
	table := at.inboxTable(t)
	var wg sync.WaitGroup
	for i := range 20 {
		a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
		wg.Go(func() {
			if err := at.transact(t, claim(table, a, "me"), claim(table, b, "me")); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			out, err := at.items.TransactGetItems(t.Context(), &sdk.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
				{Get: &types.Get{TableName: &table, Key: key(a)}}, {Get: &types.Get{TableName: &table, Key: key(b)}}}})
			if code(err) == "TransactionCanceledException" {
				return // met the write, which is an answer too
			}
			if err != nil {
				t.Error(err)
				return
			}
			if (out.Responses[0].Item == nil) != (out.Responses[1].Item == nil) {
				t.Errorf("torn: %v", out.Responses)
			}
		})
	}
	wg.Wait()
}
