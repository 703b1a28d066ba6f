package inprocess

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/inbox"
)

// The open rows that a sweep is measured over.
const (
	OpenRows = 10_000
	DueRows  = 10
)

// FillOpen writes the open rows of a busy day: most are worked on, some wait for their next attempt or for a young wake, and a few
// are due.
func FillOpen(ctx context.Context, db *dynamodb.Client, table string, now time.Time) error {
	var batch []types.WriteRequest
	for i := range OpenRows {
		batch = append(batch, types.WriteRequest{PutRequest: &types.PutRequest{Item: openRow(i, now)}})
		if len(batch) < 25 && i < OpenRows-1 {
			continue
		}
		in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: batch}}
		if _, err := db.BatchWriteItem(ctx, in); err != nil {
			return fmt.Errorf("write %d open rows to table %s: %w", len(batch), table, err)
		}
		batch = nil
	}
	return nil
}

func openRow(i int, now time.Time) map[string]types.AttributeValue {
	milli := func(at time.Time) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(at.UnixMilli(), 10)}
	}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := func(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: strconv.Itoa(n)} }
	key := inbox.RunKey{Type: "cleanup.run", Key: fmt.Sprintf("r-2026-11-30-%06d", i)}
	item := map[string]types.AttributeValue{
		"pk": text(key.ItemKey()), "open": text("open"), "open_since": milli(now.Add(-time.Hour + time.Duration(i)*time.Millisecond)),
		"received_at": milli(now.Add(-time.Hour)), "scope": text("warehouse:wh-17"), "state": text("running"), "attempts": number(1), "wake_count": number(0),
	}
	switch {
	case i%(OpenRows/DueRows) == 0:
		item["state"], item["wake"], item["wake_at"] = text("pending"), text("wake"), milli(now.Add(-time.Hour))
	case i%3 == 0:
		item["state"], item["next_attempt_at"] = text("pending"), milli(now.Add(time.Hour))
	case i%3 == 1:
		item["state"], item["wake"], item["wake_at"] = text("pending"), text("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), milli(now)
	default:
		item["lease_expires_at"] = milli(now.Add(time.Minute))
	}
	return item
}
