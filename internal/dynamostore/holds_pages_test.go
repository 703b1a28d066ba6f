package dynamostore_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/dynamostore"
)

// DynamoDB answers at most 1 MB at once. A hold on the second page counts like one on the first.
func TestHoldsOnLaterPagesAreRead(t *testing.T) {
	t.Parallel()
	_, db := storeOver(t, nil)
	const rows = 4 // of some 390 KB, below the 400 KB that an item may have
	for i := range rows {
		row := map[string]types.AttributeValue{}
		for name, v := range map[string]string{
			"scope": "warehouse:wh-17", "hold_id": fmt.Sprint("h-", i), "key": fmt.Sprint("pod/wh-17/", i), "reason": "legal_hold",
			"note": strings.Repeat("n", 390<<10),
		} {
			row[name] = &types.AttributeValueMemberS{Value: v}
		}
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("holds"), Item: row}); err != nil {
			t.Fatal(err)
		}
	}
	holds, err := dynamostore.NewHolds(db, "holds", slog.New(slog.DiscardHandler)).Covering(t.Context(), "warehouse:wh-17")
	if err != nil || len(holds) != rows {
		t.Errorf("%d holds, error %v, want %d", len(holds), err, rows)
	}
}
