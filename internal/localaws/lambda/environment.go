package lambda

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"

	"custody/internal/localaws/process"
)

// environment is one execution environment: one process, its Runtime API and at most one event.
type environment struct {
	function *Function
	started  bool // touched only by the work that holds the environment

	waiting  chan struct{}    // one token while the process asks for its next event
	events   chan *invocation // hands an event to the process that asks
	answers  chan answer      // what the process said about its event
	initDown chan []byte      // what the process said about its failed start
	gone     chan struct{}    // closed when the process has ended and its output is read

	mu       sync.Mutex
	process  *exec.Cmd
	killed   bool
	exit     error // why the process ended, valid once gone is closed
	inWork   *invocation
	lastSaid []string // its last lines, for the error of a failed start
	server   *http.Server
}

// tailLines is how many of a process's last lines a failed start shows: enough for all settings' problems.
const tailLines = 20

// invocation is one event on its way through a process.
type invocation struct {
	requestID string
	event     []byte
	started   time.Time
	deadline  time.Time
}

// answer is what the process posted for its event.
type answer struct {
	payload []byte
	failed  bool
}

// startFailure says why an environment never asked for an event.
type startFailure struct {
	Failure
	payload []byte // as the process posted it to init/error, where it did
	said    []string
	closed  bool
}

func (s *startFailure) Error() string {
	if len(s.said) == 0 {
		return s.Message
	}
	return s.Message + "; it wrote:\n" + strings.Join(s.said, "\n")
}

func (s *startFailure) result(requestID string) Result {
	if s.payload != nil {
		return Result{RequestID: requestID, Payload: s.payload, FunctionError: Unhandled}
	}
	return failed(requestID, Failure{Type: s.Type, Message: "RequestId: " + requestID + " Error: " + s.Message})
}

func newEnvironment(f *Function) *environment {
	return &environment{
		function: f,
		waiting:  make(chan struct{}, 1),
		events:   make(chan *invocation),
		answers:  make(chan answer, 1),
		initDown: make(chan []byte, 1),
		gone:     make(chan struct{}),
	}
}

// start runs the process where none was started yet, and waits until it asks for an event.
func (e *environment) start(ctx context.Context, limit time.Duration) *startFailure {
	if e.started {
		return nil
	}
	if err := e.launch(); err != nil {
		close(e.gone)
		return &startFailure{Failure: Failure{Type: "Runtime.InvalidEntrypoint", Message: err.Error()}, closed: errors.Is(err, ErrClosed)}
	}
	e.started = true
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-e.waiting:
		return nil
	case payload := <-e.initDown:
		return &startFailure{Failure: Result{Payload: payload, FunctionError: Unhandled}.Failure(), payload: payload}
	case <-e.gone:
		return &startFailure{Failure: exitFailure(e.exit), said: e.lastSaid, closed: e.function.isClosed()}
	case <-timer.C:
		return &startFailure{Failure: Failure{Type: "Sandbox.Timedout", Message: "Init timed out after " + seconds(limit)}}
	case <-ctx.Done():
		return &startFailure{Failure: Failure{Type: "Sandbox.Cancelled", Message: context.Cause(ctx).Error()}, closed: true}
	}
}

// launch opens the Runtime API and starts the process.
func (e *environment) launch() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("open the runtime api: %w", err)
	}
	cmd := exec.Command(e.function.config.Binary)
	cmd.Dir = taskRoot(e.function.config.Binary)
	cmd.Env = processEnvironment(e.function.config, listener.Addr().String())
	out := &lineWriter{line: e.said}
	cmd.Stdout, cmd.Stderr = out, out // one pipe for both, so that their order is kept
	cmd.WaitDelay = time.Second       // a grandchild that holds the pipe must not hold us
	process.OwnGroup(cmd)

	server := &http.Server{Handler: e.runtimeAPI(), ReadHeaderTimeout: initTimeout}
	e.mu.Lock()
	defer e.mu.Unlock()
	// Under the lock: Kill either sees the process or keeps it from starting.
	if e.killed {
		listener.Close()
		return ErrClosed
	}
	if err := cmd.Start(); err != nil {
		listener.Close()
		return fmt.Errorf("start process: %w", err)
	}
	e.process, e.server = cmd, server
	e.function.work.Add(1)
	go e.watch(cmd, listener, out)
	return nil
}

