package contenders

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"custody/internal/localaws/process"
)

// program runs a command line with the server's variables and little else of the caller's environment, and times it.
func program(ctx context.Context, j Job, more []string, line ...string) (Outcome, error) {
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "PYENV_ROOT", "LANG"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	for name, value := range sdkVariables(j.Server) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, more...)
	said := &tail{}
	cmd.Stdout, cmd.Stderr = said, said
	process.OwnGroup(cmd) // a shell's children end with it
	cmd.Cancel = func() error { process.KillGroup(cmd); return nil }
	cmd.WaitDelay = time.Second
	began := time.Now()
	err := cmd.Run()
	elapsed := time.Since(began)
	if ctx.Err() != nil {
		return Outcome{}, context.Cause(ctx)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w; it said: %s", line[0], err, said)
	}
	return Outcome{Elapsed: elapsed}, nil
}

// tail keeps the end of what a program says.
type tail struct{ kept []byte }

const mostTail = 400

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - mostTail; extra > 0 {
		t.kept = slices.Delete(t.kept, 0, extra)
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.Join(strings.Fields(string(t.kept)), " ") }

// BareLoop is the list-and-delete loop at the concurrency that Custody has by default. With tags it reads the tags of each
// version first, as many at once as Custody does.
func BareLoop(name, binary string, tags int) Contender {
	return Contender{Name: name, Run: func(ctx context.Context, j Job) (Outcome, error) {
		return program(ctx, j, nil, binary, "-bucket", j.Bucket, "-prefix", j.Prefix, "-deletes", "4", "-tags", fmt.Sprint(tags))
	}}
}

// ask runs a command and returns the first line that it says.
func ask(ctx context.Context, dir string, line ...string) (string, error) {
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(line, " "), err, bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(line, " "), err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return first, nil
}
