package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"custody/internal/localaws/lambda"

	"github.com/google/go-cmp/cmp"
)

func TestFunctionEnds(t *testing.T) {
	t.Parallel()
	f := puppet(t, func(c *lambda.Config) { c.Timeout = 5 * time.Second })
	for sentence, test := range map[string]struct {
		event string
		want  lambda.Failure
	}{
		"an error is the function's failure": {orderTo("fail", "no"), lambda.Failure{Message: "no", Type: "errorString"}},
		"a panic is told before the end":     {orderTo("panic", "oh"), lambda.Failure{Message: "oh", Type: "string"}},
		"an exit loses the event": {`{"do":"exit","size":7}`,
			lambda.Failure{Message: "RequestId: ID Error: Runtime exited with error: exit status 7", Type: "Runtime.ExitError"}},
		"an exit without a reason loses it too": {`{"do":"exit"}`,
			lambda.Failure{Message: "RequestId: ID Error: Runtime exited without providing a reason", Type: "Runtime.ExitError"}},
		"an answer above 6 MB is a failure": {`{"do":"big","size":6291556}`, lambda.Failure{Type: "Function.ResponseSizeTooLarge",
			Message: "Response payload size exceeded maximum allowed payload size (6291556 bytes)."}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			r := invoke(t, f, test.event)
			got := r.Failure()
			got.Message = strings.ReplaceAll(got.Message, r.RequestID, "ID")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if r.FunctionError != lambda.Unhandled {
				t.Errorf("function error is %q", r.FunctionError)
			}
		})
	}
}

func TestFunctionTimeoutKillsTheProcess(t *testing.T) {
	t.Parallel()
	started := make(chan lambda.Process, 1)
	f := puppet(t, func(c *lambda.Config) {
		c.Timeout = 120 * time.Millisecond
		c.OnStart = func(p lambda.Process) { started <- p }
	})
	r := invoke(t, f, orderTo("hang", ""))
	want := lambda.Failure{Type: "Sandbox.Timedout", Message: "RequestId: " + r.RequestID + " Error: Task timed out after 0.12 seconds"}
	if diff := cmp.Diff(want, r.Failure()); diff != "" {
		t.Error(diff)
	}
	if p := <-started; alive(p.PID) {
		t.Errorf("process %d overran its timeout and lives", p.PID)
	}
	if pids := f.Processes(); len(pids) != 0 {
		t.Errorf("processes %v are listed", pids)
	}
}

func TestFunctionKilledProcessLosesItsEvent(t *testing.T) {
	t.Parallel()
	m := newMeeting(t)
	f := puppet(t, nil)
	done := make(chan lambda.Result)
	go func() { done <- invoke(t, f, orderTo("hang", m.url)) }()
	<-m.arrived
	kill(t, f.Processes()[0])
	r := <-done
	want := lambda.Failure{Type: "Runtime.ExitError", Message: "RequestId: " + r.RequestID + " Error: Runtime exited with error: signal: killed"}
	if diff := cmp.Diff(want, r.Failure()); diff != "" {
		t.Error(diff)
	}
}

func TestFunctionKilledWhileIdleCostsNoEvent(t *testing.T) {
	t.Parallel()
	ended := make(chan lambda.Process, 2)
	f := puppet(t, func(c *lambda.Config) { c.OnEnd = func(p lambda.Process) { ended <- p } })
	first := pidOf(t, invoke(t, f, `{}`))
	kill(t, first)
	<-ended
	if second := pidOf(t, invoke(t, f, `{}`)); second == first {
		t.Errorf("the killed process %d answered", first)
	}
}

func TestFunctionReusesWarmEnvironments(t *testing.T) {
	t.Parallel()
	f := puppet(t, nil)
	first := pidOf(t, invoke(t, f, `{}`))
	invoke(t, f, orderTo("fail", "an error does not end the process"))
	if second := pidOf(t, invoke(t, f, `{}`)); second != first {
		t.Errorf("process %d answered, the warm one is %d", second, first)
	}
	invoke(t, f, orderTo("panic", "ends it"))
	if third := pidOf(t, invoke(t, f, `{}`)); third == first {
		t.Errorf("process %d answered after its panic", first)
	}
}

