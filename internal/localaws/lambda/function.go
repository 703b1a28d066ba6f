package lambda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// DefaultConcurrency is how many events of one function are in work at once unless told otherwise. It is well
// above the ten lanes of the stream mapping and small enough for a laptop, since each event has a process.
const DefaultConcurrency = 50

// initTimeout is how long a process may take to ask for its first event, as Lambda's init phase.
const initTimeout = 10 * time.Second

// Config describes one function.
type Config struct {
	// Name is the function's name, and the name of the log lines it writes.
	Name string
	// Binary is the path of the built program.
	Binary string
	// Environment is what the function's configuration sets. The process sees it, what Lambda itself sets, and
	// nothing else of the caller's environment but PATH and its like.
	Environment map[string]string
	// Timeout is how long one event may take; the process is killed after it.
	Timeout time.Duration
	// Memory is told to the process in megabytes. It is not enforced.
	Memory int
	// Concurrency is how many events may be in work at once; 0 means [DefaultConcurrency].
	Concurrency int
	// Output takes each line that a process writes to its standard output or error; nil drops them. It may be
	// called by several processes at once.
	Output func(process Process, line string)
	// OnStart is told of each process as it starts; nil tells nobody. It may be called at once by several.
	OnStart func(Process)
	// OnEnd is told of each process once its end is known; nil tells nobody.
	OnEnd func(Process)
}

// Process names one running process of a function.
type Process struct {
	Function string
	PID      int
}

func (c Config) check() error {
	var problems []error
	if c.Name == "" {
		problems = append(problems, errors.New("name is empty"))
	}
	if c.Binary == "" {
		problems = append(problems, errors.New("binary is empty"))
	}
	if c.Timeout <= 0 {
		problems = append(problems, fmt.Errorf("timeout is %s, must be above 0", c.Timeout))
	}
	if c.Concurrency < 0 {
		problems = append(problems, fmt.Errorf("concurrency is %d, must not be below 0", c.Concurrency))
	}
	return errors.Join(problems...)
}

// Function is one function and its execution environments. An event takes a warm environment where there is one
// and starts another where there is none.
type Function struct {
	config Config

	mu     sync.Mutex
	closed bool
	all    []*environment // every environment, in work or idle; bounded by the concurrency
	idle   []*environment // those that wait for an event, the one used last at the end
	work   sync.WaitGroup // one per environment's watcher and per event in work
}

// NewFunction checks the configuration. No process is started before the first event.
func NewFunction(c Config) (*Function, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("function %q: %w", c.Name, err)
	}
	if c.Concurrency == 0 {
		c.Concurrency = DefaultConcurrency
	}
	return &Function{config: c}, nil
}

// ARN is the function's name as events and dead letters carry it.
func (f *Function) ARN() string { return functionARN(f.config.Name) }

// Invoke implements [Invoker].
func (f *Function) Invoke(ctx context.Context, event []byte) (Result, error) {
	if len(event) > MaxPayload {
		return Result{}, fmt.Errorf("invoke %s: %w", f.config.Name, ErrTooLarge)
	}
	env, err := f.take()
	if err != nil {
		return Result{}, fmt.Errorf("invoke %s: %w", f.config.Name, err)
	}
	// The event outlives a caller that goes away: a hung-up client does not stop a Lambda function.
	done := make(chan Result, 1)
	go func() {
		defer f.work.Done()
		done <- f.serve(env, event)
	}()
	select {
	case result := <-done:
		return result, nil
	case <-ctx.Done():
		return Result{}, fmt.Errorf("invoke %s: %w", f.config.Name, context.Cause(ctx))
	}
}

// Warm starts one environment and waits until it asks for its first event, so that a function that cannot start
// is found before anything depends on it. The error holds the last lines that the process wrote.
func (f *Function) Warm(ctx context.Context) error {
	env, err := f.take()
	if err != nil {
		return fmt.Errorf("start function %s: %w", f.config.Name, err)
	}
	defer f.work.Done()
	if failure := env.start(ctx, initTimeout); failure != nil {
		f.drop(env)
		return fmt.Errorf("start function %s: %w", f.config.Name, failure)
	}
	f.release(env)
	return nil
}

// Processes lists the ids of the processes that run, the oldest first.
func (f *Function) Processes() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	var pids []int
	for _, env := range f.all {
		if pid := env.pid(); pid != 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Close kills every process and waits until all have ended. Events in work fail as those of a killed process.
func (f *Function) Close() {
	f.Kill()
	f.work.Wait()
}

// Kill kills every process and does not wait; the function takes no event any more.
func (f *Function) Kill() {
	f.mu.Lock()
	f.closed = true
	all := slices.Clone(f.all)
	f.mu.Unlock()
	for _, env := range all {
		env.kill()
	}
}

// take reserves an environment and counts one piece of work, which the caller ends.
func (f *Function) take() (*environment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrClosed
	}
	if last := len(f.idle) - 1; last >= 0 {
		env := f.idle[last]
		f.idle = f.idle[:last]
		f.work.Add(1)
		return env, nil
	}
	if len(f.all) >= f.config.Concurrency {
		return nil, ErrThrottled
	}
	env := newEnvironment(f)
	f.all = append(f.all, env)
	f.work.Add(1)
	return env, nil
}

// serve runs one event on an environment of its own. An environment that is known to have died while it was idle
// has not seen the event, so the event goes to a fresh one.
func (f *Function) serve(env *environment, event []byte) Result {
	inv := &invocation{requestID: newRequestID(), event: event}
	for {
		if failure := f.ready(&env); failure != nil {
			f.drop(env)
			return failure.result(inv.requestID)
		}
		if !env.hand(inv, f.config.Timeout) {
			env = f.replace(env)
			continue
		}
		result, reusable := env.finish(inv)
		if reusable {
			f.release(env)
		} else {
			f.drop(env)
		}
		return result
	}
}

// ready makes sure that the environment waits for an event. A failed init phase is run once more within the
// invocation and then under the function's own timeout, as Lambda's ("suppressed init"; Lambda developer guide,
// "Lambda execution environment lifecycle").
func (f *Function) ready(env **environment) *startFailure {
	failure := (*env).start(context.Background(), initTimeout)
	if failure == nil || failure.closed {
		return failure
	}
	*env = f.replace(*env)
	return (*env).start(context.Background(), f.config.Timeout)
}

// replace drops a dead environment and puts a fresh one in its place, within the same share of the concurrency.
func (f *Function) replace(old *environment) *environment {
	old.end()
	f.mu.Lock()
	defer f.mu.Unlock()
	env := newEnvironment(f)
	f.all = append(slices.DeleteFunc(f.all, func(e *environment) bool { return e == old }), env)
	return env
}

// release gives an environment back. One whose process has died meanwhile is found by its watcher or, when the
// watcher came first, here.
func (f *Function) release(env *environment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if env.hasExited() {
		f.forget(env)
		return
	}
	f.idle = append(f.idle, env)
}

// drop ends an environment's process and gives its share of the concurrency back.
func (f *Function) drop(env *environment) {
	env.end()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(env)
}

// exited is told by the watcher of an environment whose process ended. One in work is dropped by that work.
func (f *Function) exited(env *environment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Contains(f.idle, env) {
		f.forget(env)
	}
}

func (f *Function) forget(env *environment) {
	same := func(e *environment) bool { return e == env }
	f.all = slices.DeleteFunc(f.all, same)
	f.idle = slices.DeleteFunc(f.idle, same)
}

func (f *Function) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}
