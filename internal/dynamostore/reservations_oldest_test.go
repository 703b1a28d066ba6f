package dynamostore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/localaws"
	localdb "custody/internal/localaws/dynamodb"
)

func textOf(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	return s.Value
}

func timeOf(t *testing.T, v types.AttributeValue) time.Time {
	t.Helper()
	n, _ := v.(*types.AttributeValueMemberN)
	at, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.UnixMilli(at).UTC()
}

func TestTheOldestHeldReservationIsTheOnePastItsDeadlineForTheLongest(t *testing.T) {
	t.Parallel()
	at := func(ago time.Duration) types.AttributeValue { return ms(now.Add(-ago)) }
	status := func(s string, ago time.Duration) attributes { return with(held(at(ago)), "status", str(s)) }
	for sentence, c := range map[string]struct {
		reservations []attributes
		want         time.Time
	}{
		"no reservations":                     {nil, time.Time{}},
		"held, and not due":                   {[]attributes{held(at(-time.Millisecond)), held(at(-time.Hour))}, time.Time{}},
		"held, and due now":                   {[]attributes{held(at(0))}, now},
		"held, and due for some time":         {[]attributes{held(at(time.Minute)), held(at(time.Hour)), held(at(time.Second)), held(at(-time.Hour))}, now.Add(-time.Hour)},
		"others are older":                    {[]attributes{status("paid", 3*time.Hour), status("released", 4*time.Hour), status("expired", 5*time.Hour), held(at(time.Minute))}, now.Add(-time.Minute)},
		"others alone":                        {[]attributes{status("paid", time.Hour), status("Held", time.Hour), status("hel", time.Hour), status("heldx", time.Hour)}, time.Time{}},
		"held without a deadline":             {[]attributes{{"status": str("held")}, held(at(time.Second))}, now.Add(-time.Second)},
		"a deadline without a status":         {[]attributes{{"expires_at": at(time.Hour)}}, time.Time{}},
		"a fraction is rounded down":          {[]attributes{held(num("1796040000000.75")), held(num("1796039999999.75"))}, time.UnixMilli(1796039999999).UTC()},
		"a deadline in seconds":               {[]attributes{held(num("1796040000"))}, time.UnixMilli(1796040000).UTC()},
		"one before 1970 counts as of then":   {[]attributes{held(num("-62135596800000"))}, time.UnixMilli(0).UTC()},
		"one that is no time at all, and low": {[]attributes{held(num("-" + strings.Repeat("9", 38))), held(at(time.Hour))}, time.UnixMilli(0).UTC()},
		"one that is no time at all, minute":  {[]attributes{held(num("1E-120"))}, time.UnixMilli(0).UTC()},
		"one that is no time at all, and far": {[]attributes{held(num("1E+120")), held(at(time.Hour))}, now.Add(-time.Hour)},
		"with all that an application keeps":  {[]attributes{with(with(belongings(), "status", str("held")), "expires_at", at(time.Hour))}, now.Add(-time.Hour)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := shopOver(t, nil)
			for i, it := range c.reservations {
				s.put(t, fmt.Sprint("r-", i), it)
			}
			got, err := s.OldestHeld(t.Context(), now)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// query is one request for the index, and what the table had to touch to answer it.
type query struct {
	Limit, Count, ScannedCount int
	Bytes                      bool // whether the answer is a small one
}

// A million held reservations cost what one costs: one request for one entry of the index, and one entry read to answer it.
func TestTheOldestHeldReservationCostsTheSameHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var queries []query
	engine := localdb.New(localdb.Options{})
	db := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		if operation == "BatchWriteItem" || operation == "CreateTable" || operation == "DescribeTable" || operation == "UpdateTimeToLive" {
			engine.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer := httptest.NewRecorder()
		engine.ServeHTTP(answer, r)
		var q query
		if err := json.Unmarshal(body, &q); err != nil || operation != "Query" {
			t.Errorf("%s %s: %v", operation, body, err)
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &q); err != nil {
			t.Error(err)
		}
		q.Bytes = answer.Body.Len() < 1024
		mu.Lock()
		queries = append(queries, q)
		mu.Unlock()
		for name := range answer.Header() {
			w.Header().Set(name, answer.Header().Get(name))
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}), 1)
	tables := localaws.Tables{Inbox: "inbox", Reservations: "reservations"}
	if err := tables.Make(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	s := newShop(db, tables)
	stored := 0
	for _, n := range []int{0, 1, 100, 3000} {
		s.fill(t, stored, n)
		stored = max(stored, n)
		queries = nil
		got, err := s.OldestHeld(t.Context(), now)
		if err != nil || got.IsZero() != (n == 0) || n > 0 && !got.Equal(now.Add(-time.Duration(n)*time.Second)) {
			t.Errorf("of %d: %v, %v", n, got, err)
		}
		one := min(n, 1)
		if diff := cmp.Diff([]query{{Limit: 1, Count: one, ScannedCount: one, Bytes: true}}, queries); diff != "" {
			t.Errorf("of %d held (-want +got):\n%s", n, diff)
		}
	}
}

// fill adds held reservations up to the given number, each a second longer past its deadline than the one before, and as many
// that are not due.
func (s shop) fill(t *testing.T, from, to int) {
	t.Helper()
	var puts []types.WriteRequest
	flush := func() {
		if len(puts) == 0 {
			return
		}
		_, err := s.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{s.table: puts}})
		if err != nil {
			t.Fatal(err)
		}
		puts = nil
	}
	for i := from; i < to; i++ {
		for id, at := range map[string]time.Time{"due-": now.Add(-time.Duration(i+1) * time.Second), "early-": now.Add(time.Duration(i+1) * time.Second)} {
			it := held(ms(at))
			it["reservation_id"] = str(id + strconv.Itoa(i))
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
		}
		if len(puts) == 24 { // a batch takes 25
			flush()
		}
	}
	flush()
}