func TestFunctionConcurrency(t *testing.T) {
	t.Parallel()
	m := newMeeting(t)
	f := puppet(t, func(c *lambda.Config) { c.Concurrency = 2 })
	results := make(chan lambda.Result, 2)
	for range 2 {
		go func() { results <- invoke(t, f, orderTo("meet", m.url)) }()
	}
	<-m.arrived
	<-m.arrived
	if _, err := f.Invoke(t.Context(), []byte(`{}`)); !errors.Is(err, lambda.ErrThrottled) {
		t.Errorf("a third event at a concurrency of 2: %v", err)
	}
	if pids := f.Processes(); len(pids) != 2 {
		t.Errorf("two events at once are in work in processes %v", pids)
	}
	m.letGo()
	first, second := <-results, <-results
	if first.FunctionError+second.FunctionError != "" {
		t.Errorf("failed: %s %s", first.Payload, second.Payload)
	}
	invoke(t, f, `{}`)
	if pids := f.Processes(); len(pids) != 2 {
		t.Errorf("a warm environment was there, processes are %v", pids)
	}
}

func TestFunctionFailedStart(t *testing.T) {
	t.Parallel()
	marker := filepath.Join(t.TempDir(), "marker")
	for sentence, test := range map[string]struct {
		environment map[string]string
		want        lambda.Failure
		starts      int
	}{
		"an exit before the first event fails the invocation, after one more try": {map[string]string{"PUPPET_INIT": "exit"},
			lambda.Failure{Type: "Runtime.ExitError", Message: "RequestId: ID Error: Runtime exited with error: exit status 3"}, 2},
		"a reported init error is the answer": {map[string]string{"PUPPET_INIT": "error"},
			lambda.Failure{Type: "Runtime.Settings", Message: "no settings"}, 2},
		"a start that fails once is tried again within the invocation": {map[string]string{"PUPPET_EXIT_ONCE": marker}, lambda.Failure{}, 2},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			started := make(chan lambda.Process, 10)
			f := puppet(t, func(c *lambda.Config) {
				c.Environment = test.environment
				c.OnStart = func(p lambda.Process) { started <- p }
			})
			r := invoke(t, f, `{}`)
			got := r.Failure()
			got.Message = strings.ReplaceAll(got.Message, r.RequestID, "ID")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if len(started) != test.starts {
				t.Errorf("%d processes were started, want %d", len(started), test.starts)
			}
		})
	}
}

func TestFunctionWarm(t *testing.T) {
	t.Parallel()
	bad := puppet(t, func(c *lambda.Config) { c.Environment = map[string]string{"PUPPET_INIT": "exit"} })
	err := bad.Warm(t.Context())
	if err == nil || !strings.Contains(err.Error(), "setting X is wrong") {
		t.Errorf("the last line of the process is not in: %v", err)
	}
	good := puppet(t, nil)
	if err := good.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if warm, used := good.Processes(), pidOf(t, invoke(t, good, `{}`)); !slices.Equal(warm, []int{used}) {
		t.Errorf("warmed %v, used %d", warm, used)
	}
	missing := puppet(t, func(c *lambda.Config) { c.Binary = filepath.Join(t.TempDir(), "bootstrap") })
	if err := missing.Warm(t.Context()); err == nil {
		t.Error("a missing binary was warmed")
	}
}

func TestFunctionContextOfTheEvent(t *testing.T) {
	t.Parallel()
	f := puppet(t, func(c *lambda.Config) { c.Timeout = 30 * time.Second })
	r := invoke(t, f, `{"do":"context"}`)
	var got struct {
		RequestID string `json:"request_id"`
		ARN       string `json:"arn"`
		LeftMS    int    `json:"left_ms"`
		Trace     string `json:"trace"`
	}
	if err := json.Unmarshal(r.Payload, &got); err != nil {
		t.Fatal(err)
	}
	if got.RequestID != r.RequestID || got.ARN != "arn:aws:lambda:us-east-1:000000000000:function:puppet" || got.ARN != f.ARN() {
		t.Errorf("%+v, request id %s", got, r.RequestID)
	}
	if got.LeftMS <= 0 || got.LeftMS > 30_000 {
		t.Errorf("%d ms are left of 30 s", got.LeftMS)
	}
	if !strings.HasPrefix(got.Trace, "Root=1-") {
		t.Errorf("trace id is %q", got.Trace)
	}
}

