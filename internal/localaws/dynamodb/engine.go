package dynamodb

import (
	"sync"
	"sync/atomic"
	"time"
)

// Where the engine pretends to be. Requests of any region and account reach the same tables, as with an endpoint
// override there is only one.
const (
	region  = "us-east-1"
	account = "000000000000"
)

// Options are what a caller may choose. The zero value is usable.
type Options struct {
	// Now is the clock for creation times, the time to live, iterator age and transaction tokens; nil is time.Now.
	Now func() time.Time
}

// Engine holds the tables and streams and answers requests. Make one with [New].
type Engine struct {
	now        func() time.Time
	operations map[string]operation
	reserved   map[string]bool
	requests   atomic.Uint64 // answered so far; the request id, outside the mutex

	// mu makes every request atomic and isolated: more than DynamoDB promises for single items, exactly what it
	// promises for transactions, and nothing a correct client could rely on by accident except order.
	mu      sync.Mutex
	tables  map[string]*table
	streams map[string]*stream // by ARN; a stream outlives its table, as in DynamoDB
	tokens  tokens
	serial  uint64 // sequence numbers, event ids and table ids
}

// New returns an engine without tables.
func New(o Options) *Engine {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Engine{
		now:        o.Now,
		operations: operations(),
		reserved:   reservedWords(),
		tables:     map[string]*table{},
		streams:    map[string]*stream{},
	}
}

// next returns a number that grows with every call, so that it orders and never repeats.
func (e *Engine) next() uint64 {
	e.serial++
	return e.serial
}

// table finds a table, or says so as DynamoDB does.
func (e *Engine) table(name string) (*table, error) {
	if name == "" {
		return nil, invalid("1 validation error detected: Value null at 'tableName' failed to satisfy constraint: Member must not be null")
	}
	if err := checkName("tableName", name); err != nil {
		return nil, err
	}
	t, ok := e.tables[name]
	if !ok {
		return nil, faultf(resourceNotFound, "Requested resource not found: Table: %s not found", name)
	}
	return t, nil
}
