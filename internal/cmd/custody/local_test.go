package main_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestMain builds the tool and, beside it, the functions, as make build leaves them.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	// Whoever runs the tests under nohup hands on a SIGHUP that is ignored, which the tool respects. A signal that is caught here is the
	// default one again for what is started here.
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	dir, err := os.MkdirTemp("", "tool")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	targets := map[string]string{"custody": "custody/internal/cmd/custody"}
	for _, name := range []string{"webhook", "cleanup", "sweeper"} {
		targets[name+"/bootstrap"] = "custody/functions/" + name
	}
	for file, target := range targets {
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", filepath.Join(dir, file), target)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", target, err, out)
			return 1
		}
	}
	os.Setenv("BUILT_TOOL", filepath.Join(dir, "custody"))
	return m.Run()
}

// local is a running `custody local` outside of the module.
type local struct {
	cmd    *exec.Cmd
	dir    string
	lines  []string // of stdout, until it was ready
	stderr bytes.Buffer
	rest   chan string
}

// startLocal waits until the tool says that it is ready.
func startLocal(t *testing.T, args ...string) *local {
	t.Helper()
	return startUntil(t, "ready;", os.Getenv("BUILT_TOOL"), args...)
}

// startUntil waits for a line of stdout that begins like this.
func startUntil(t *testing.T, wanted, tool string, args ...string) *local {
	t.Helper()
	l := &local{dir: t.TempDir(), rest: make(chan string, 1)}
	l.cmd = exec.CommandContext(t.Context(), tool, append([]string{"local"}, args...)...)
	l.cmd.Dir = l.dir
	l.cmd.Stderr = &l.stderr
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(stdout)
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			_ = l.cmd.Wait()
			t.Fatalf("ended before it was ready: %s\n%s", strings.Join(l.lines, ""), l.stderr.String())
		}
		l.lines = append(l.lines, line)
		if strings.HasPrefix(line, wanted) {
			break
		}
	}
	go func() {
		rest, _ := io.ReadAll(reader)
		l.rest <- string(rest)
	}()
	return l
}

// end sends a signal and returns the exit code.
func (l *local) end(t *testing.T, signal os.Signal) int {
	t.Helper()
	if err := l.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	<-l.rest
	return code(t, l.cmd.Wait())
}

func code(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatal(err)
	}
	return exit.ExitCode()
}

func (l *local) pids() []string {
	var pids []string
	for _, line := range l.lines {
		if m := regexp.MustCompile(`^(?:webhook|cleanup|sweeper) +process (\d+)\n$`).FindStringSubmatch(line); m != nil {
			pids = append(pids, m[1])
		}
	}
	return pids
}

// status posts to the URL of the env file, read by a shell, without a signature.
func (l *local) status(t *testing.T) string {
	t.Helper()
	source := exec.Command("sh", "-c", `. ./local.env && printf %s "$CUSTODY_URL"`)
	source.Dir = l.dir
	out, err := source.Output()
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(string(out), "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return fmt.Sprint(response.StatusCode, " ", response.Header.Get("Custody-Outcome"))
}

func TestLocalEndsWithoutATrace(t *testing.T) {
	t.Parallel()
	for sentence, signal := range map[string]os.Signal{"by Ctrl-C": os.Interrupt, "by SIGTERM": syscall.SIGTERM} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			l := startLocal(t, "--env-file", "local.env")
			if got := l.status(t); got != "400 rejected" {
				t.Errorf("an unsigned delivery: %s", got)
			}
			pids := l.pids()
			if len(pids) != 3 {
				t.Errorf("processes %v in %q", pids, l.lines)
			}
			if got := l.end(t, signal); got != 0 {
				t.Errorf("exit code %d: %s", got, l.stderr.String())
			}
			for _, pid := range pids {
				if exec.Command("kill", "-0", pid).Run() == nil {
					t.Errorf("process %s lives", pid)
				}
			}
			if left, err := os.ReadDir(l.dir); err != nil || len(left) != 0 {
				t.Errorf("files are left: %v (%v)", left, err)
			}
			if !strings.Contains(l.stderr.String(), `"msg":"delivery"`) {
				t.Errorf("no log line of the webhook in %s", l.stderr.String())
			}
		})
	}
}

func TestLocalInterruptedWhileItStarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := filepath.Join(dir, "custody")
	// A link and no copy: a file that was just written may still be busy when it is run.
	if err := os.Link(os.Getenv("BUILT_TOOL"), tool); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"webhook", "cleanup", "sweeper"} { // beside the tool: functions that never ask for an event
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "bootstrap"), []byte("#!/bin/sh\nsleep 1000\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l := startUntil(t, "webhook ", tool, "--env-file", "local.env")
	if got := l.end(t, os.Interrupt); got != 0 {
		t.Errorf("exit code %d: %s", got, l.stderr.String())
	}
	for _, pid := range l.pids() {
		if exec.Command("kill", "-0", pid).Run() == nil {
			t.Errorf("process %s lives", pid)
		}
	}
	if left, err := os.ReadDir(l.dir); err != nil || len(left) != 0 {
		t.Errorf("files are left: %v (%v)", left, err)
	}
}

func TestLocalKilledTakesItsProcessesAlong(t *testing.T) {
	t.Parallel()
	l := startLocal(t)
	pids := l.pids()
	l.end(t, syscall.SIGKILL)
	// Nobody is left to kill them: they end by themselves when their Runtime API goes away, which init of this
	// system tells by the end of the processes. tail waits for that.
	for _, pid := range pids {
		if err := exec.CommandContext(t.Context(), "tail", "--pid="+pid, "-f", "/dev/null").Run(); err != nil {
			t.Errorf("process %s: %v", pid, err)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"help is no error":             {[]string{"--help"}, 0, ""},
		"nothing shows the help":       {nil, 0, ""},
		"the version":                  {[]string{"version"}, 0, ""},
		"an unknown command":           {[]string{"lokal"}, 2, "lokal"},
		"an unknown flag":              {[]string{"local", "--colour"}, 2, "--colour"},
		"an argument where none is":    {[]string{"local", "now"}, 2, `"now"`},
		"a port that is no number":     {[]string{"local", "--port", "x"}, 2, `"x"`},
		"a port that there is not":     {[]string{"local", "--port", "70000"}, 2, "port is 70000, must be 1 to 65531"},
		"a setting without a value":    {[]string{"local", "--set", "CUSTODY_PATH"}, 2, "must be CUSTODY_NAME=VALUE"},
		"a setting given twice":        {[]string{"local", "--set", "CUSTODY_PATH=/a", "--set", "CUSTODY_PATH=/b"}, 2, "is given twice"},
		"a setting that there is not":  {[]string{"local", "--set", "CUSTODY_PAHT=/"}, 2, "CUSTODY_PAHT is no setting of the local functions; there are: CUSTODY_ACK_TIMEOUT"},
		"a value that is not allowed":  {[]string{"local", "--set", "CUSTODY_REPLAY_WINDOW=0s"}, 2, "CUSTODY_REPLAY_WINDOW"},
		"an address that there is not": {[]string{"local", "--listen", "203.0.113.1"}, 1, "listen for the function URL"},
		"an env file that cannot be":   {[]string{"local", "--env-file", "no/such/folder/local.env"}, 1, "env file"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Getenv("BUILT_TOOL"), test.args...)
			cmd.Dir = t.TempDir()
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if got := code(t, cmd.Run()); got != test.code {
				t.Errorf("exit code %d: %s", got, stderr.String())
			}
			if !strings.Contains(stderr.String(), test.want) || (test.want == "" && stderr.Len() > 0) {
				t.Errorf("stderr: %s", stderr.String())
			}
		})
	}
}
