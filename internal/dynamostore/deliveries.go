package dynamostore

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"custody/internal/inbox"
)

// Delivery reads a delivery with strong consistency; nil when there is none, or none any more.
func (s *Store) Delivery(ctx context.Context, id string) (*inbox.Delivery, error) {
	consistent := true
	out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.table, Key: keyItem(inbox.Delivery{ID: id}.ItemKey()), ConsistentRead: &consistent,
	})
	if err != nil {
		return nil, fmt.Errorf("read delivery %s: %w", id, translate(err))
	}
	return decodeDelivery(out.Item)
}
