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
	"strings"
	"sync"
	"time"

	"custody/internal/localaws/dynamodb"
	"custody/internal/localaws/lambda"
	"custody/internal/localaws/logs"
	"custody/internal/localaws/s3"
)

// SweepEvery is the schedule of the local sweeper; the template's is a minute.
const SweepEvery = 2 * time.Second

// Options of a stack. The zero value is a whole stack on free ports of 127.0.0.1, with functions built from the
// module around the working directory.
type Options struct {
	// Settings go before the local defaults, by the names of the functions' variables.
	Settings map[string]string
	// Port is the function URL's; DynamoDB, S3, Lambda's Invoke API and CloudWatch Logs have the four behind it. 0 is a free port
	// for each.
	Port int
	// Listen is the address to listen on; empty means 127.0.0.1.
	Listen string
	// DynamoDB and S3 are endpoints of other engines, such as http://127.0.0.1:8000; empty starts our own. What is missing
	// there is made, and nothing is removed at the end.
	DynamoDB, S3 string
	// Lambda is an Invoke endpoint to call the functions through, such as that of `sam local start-lambda`, by their logical
	// ids; empty starts processes. Start waits for it until ctx ends.
	Lambda string
	// SAMEnv is a path to write the functions' variables to, in the form of `sam local … --env-vars`, as soon as the engines
	// are ready: `sam local` reads it when it starts. Close removes it.
	SAMEnv string
	// OnWait is told that everything but the Lambda endpoint is ready.
	OnWait func()
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
	// OnOperation takes the lines that the tool writes to the operator log.
	OnOperation func(line string)
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
	functions map[string]*lambda.Function // none where they run elsewhere
	remote    map[string]*lambda.Remote   // those that do
	samEnv    *ReadyFile
	mapping   *lambda.Mapping
	schedule  *lambda.Schedule

	mu    sync.Mutex
	after []func() // what Close does, in reverse
}