// watch serves the Runtime API for as long as the process lives, and tells the function when it has ended.
func (e *environment) watch(cmd *exec.Cmd, listener net.Listener, out *lineWriter) {
	defer e.function.work.Done()
	if on := e.function.config.OnStart; on != nil {
		on(Process{Function: e.function.config.Name, PID: cmd.Process.Pid}) // before its first request is answered
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = e.server.Serve(listener) }) // ends with ErrServerClosed below
	err := cmd.Wait()
	process.KillGroup(cmd) // whatever the process itself had started ends with it
	out.flush()
	e.server.Close()
	serving.Wait()
	e.mu.Lock()
	e.exit = err
	e.mu.Unlock()
	close(e.gone)
	e.function.exited(e)
	if on := e.function.config.OnEnd; on != nil {
		on(Process{Function: e.function.config.Name, PID: cmd.Process.Pid})
	}
}

func (e *environment) said(line string) {
	e.mu.Lock()
	e.lastSaid = append(e.lastSaid, line)
	if extra := len(e.lastSaid) - tailLines; extra > 0 {
		e.lastSaid = e.lastSaid[extra:]
	}
	from := Process{Function: e.function.config.Name, PID: e.process.Process.Pid}
	e.mu.Unlock()
	if out := e.function.config.Output; out != nil {
		out(from, line)
	}
}

// hand gives the event to the process and starts its clock. It is false when the process had ended before.
func (e *environment) hand(inv *invocation, timeout time.Duration) bool {
	inv.started = time.Now()
	inv.deadline = inv.started.Add(timeout)
	e.mu.Lock()
	e.inWork = inv
	e.mu.Unlock()
	select {
	case e.events <- inv:
		return true
	case <-e.gone:
		return false
	}
}

// finish waits for the process's answer, its end or the deadline. The environment is done with its event only
// when the process asks for the next one, which the second result says: a function that panics has answered and
// is about to end.
func (e *environment) finish(inv *invocation) (Result, bool) {
	timer := time.NewTimer(time.Until(inv.deadline))
	defer timer.Stop()
	result := e.outcome(inv, timer)
	if e.hasExited() {
		return result, false
	}
	select {
	case <-e.waiting:
		return result, true
	case <-e.gone:
	case <-timer.C:
	}
	return result, false
}

func (e *environment) outcome(inv *invocation, timer *time.Timer) Result {
	select {
	case a := <-e.answers:
		return a.result(inv.requestID)
	case <-e.gone:
		select {
		case a := <-e.answers: // it answered and then ended, before we looked
			return a.result(inv.requestID)
		default:
		}
		failure := exitFailure(e.exit)
		failure.Message = "RequestId: " + inv.requestID + " Error: " + failure.Message
		return failed(inv.requestID, failure)
	case <-timer.C:
		e.end()
		return failed(inv.requestID, timeoutFailure(inv))
	}
}

func (a answer) result(requestID string) Result {
	r := Result{RequestID: requestID, Payload: a.payload}
	if a.failed {
		r.FunctionError = Unhandled
	}
	return r
}

// end kills the process and waits until it is gone. An environment that never started has nothing to end.
func (e *environment) end() {
	e.kill()
	if e.started {
		<-e.gone
	}
}

// kill sends SIGKILL and does not wait.
func (e *environment) kill() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.killed = true
	if e.process != nil && !e.hasExited() {
		process.KillGroup(e.process)
	}
}

func (e *environment) hasExited() bool {
	select {
	case <-e.gone:
		return true
	default:
		return false
	}
}

func (e *environment) pid() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.process == nil || e.hasExited() {
		return 0
	}
	return e.process.Process.Pid
}

// exitFailure words the end of a process as Lambda does.
func exitFailure(exit error) Failure {
	if exit == nil {
		return Failure{Type: "Runtime.ExitError", Message: "Runtime exited without providing a reason"}
	}
	return Failure{Type: "Runtime.ExitError", Message: "Runtime exited with error: " + exit.Error()}
}

// timeoutFailure words an overrun as Lambda does.
func timeoutFailure(inv *invocation) Failure {
	limit := inv.deadline.Sub(inv.started)
	return Failure{Type: "Sandbox.Timedout",
		Message: "RequestId: " + inv.requestID + " Error: Task timed out after " + seconds(limit)}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f seconds", d.Seconds()) }
