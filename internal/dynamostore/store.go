package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/inbox"
)

// Store is the inbox table. It is safe for concurrent use.
type Store struct {
	db    *dynamodb.Client
	table string
}

// New makes a store over the table with the given name.
func New(db *dynamodb.Client, table string) *Store { return &Store{db: db, table: table} }

// Run reads a run with strong consistency; nil when there is none.
func (s *Store) Run(ctx context.Context, key inbox.RunKey) (*inbox.Run, error) {
	consistent := true
	out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.table, Key: keyItem(key.ItemKey()), ConsistentRead: &consistent,
	})
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", key, translate(err))
	}
	return decodeRun(out.Item)
}

func keyItem(pk string) item { return item{attrPK: &types.AttributeValueMemberS{Value: pk}} }

// callTimeout bounds one call, the SDK's repetitions included. DynamoDB answers in some milliseconds; a connection that fell
// silent is given up here and not with the function's own time, in which nothing else would be done any more.
const callTimeout = 10 * time.Second

var errNoAnswer = errors.New("no answer from DynamoDB in time")

// A conflict with a transaction on the same item is not retried by the SDK. It lasts as long as that transaction, some
// milliseconds, so a few tries with jitter are enough; what still conflicts then is treated as unavailable.
const (
	conflictTries = 5
	conflictPause = 25 * time.Millisecond // doubled with each try, with full jitter
)

// untilSettled repeats the call while it conflicts with a transaction and the context lives.
func untilSettled(ctx context.Context, call func() error) error {
	pause := conflictPause
	for try := 1; ; try++ {
		err := call()
		if !isConflict(err) || try == conflictTries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(pause)):
			pause *= 2
		}
	}
}
