// Package localaws owns the local stack: a DynamoDB with streams, an S3, and the functions behind a function URL, a
// stream mapping and a schedule, all on this machine. It is a development part: it may import its own subpackages,
// the settings' catalogue and the AWS SDK, and only tests and internal/cmd import it.
package localaws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"custody/internal/localaws/dynamodb"
	"custody/internal/localaws/lambda"
	"custody/internal/localaws/s3"
)

// SweepEvery is the schedule of the local sweeper; the template's is a minute.
const SweepEvery = 2 * time.Second

// Options of a stack. The zero value is a whole stack on free ports of 127.0.0.1, with functions built from the
// module around the working directory.
type Options struct {
	// Settings go before the local defaults, by the names of the functions' variables.
	Settings map[string]string
	// Port is the function URL's; DynamoDB and S3 have the two behind it. 0 is a free port for each.
	Port int
	// Listen is the address to listen on; empty means 127.0.0.1.
	Listen string
	// Functions is a folder with NAME/bootstrap for each function; empty builds them.
	Functions string
	// Concurrency is how many events of one function run at once; 0 means [lambda.DefaultConcurrency].
	Concurrency int
	// WrapDynamoDB and WrapS3 stand in front of the engines, to watch requests or to fail them; nil is the engine itself.
	WrapDynamoDB, WrapS3 func(http.Handler) http.Handler
	// Now is the clock of S3's LastModified, which a demo sets back; nil means [time.Now].
	Now func() time.Time
	// Output takes the functions' log lines, OnProcess each process as it starts. Both may be called at once by several.
	Output    func(process lambda.Process, line string)
	OnProcess func(lambda.Process)
	// OnDeadLetter is told of records that were given up, OnError of what the mapping and the schedule meet and go on after.
	OnDeadLetter func(lambda.DeadLetter)
	OnError      func(error)
}

// InvalidOptionsError is a stack that cannot be meant: a setting that is none, a value that is not allowed, a port
// that there is not.
type InvalidOptionsError struct{ Err error }

func (e *InvalidOptionsError) Error() string { return e.Err.Error() }

// Unwrap is the problem itself.
func (e *InvalidOptionsError) Unwrap() error { return e.Err }

// Stack is a running local stack.
type Stack struct {
	options   Options
	settings  settings
	endpoints endpoints
	listeners listeners
	binaries  binaries
	functions map[string]*lambda.Function
	mapping   *lambda.Mapping

	mu    sync.Mutex
	after []func() // what Close does, in reverse
}

// Start starts a stack and returns when everything is ready: tables, buckets, and a process of each function that
// asks for its first event. ctx bounds the start alone; Close ends the stack.
func Start(ctx context.Context, options Options) (*Stack, error) {
	s := &Stack{options: options}
	for _, step := range []func(context.Context) error{
		s.resolveSettings, s.listen, s.findBinaries, s.serveEngines, s.makeResources, s.startFunctions, s.connect,
	} {
		err := step(ctx)
		if ctx.Err() != nil {
			err = context.Cause(ctx) // whatever failed, failed for this
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start the local stack: %w", err), s.Close())
		}
	}
	return s, nil
}

// Close ends every part and waits: no process and no file is left. It may be called more than once.
func (s *Stack) Close() error {
	s.mu.Lock()
	after := s.after
	s.after = nil
	s.mu.Unlock()
	for i := len(after) - 1; i >= 0; i-- {
		after[i]()
	}
	if s.binaries.temporary != "" {
		if err := os.RemoveAll(s.binaries.temporary); err != nil {
			return fmt.Errorf("remove the built functions: %w", err)
		}
	}
	return nil
}

// Abort kills every process and removes the files, and waits for nothing: for a program about to exit.
func (s *Stack) Abort() {
	for _, f := range s.functions {
		f.Kill()
	}
	if s.binaries.temporary != "" {
		_ = os.RemoveAll(s.binaries.temporary) // there is nobody left to tell
	}
}

// onClose adds what Close has to do.
func (s *Stack) onClose(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = append(s.after, f)
}

func (s *Stack) resolveSettings(context.Context) (err error) {
	if s.settings, err = resolve(s.options.Settings); err != nil {
		return &InvalidOptionsError{err}
	}
	return nil
}

func (s *Stack) listen(ctx context.Context) (err error) {
	s.listeners, err = openListeners(ctx, s.options.Listen, s.options.Port)
	if err != nil {
		return err
	}
	s.onClose(s.listeners.close)
	s.endpoints = s.listeners.endpoints()
	return nil
}

func (s *Stack) findBinaries(ctx context.Context) (err error) {
	s.binaries, err = findBinaries(ctx, s.options.Functions)
	return err
}

func (s *Stack) serveEngines(context.Context) error {
	s.serve(s.listeners.dynamodb, wrapped(dynamodb.New(dynamodb.Options{}), s.options.WrapDynamoDB))
	s.serve(s.listeners.s3, wrapped(s3.New(s3.Options{Now: s.options.Now, Account: lambda.Account}), s.options.WrapS3))
	return nil
}

func wrapped(engine http.Handler, wrap func(http.Handler) http.Handler) http.Handler {
	if wrap == nil {
		return engine
	}
	return wrap(engine)
}

func (s *Stack) startFunctions(ctx context.Context) error {
	s.functions = make(map[string]*lambda.Function)
	for _, spec := range Functions() {
		f, err := lambda.NewFunction(s.functionConfig(spec))
		if err != nil {
			return err
		}
		s.onClose(f.Close)
		s.functions[spec.Name] = f
	}
	// A function that cannot start is found here and not by the first delivery.
	return s.warm(ctx)
}

func (s *Stack) warm(ctx context.Context) error {
	var all sync.WaitGroup
	problems := make(chan error, len(s.functions))
	for _, f := range s.functions {
		all.Go(func() { problems <- f.Warm(ctx) })
	}
	all.Wait()
	close(problems)
	var err error
	for problem := range problems {
		err = errors.Join(err, problem)
	}
	return err
}

// connect lets the events in: the stream, the schedule and, last, HTTP.
func (s *Stack) connect(ctx context.Context) error {
	streamARN, err := s.inboxStream(ctx)
	if err != nil {
		return err
	}
	life, end := context.WithCancel(context.Background())
	s.onClose(end)
	cleanup := s.functions[cleanupFunction]
	s.mapping, err = lambda.StartMapping(life, lambda.MappingOptions{
		Streams: s.Streams(), StreamARN: streamARN, Function: cleanup, FunctionARN: cleanup.ARN(),
		Settings: lambda.DefaultMapping(), OnDeadLetter: s.options.OnDeadLetter, OnError: s.options.OnError,
	})
	if err != nil {
		return err
	}
	s.onClose(s.mapping.Close)
	schedule, err := lambda.StartSchedule(life, lambda.ScheduleOptions{
		Name: "sweep", Function: s.functions[sweeperFunction], Every: SweepEvery, OnError: s.options.OnError,
	})
	if err != nil {
		return err
	}
	s.onClose(schedule.Close)
	s.serve(s.listeners.url, lambda.NewURL(s.functions[webhookFunction], nil))
	return nil
}
