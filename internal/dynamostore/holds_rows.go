package dynamostore

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/retention"
)

// Rows reads the rows of one scope, by their ids, with strong consistency. A row that cannot be understood is among them, with
// the problem; rows that are over are, too, until the table's time to live removes them.
func (h *Holds) Rows(ctx context.Context, scope string) ([]retention.Row, error) {
	consistent, condition := true, "#scope = :scope"
	pages := dynamodb.NewQueryPaginator(h.db, &dynamodb.QueryInput{
		TableName: &h.table, ConsistentRead: &consistent, KeyConditionExpression: &condition,
		ExpressionAttributeNames:  map[string]string{"#scope": attrScope},
		ExpressionAttributeValues: item{":scope": &types.AttributeValueMemberS{Value: scope}},
	})
	var rows []retention.Row
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the holds of %s: %w", scope, translate(err))
		}
		rows = appendRows(rows, page.Items)
	}
	return rows, nil
}

// AllRows reads the rows of every scope. No key names them all, so this is a scan, the only one there is: the table holds what
// people and programs placed by hand, not a row for each object, and no function calls this.
func (h *Holds) AllRows(ctx context.Context) ([]retention.Row, error) {
	consistent := true
	pages := dynamodb.NewScanPaginator(h.db, &dynamodb.ScanInput{TableName: &h.table, ConsistentRead: &consistent})
	var rows []retention.Row
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the holds of every scope: %w", translate(err))
		}
		rows = appendRows(rows, page.Items)
	}
	return rows, nil
}

func appendRows(rows []retention.Row, items []item) []retention.Row {
	for _, it := range items {
		rows = append(rows, readRow(it))
	}
	return rows
}

// The attributes of a holds row that its keys and conditions name.
const (
	attrScope     = "scope"
	attrHoldID    = "hold_id"
	attrReason    = "reason"
	attrExpiresAt = "expires_at"
	attrCreatedAt = "created_at"
)

// readRow is the hold as the functions understand it, and what else the row says.
func readRow(it item) retention.Row {
	hold, err := readHold(stringOr(it[attrScope], ""), it)
	row := retention.Row{Hold: hold, Note: stringOr(it["note"], ""), By: stringOr(it["by"], "")}
	if err != nil {
		row.Problem = err.Error()
	}
	if at, err := expiry(it[attrCreatedAt]); err == nil { // no decision reads it, so an odd one is only left out
		row.CreatedAt = at
	}
	return row
}
