package nights_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// passes lets time go by for every open run at once: the times in its item are set back by as much. So the hours that a night waits
// take no hours, and the functions see them as they would.
func (w *world) passes(t *testing.T, d time.Duration) {
	t.Helper()
	table := aws.String(w.stack.Setting("CUSTODY_TABLE"))
	open, err := w.stack.DynamoDB().Query(t.Context(), &dynamodb.QueryInput{
		TableName: table, IndexName: aws.String("open"), KeyConditionExpression: aws.String("#open = :open"),
		ExpressionAttributeNames:  map[string]string{"#open": "open"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":open": &types.AttributeValueMemberS{Value: "open"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range open.Items {
		set := "SET open_since = open_since - :d, received_at = received_at - :d"
		for _, name := range []string{"wake_at", "next_attempt_at", "lease_expires_at"} {
			if row[name] != nil {
				set += fmt.Sprintf(", %[1]s = %[1]s - :d", name)
			}
		}
		_, err := w.stack.DynamoDB().UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: table, Key: map[string]types.AttributeValue{"pk": row["pk"]}, UpdateExpression: &set,
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":d": &types.AttributeValueMemberN{Value: fmt.Sprint(d.Milliseconds())},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
