package lambda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// MappingSettings are the properties of an event source mapping for a DynamoDB stream, under CloudFormation's
// names (AWS::Lambda::EventSourceMapping).
type MappingSettings struct {
	BatchSize             int
	StartingPosition      string
	FilterPatterns        []string // any one is enough; none lets all records through
	ParallelizationFactor int
	// MaximumRetryAttempts is how often a failed batch is tried again; -1 is without end.
	MaximumRetryAttempts int
	// MaximumRecordAgeInSeconds is how old a record may get; -1 is without end.
	MaximumRecordAgeInSeconds  int
	BisectBatchOnFunctionError bool
	FunctionResponseTypes      []string
}

// reportBatchItemFailures is the one response type that Lambda knows.
const reportBatchItemFailures = "ReportBatchItemFailures"

// DefaultMapping is the mapping of the cleanup function. The template has the same; a test compares them.
func DefaultMapping() MappingSettings {
	return MappingSettings{
		BatchSize:                 1,
		StartingPosition:          "TRIM_HORIZON",
		FilterPatterns:            []string{`{"dynamodb":{"NewImage":{"wake":{"S":[{"exists":true}]}}}}`},
		ParallelizationFactor:     10,
		MaximumRetryAttempts:      5,
		MaximumRecordAgeInSeconds: 86400, // a backlog of a day is not a dead letter
		FunctionResponseTypes:     []string{reportBatchItemFailures},
	}
}

// check applies Lambda's own limits (CreateEventSourceMapping) and names what this mapping does not do.
func (s MappingSettings) check() error {
	var problems []error
	within := func(name string, value, low, high int) {
		if value < low || value > high {
			problems = append(problems, fmt.Errorf("%s is %d, must be %d to %d", name, value, low, high))
		}
	}
	within("BatchSize", s.BatchSize, 1, 10_000)
	within("ParallelizationFactor", s.ParallelizationFactor, 1, 10)
	within("MaximumRetryAttempts", s.MaximumRetryAttempts, -1, 10_000)
	within("MaximumRecordAgeInSeconds", s.MaximumRecordAgeInSeconds, -1, 604_800)
	if s.StartingPosition != "TRIM_HORIZON" {
		problems = append(problems, fmt.Errorf("StartingPosition is %q, only TRIM_HORIZON is supported here", s.StartingPosition))
	}
	if s.BisectBatchOnFunctionError {
		problems = append(problems, errors.New("BisectBatchOnFunctionError is true, only false is supported here"))
	}
	for _, kind := range s.FunctionResponseTypes {
		if kind != reportBatchItemFailures {
			problems = append(problems, fmt.Errorf("FunctionResponseTypes holds %q, only %s is allowed", kind, reportBatchItemFailures))
		}
	}
	return errors.Join(problems...)
}

// Streams is the part of the DynamoDB Streams client that a mapping reads with.
type Streams interface {
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// MappingOptions say what is mapped to what.
type MappingOptions struct {
	Streams     Streams
	StreamARN   string
	Function    Invoker
	FunctionARN string
	Settings    MappingSettings
	// Poll is the pause before a shard without new records is read again; 0 means 50 ms, five times as often as Lambda.
	Poll time.Duration
	// Pause is how long to wait before the given retry, counted from 1; nil means 100 ms, doubled up to 5 s.
	Pause func(retry int) time.Duration
	// OnDeadLetter is told of each dead letter; nil tells nobody.
	OnDeadLetter func(DeadLetter)
	// OnError is told of a stream that cannot be read, which is tried again; nil tells nobody.
	OnError func(error)
	// Now is the clock of record ages and dead letters; nil means [time.Now].
	Now func() time.Time
}

const (
	defaultPoll = 50 * time.Millisecond
	firstPause  = 100 * time.Millisecond
	longestStep = 5 * time.Second
)

func growingPause(retry int) time.Duration {
	pause := firstPause
	for range retry - 1 {
		if pause *= 2; pause >= longestStep {
			return longestStep
		}
	}
	return pause
}

// Mapping reads a stream and invokes a function with its records, in order for each partition key, until it is
// closed. It keeps no place beyond its own life: a new one starts at the stream's oldest record again.
type Mapping struct {
	options MappingOptions
	filters []*Filter
	cancel  context.CancelFunc
	work    sync.WaitGroup
	valve   valve

	mu          sync.Mutex
	deadLetters []DeadLetter
}

// StartMapping checks the settings and starts to read. It lives until Close or the end of ctx.
func StartMapping(ctx context.Context, options MappingOptions) (*Mapping, error) {
	m := &Mapping{options: options}
	problems := []error{options.Settings.check()}
	for _, text := range options.Settings.FilterPatterns {
		filter, err := NewFilter(text)
		problems = append(problems, err)
		m.filters = append(m.filters, filter)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("stream mapping: %w", err)
	}
	m.setDefaults()
	ctx, m.cancel = context.WithCancel(ctx)
	m.work.Go(func() { m.readStream(ctx) })
	return m, nil
}

func (m *Mapping) setDefaults() {
	o := &m.options
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	if o.Pause == nil {
		o.Pause = growingPause
	}
	if o.OnDeadLetter == nil {
		o.OnDeadLetter = func(DeadLetter) {}
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Disable stops the mapping as UpdateEventSourceMapping with Enabled=false does: what the function is at goes on, nothing further
// is read or handed out, and the place in the stream stays.
func (m *Mapping) Disable() { m.valve.set(false) }

// Enable lets a disabled mapping go on from its place. Records that meanwhile grew too old become dead letters.
func (m *Mapping) Enable() { m.valve.set(true) }

// State is the mapping's state as ListEventSourceMappings has it.
func (m *Mapping) State() string {
	if m.valve.shut() {
		return "Disabled"
	}
	return "Enabled"
}

// Close stops reading and waits. A function at work goes on, and nobody takes its answer.
func (m *Mapping) Close() {
	m.cancel()
	m.work.Wait()
}

// DeadLetters lists the batches that were given up, the oldest first.
func (m *Mapping) DeadLetters() []DeadLetter {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.deadLetters)
}

func (m *Mapping) bury(letter DeadLetter) {
	m.mu.Lock()
	m.deadLetters = append(m.deadLetters, letter)
	m.mu.Unlock()
	m.options.OnDeadLetter(letter)
}

// passes says whether a record is for the function.
func (m *Mapping) passes(event []byte) (bool, error) {
	for _, filter := range m.filters {
		if ok, err := filter.Matches(event); ok || err != nil {
			return ok, err
		}
	}
	return len(m.filters) == 0, nil
}

// pause waits and is false when ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
