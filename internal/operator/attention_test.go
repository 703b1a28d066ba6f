package operator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

func TestAttentionIsEveryRunThatHasNotEndedByAge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, state := range inbox.States() {
		run := runIn(state)
		run.Key, run.DeliveryID = string(state), "d-"+string(state)
		if run.Open != "" {
			run.OpenSince = now.Add(-time.Duration(i) * time.Hour) // so the partitions are mixed by age
		}
		w.has(t, run)
	}
	_, err := w.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(inboxTable), Item: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "odd"}, "open": &types.AttributeValueMemberS{Value: "failed"},
		"open_since": &types.AttributeValueMemberN{Value: "1"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := w.Attention(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, run := range a.Runs {
		order = append(order, run.Key)
	}
	if diff := cmp.Diff([]string{"failed", "running", "pending", "recorded"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	counts := []int{a.Count("open"), a.Count("failed"), a.Count("recorded")}
	if diff := cmp.Diff([]int{2, 1, 1}, counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if len(a.Bad) != 1 || a.Bad[0].ItemKey != "odd" {
		t.Errorf("bad rows %v, want the odd one", a.Bad)
	}
}

func TestAttentionNeverTakesAStoreThatDoesNotAnswerForAQuietOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Attention(ctx); !errors.Is(err, inbox.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}