func TestFunctionEnvironment(t *testing.T) {
	t.Parallel()
	f := puppet(t, func(c *lambda.Config) { c.Environment = map[string]string{"CUSTODY_X": "y", "AWS_REGION": "eu-west-1"} })
	var got struct {
		Env []string `json:"env"`
	}
	if err := json.Unmarshal(invoke(t, f, `{"do":"environment"}`).Payload, &got); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CUSTODY_X=y", "AWS_REGION=eu-west-1", "AWS_LAMBDA_FUNCTION_NAME=puppet", "TZ=:UTC",
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=128", "_HANDLER=bootstrap",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/puppet", "LAMBDA_TASK_ROOT=" + filepath.Dir(puppetBinary())} {
		if !slices.Contains(got.Env, want) {
			t.Errorf("%s is missing in %v", want, got.Env)
		}
	}
	for _, variable := range got.Env {
		if strings.HasPrefix(variable, "AWS_PROFILE=") || strings.HasPrefix(variable, "HOME=") || strings.HasPrefix(variable, "PUPPET_BINARY=") {
			t.Errorf("%s leaked from the caller", variable)
		}
	}
}

func TestRuntimeAPIRefuses(t *testing.T) {
	t.Parallel()
	f := puppet(t, nil)
	for sentence, test := range map[string]struct {
		path string
		want string
	}{
		"an unknown path":               {"/2018-06-01/runtime/other", "404"},
		"another version":               {"/2020-01-01/runtime/init/error", "404"},
		"an answer to another event":    {"/2018-06-01/runtime/invocation/none/response", "400"},
		"an error of another event":     {"/2018-06-01/runtime/invocation/none/error", "400"},
		"the wrong method for an event": {"/2018-06-01/runtime/invocation/next", "405"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if got := string(invoke(t, f, orderTo("ask", test.path)).Payload); got != test.want {
				t.Errorf("status %s, want %s", got, test.want)
			}
		})
	}
}

func TestFunctionOutput(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var lines []string
	f := puppet(t, func(c *lambda.Config) {
		c.Output = func(p lambda.Process, line string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, p.Function+": "+line)
		}
	})
	long := strings.Repeat("x", 200_000)
	invoke(t, f, orderTo("print", long))
	f.Close()
	want := []string{"puppet: " + long, "puppet: last line without an end"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

func TestFunctionOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	m := newMeeting(t)
	f := puppet(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() {
		_, err := f.Invoke(ctx, []byte(orderTo("meet", m.url)))
		done <- err
	}()
	<-m.arrived
	hungUp := errors.New("hung up")
	cancel(hungUp)
	if err := <-done; !errors.Is(err, hungUp) {
		t.Errorf("the caller got %v", err)
	}
	if pids := f.Processes(); len(pids) != 1 {
		t.Errorf("the process was ended with its caller, %v are left", pids)
	}
}

func TestFunctionClose(t *testing.T) {
	t.Parallel()
	m := newMeeting(t)
	f := puppet(t, nil)
	done := make(chan lambda.Result)
	go func() { done <- invoke(t, f, orderTo("hang", m.url)) }()
	<-m.arrived
	pid := f.Processes()[0]
	f.Close()
	if r := <-done; r.Failure().Type != "Runtime.ExitError" {
		t.Errorf("the event in work ended as %s", r.Payload)
	}
	if alive(pid) {
		t.Errorf("process %d lives after Close", pid)
	}
	if _, err := f.Invoke(t.Context(), []byte(`{}`)); !errors.Is(err, lambda.ErrClosed) {
		t.Errorf("invoke after Close: %v", err)
	}
	f.Close()
}

func TestFunctionRefusesALargeEvent(t *testing.T) {
	t.Parallel()
	f := puppet(t, nil)
	event := `{"do":"` + strings.Repeat("x", lambda.MaxPayload) + `"}`
	if _, err := f.Invoke(t.Context(), []byte(event)); !errors.Is(err, lambda.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestNewFunctionNamesEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := lambda.NewFunction(lambda.Config{Concurrency: -1})
	for _, want := range []string{"name is empty", "binary is empty", "timeout is 0s", "concurrency is -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
}