// Start starts a stack and returns when everything is ready: tables, buckets, and a process of each function that
// asks for its first event. ctx bounds the start alone; Close ends the stack.
func Start(ctx context.Context, options Options) (*Stack, error) {
	s := &Stack{options: options}
	for _, step := range []func(context.Context) error{
		s.resolveSettings, s.listen, s.findBinaries, s.serveEngines, s.makeResources, s.tellSAM, s.startFunctions, s.connect,
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
	var err error
	if s.samEnv != nil {
		err = s.samEnv.Remove()
	}
	if s.binaries.temporary != "" {
		if removed := os.RemoveAll(s.binaries.temporary); removed != nil {
			err = errors.Join(err, fmt.Errorf("remove the built functions: %w", removed))
		}
	}
	return err
}

// Abort kills every process and removes the files, and waits for nothing: for a program about to exit.
func (s *Stack) Abort() {
	for _, f := range s.functions {
		f.Kill()
	}
	if s.samEnv != nil {
		_ = s.samEnv.Remove() // there is nobody left to tell
	}
	if s.binaries.temporary != "" {
		_ = os.RemoveAll(s.binaries.temporary)
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

func (s *Stack) listen(ctx context.Context) error {
	err := errors.Join(checkEndpoint("DynamoDB", s.options.DynamoDB), checkEndpoint("S3", s.options.S3),
		checkEndpoint("Lambda", s.options.Lambda))
	if err != nil {
		return err
	}
	elsewhere := endpoints{
		dynamodb: strings.TrimSuffix(s.options.DynamoDB, "/"), s3: strings.TrimSuffix(s.options.S3, "/"),
		lambda: strings.TrimSuffix(s.options.Lambda, "/"),
	}
	if s.listeners, err = openListeners(ctx, s.options.Listen, s.options.Port, elsewhere); err != nil {
		return err
	}
	s.onClose(s.listeners.close)
	s.endpoints = s.listeners.endpoints(elsewhere)
	return nil
}

func (s *Stack) findBinaries(ctx context.Context) (err error) {
	if s.options.Lambda != "" {
		return nil
	}
	s.binaries, err = findBinaries(ctx, s.options.Functions)
	return err
}

func (s *Stack) serveEngines(context.Context) error {
	if s.listeners.dynamodb != nil {
		s.serve(s.listeners.dynamodb, wrapped(dynamodb.New(dynamodb.Options{}), s.options.WrapDynamoDB))
	}
	if s.listeners.s3 != nil {
		s.serve(s.listeners.s3, wrapped(s3.New(s3.Options{Now: s.options.Now, Account: lambda.Account}), s.options.WrapS3))
	}
	s.serve(s.listeners.logs, logs.New(logs.Options{Groups: []string{s.OperatorLog()}, Output: s.onEvent}))
	return nil
}

func (s *Stack) onEvent(e logs.Event) {
	if s.options.OnOperation != nil {
		s.options.OnOperation(e.Message)
	}
}

func (s *Stack) tellSAM(context.Context) (err error) {
	if s.options.SAMEnv == "" {
		return nil
	}
	s.samEnv, err = s.writeSAMEnv(s.options.SAMEnv)
	return err
}

func wrapped(engine http.Handler, wrap func(http.Handler) http.Handler) http.Handler {
	if wrap == nil {
		return engine
	}
	return wrap(engine)
}

// waitForLambda bounds the wait for an Invoke endpoint: long enough to start it in another window.
const waitForLambda = 5 * time.Minute

var errLambdaWait = fmt.Errorf("no answer within %s", waitForLambda)

func (s *Stack) startFunctions(ctx context.Context) error {
	if s.options.Lambda != "" {
		return s.findRemote(ctx)
	}
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

// findRemote waits for the endpoint. No function is invoked: each event that a function gets here is one that it was sent.
func (s *Stack) findRemote(ctx context.Context) error {
	s.remote = make(map[string]*lambda.Remote)
	for _, spec := range Functions() {
		s.remote[spec.Name] = lambda.NewRemote(strings.TrimSuffix(s.options.Lambda, "/"), spec.LogicalID)
	}
	if s.options.OnWait != nil {
		s.options.OnWait()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, waitForLambda, errLambdaWait)
	defer cancel()
	return s.remote[webhookFunction].Ready(ctx)
}

// function is one of the functions, wherever it runs.
type function interface {
	lambda.Invoker
	ARN() string
}

func (s *Stack) function(name string) function {
	if remote, elsewhere := s.remote[name]; elsewhere {
		return remote
	}
	return s.functions[name]
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
	cleanup := s.function(cleanupFunction)
	s.mapping, err = lambda.StartMapping(life, lambda.MappingOptions{
		Streams: s.Streams(), StreamARN: streamARN, Function: cleanup, FunctionARN: cleanup.ARN(),
		Settings: lambda.DefaultMapping(), OnDeadLetter: s.options.OnDeadLetter, OnError: s.options.OnError,
	})
	if err != nil {
		return err
	}
	s.onClose(s.mapping.Close)
	s.schedule, err = lambda.StartSchedule(life, lambda.ScheduleOptions{
		Name: "sweep", Function: s.function(sweeperFunction), Every: SweepEvery, OnError: s.options.OnError,
	})
	if err != nil {
		return err
	}
	s.onClose(s.schedule.Close)
	if s.listeners.lambda != nil {
		s.serve(s.listeners.lambda, s.invokable())
	}
	s.serve(s.listeners.url, lambda.NewURL(s.function(webhookFunction), nil))
	return nil
}

// invokable are the functions under the names that an emulator of the template has for them.
func (s *Stack) invokable() lambda.Endpoint {
	all := lambda.Endpoint{}
	for _, spec := range Functions() {
		all[spec.LogicalID] = s.function(spec.Name)
	}
	return all
}
