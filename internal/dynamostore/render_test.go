package dynamostore_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/inbox"
)

// A move that cannot be rendered is an error before anything is sent: half of its conditions must never reach the table.
func TestAMoveThatCannotBeRenderedIsNotSent(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(m *inbox.Move, c *inbox.Change){
		"a group of conditions that is empty": func(m *inbox.Move, _ *inbox.Change) {
			m.If = inbox.Condition{Op: inbox.OpAny}
		},
		"an empty group within a group": func(m *inbox.Move, _ *inbox.Change) {
			m.If = inbox.Condition{Op: inbox.OpAll, Of: []inbox.Condition{m.If, {Op: inbox.OpAll}}}
		},
		"a comparison that nobody knows": func(m *inbox.Move, _ *inbox.Change) {
			m.If = inbox.Condition{Op: inbox.Op(99), Attr: inbox.AttrLeaseToken, With: inbox.ParamToken}
		},
		"a condition without its value": func(_ *inbox.Move, c *inbox.Change) { c.Token = "" },
		"an effect without its value":   func(_ *inbox.Move, c *inbox.Change) { c.NewWake = "" },
		"an insert":                     func(m *inbox.Move, _ *inbox.Change) { m.From = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Bool
			s, _ := storeOver(t, func(http.Handler) http.Handler {
				return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent.Store(true) })
			})
			m, c := inbox.Yield(), change()
			spoil(&m, &c)
			if _, err := s.Move(t.Context(), key, m, c); err == nil || sent.Load() {
				t.Errorf("error %v, sent: %v", err, sent.Load())
			}
		})
	}
}

// A count that an item lacks, because an older version or another hand wrote it, begins at zero.
func TestACountThatIsNotThereBeginsAtZero(t *testing.T) {
	t.Parallel()
	s, db := storeOver(t, nil)
	run := ready(inbox.StatePending, inbox.MoveWake)
	has(t, s, run)
	_, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(tableName), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: key.ItemKey()}},
		UpdateExpression: aws.String("REMOVE wake_count"),
	})
	if err != nil {
		t.Fatal(err)
	}
	after, err := s.Move(t.Context(), key, inbox.Wake(), change())
	if err != nil || after.WakeCount != 1 {
		t.Errorf("wake count %d, error %v, want 1", after.WakeCount, err)
	}
}

// A time that is not set is no attribute at all: a number in its place would be compared.
func TestAZeroTimeIsNoAttribute(t *testing.T) {
	t.Parallel()
	s, db := storeOver(t, nil)
	d := newDelivery("d-9")
	d.ReceivedAt = time.Time{}
	if there, err := s.Alias(t.Context(), d); there != nil || err != nil {
		t.Fatalf("%+v, %v", there, err)
	}
	out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(tableName), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: d.ItemKey()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if v, there := out.Item["received_at"]; there {
		t.Errorf("received_at is %v, want no attribute", v)
	}
}

// Whoever has seen enough of the rows stops, and the reading with it.
func TestAReadingOfRowsCanBeLeft(t *testing.T) {
	t.Parallel()
	s, _ := storeOver(t, nil)
	for _, id := range []string{"r-1", "r-2"} {
		c := claim("d-" + id)
		c.Run.Key = id
		if existing, err := s.Claim(t.Context(), c); err != nil || existing != nil {
			t.Fatalf("claim: %+v, %v", existing, err)
		}
	}
	seen := 0
	for _, err := range s.Rows(t.Context(), "open") {
		if seen++; err != nil {
			t.Fatal(err)
		}
		break
	}
	if seen != 1 {
		t.Errorf("%d rows, want 1", seen)
	}
}

// A refusal that does not show what refused says nothing: it must never be read as a delivery that is durable.
func TestARefusedDeliveryWithoutTheItemThatRefusedIsAnError(t *testing.T) {
	t.Parallel()
	s, _ := storeOver(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"m"}`))
		})
	})
	if there, err := s.Alias(t.Context(), newDelivery("d-1")); err == nil {
		t.Errorf("%+v and no error, which says that the delivery is durable", there)
	}
}

// Around the bound of 400 KB an item is refused before it is sent, or fits: the size is counted as the table counts it, or a little
// more.
func TestAnItemThatIsSentFits(t *testing.T) {
	t.Parallel()
	s, _ := storeOver(t, nil)
	sent, refused := 0, 0
	for n := 400<<10 - 1200; n < 400<<10; n += 40 {
		c := claim(fmt.Sprint("d-", n))
		c.Run.Key, c.Run.Scope = fmt.Sprint("r-", n), strings.Repeat("s", n)
		switch existing, err := s.Claim(t.Context(), c); {
		case errors.Is(err, inbox.ErrTooLarge):
			refused++
		case err != nil || existing != nil:
			t.Errorf("a scope of %d bytes: %+v, %v", n, existing, err)
		default:
			sent++
		}
	}
	if sent == 0 || refused == 0 {
		t.Errorf("%d sent, %d refused: the bound was not met", sent, refused)
	}
}
