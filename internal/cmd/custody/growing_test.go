package main_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/inbox"
)

// growing is what a command writes, read while it is written.
type growing struct {
	mu      sync.Mutex
	written strings.Builder
}

func newGrowing() *growing { return &growing{} }

func (g *growing) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.written.Write(p)
}

func (g *growing) text() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.written.String()
}

// atMost bounds a wait for what comes within a second where the machine is not busy.
const atMost = 15 * time.Second

// until waits for words.
func (g *growing) until(t *testing.T, words string) {
	t.Helper()
	tick, end := time.NewTicker(20*time.Millisecond), time.After(atMost)
	defer tick.Stop()
	for !strings.Contains(g.text(), words) {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("no %q in\n%s", words, g.text())
		}
	}
}

// forgets takes the items of a run and of its delivery away.
func (x *tables) forgets(t *testing.T, key string) {
	t.Helper()
	for _, pk := range []string{inbox.RunKey{Type: "cleanup.run", Key: key}.ItemKey(), inbox.Delivery{ID: "d-" + key}.ItemKey()} {
		_, err := x.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: aws.String("inbox"), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
