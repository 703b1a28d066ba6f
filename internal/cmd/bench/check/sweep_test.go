package check_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/cmd/bench/inprocess"
	"custody/internal/dynamostore"
	"custody/internal/localaws"
	localdb "custody/internal/localaws/dynamodb"
	"custody/internal/localaws/steady"
	"custody/internal/sweeper"
)

const (
	openRows = inprocess.OpenRows
	dueRows  = inprocess.DueRows
	// pageBytes is what one query answers at most (DynamoDB, "Query", 1 MB).
	pageBytes = 1 << 20
)

// A tick reads each page of the open rows once, one page of each other partition, and writes only what is due.
func TestRequestsOfATick(t *testing.T) {
	t.Parallel()
	var onDB counts
	server := httptest.NewServer(onDB.Behind(dynamoDBOperation, localdb.New(localdb.Options{})))
	t.Cleanup(server.Close)
	db := dynamoDBOver(steady.Client{}, server.URL)
	must(t, localaws.Tables{Inbox: "inbox"}.Make(t.Context(), db))
	must(t, inprocess.FillOpen(t.Context(), db, "inbox", time.Now()))
	pages, bytes := pagesOfOpen(t, db)

	s := sweeper.New(dynamostore.New(db, "inbox"), sweeper.Settings{WakeAfter: 2 * time.Minute, Limit: 500, AttemptCeiling: 12})
	onDB.Take()
	sum := s.Tick(t.Context())
	got := onDB.Take()
	t.Logf("%d rows, %d of them due, in %d pages of %.1f MB: %s", openRows, dueRows, pages, float64(bytes)/pageBytes, table(got))
	if sum.Open != openRows || sum.Woken != dueRows || sum.Errors != 0 {
		t.Fatalf("%d open and %d woken, want %d and %d: %s", sum.Open, sum.Woken, openRows, dueRows, sum.Problem)
	}
	if most := bytes/pageBytes + 1; pages > most {
		t.Fatalf("the index has %d pages for %d bytes, want %d: the local DynamoDB cuts them short", pages, bytes, most)
	}
	const others = 2 // failed and recorded
	if queries := got["Query"]; queries > pages+others {
		t.Errorf("%d queries, %d more than one for each 1 MB of the index and one for each other partition; look at Rows in "+
			"internal/dynamostore/rows.go and at what a tick reads (internal/sweeper/tick.go)", queries, queries-pages-others)
	}
	if writes := got["UpdateItem"]; writes > dueRows {
		t.Errorf("%d writes for %d due rows; look at which rows Decide picks (internal/sweeper/decide.go)", writes, dueRows)
	}
	delete(got, "Query")
	delete(got, "UpdateItem")
	if len(got) > 0 {
		t.Errorf("a tick has no use for %s", table(got))
	}
}

// pagesOfOpen reads the index in a plain loop, and adds up what its rows have of bytes at least: their texts, names included.
func pagesOfOpen(t *testing.T, db *dynamodb.Client) (pages, bytes int) {
	t.Helper()
	table, index, condition := "inbox", "open", "#open = :open"
	in := &dynamodb.QueryInput{
		TableName: &table, IndexName: &index, KeyConditionExpression: &condition, ExpressionAttributeNames: map[string]string{"#open": "open"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":open": &types.AttributeValueMemberS{Value: "open"}},
	}
	for {
		out, err := db.Query(t.Context(), in)
		must(t, err)
		pages++
		for _, item := range out.Items {
			for name, v := range item {
				bytes += len(name)
				switch v := v.(type) {
				case *types.AttributeValueMemberS:
					bytes += len(v.Value)
				case *types.AttributeValueMemberN:
					bytes += (len(v.Value)+1)/2 + 1 // "Item sizes and formats"
				}
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return pages, bytes
		}
	}
}
