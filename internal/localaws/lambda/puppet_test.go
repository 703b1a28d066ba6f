package lambda_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"custody/internal/localaws/lambda"
)

// TestMain builds the puppet once: a test function's build would otherwise count against each test.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "puppet")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", filepath.Join(dir, "bootstrap"), "./testdata/puppet")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the puppet: %v\n%s", err, out)
		return 1
	}
	os.Setenv("PUPPET_BINARY", filepath.Join(dir, "bootstrap"))
	os.Setenv("AWS_PROFILE", "must-not-leak")
	return m.Run()
}

func puppetBinary() string { return os.Getenv("PUPPET_BINARY") }

// puppet is a function over the puppet binary that is closed with the test.
func puppet(t *testing.T, change func(*lambda.Config)) *lambda.Function {
	t.Helper()
	config := lambda.Config{Name: "puppet", Binary: puppetBinary(), Timeout: time.Minute, Memory: 128}
	if change != nil {
		change(&config)
	}
	f, err := lambda.NewFunction(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// invoke wants the function to have run, well or not.
func invoke(t *testing.T, f lambda.Invoker, event string) lambda.Result {
	t.Helper()
	result, err := f.Invoke(t.Context(), []byte(event))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// pidOf is the process that answered.
func pidOf(t *testing.T, r lambda.Result) int {
	t.Helper()
	var answer struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(r.Payload, &answer); err != nil || answer.PID == 0 {
		t.Fatalf("no pid in %s (%v)", r.Payload, err)
	}
	return answer.PID
}

// meeting is where processes and test wait for each other: each caller is announced on arrived and held until
// it is let go.
type meeting struct {
	url     string
	arrived chan struct{}
	letGo   func()
}

func newMeeting(t *testing.T) *meeting {
	t.Helper()
	open := make(chan struct{})
	m := &meeting{arrived: make(chan struct{}, 100), letGo: sync.OnceFunc(func() { close(open) })}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		m.arrived <- struct{}{}
		select {
		case <-open:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(m.letGo)
	m.url = server.URL
	return m
}

func orderTo(do, value string) string {
	b, err := json.Marshal(map[string]string{"do": do, "value": value})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// alive asks the system whether a process exists.
func alive(pid int) bool { return exec.Command("kill", "-0", fmt.Sprint(pid)).Run() == nil }
