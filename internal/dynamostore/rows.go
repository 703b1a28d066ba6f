package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/inbox"
)

// IndexOpen is the sparse index of the runs that want attention: by partition (open, failed, recorded), then by age.
const IndexOpen = "open"

// Rows reads one partition of the index, oldest first, a page of up to 1 MB at a time. A row holds what the index projects.
// A *inbox.BadRow is one row that could not be understood, and the sequence goes on; any other error ends it.
// The index is eventually consistent: a row may have moved on, which the moves' conditions notice.
func (s *Store) Rows(ctx context.Context, partition string) iter.Seq2[inbox.Run, error] {
	return func(yield func(inbox.Run, error) bool) {
		var after item
		for {
			page, err := s.rowPage(ctx, partition, after)
			if err != nil {
				yield(inbox.Run{}, err)
				return
			}
			for _, it := range page.Items {
				if !yield(row(it)) {
					return
				}
			}
			if after = page.LastEvaluatedKey; len(after) == 0 {
				return
			}
		}
	}
}

func (s *Store) rowPage(ctx context.Context, partition string, after item) (*dynamodb.QueryOutput, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	index, condition := IndexOpen, "#open = :partition"
	page, err := s.db.Query(ctx, &dynamodb.QueryInput{
		TableName: &s.table, IndexName: &index, ExclusiveStartKey: after,
		KeyConditionExpression:    &condition,
		ExpressionAttributeNames:  map[string]string{"#open": string(inbox.AttrOpen)},
		ExpressionAttributeValues: item{":partition": &types.AttributeValueMemberS{Value: partition}},
	})
	if err != nil {
		return nil, fmt.Errorf("read the %s runs: %w", partition, translate(err))
	}
	return page, nil
}

// row reads a projected run. Its name comes from the item's key, since the index does not repeat it.
func row(it item) (inbox.Run, error) {
	pk := keyOf(it)
	key, ok := inbox.ParseItemKey(pk)
	if !ok {
		return inbox.Run{}, &inbox.BadRow{ItemKey: pk, OpenSince: openSince(it), Err: errors.New("the key does not name a run")}
	}
	run, err := decodeRun(it)
	if err != nil {
		return inbox.Run{}, &inbox.BadRow{ItemKey: pk, OpenSince: openSince(it), Err: err}
	}
	run.Type, run.Key = key.Type, key.Key
	return *run, nil
}

// openSince reads one attribute of a row whose others cannot be read. The index has it in every row, since it is the sort key,
// and as a number; only one that is no number of milliseconds gives a zero time.
func openSince(it item) time.Time {
	n, ok := it[string(inbox.AttrOpenSince)].(*types.AttributeValueMemberN)
	if !ok {
		return time.Time{}
	}
	ms, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
