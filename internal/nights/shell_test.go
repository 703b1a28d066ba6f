package nights_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"custody/internal/localaws/process"
)

// shell is the operator's terminal: one shell that lives through the night, so that variables and functions stay. Its environment is
// what the local stack's env file says, and nothing of the developer's.
type shell struct {
	dir   string
	stdin io.Writer
	lines chan string
}

func openShell(t *testing.T, env []string) *shell {
	t.Helper()
	s := &shell{dir: t.TempDir(), lines: make(chan string)}
	cmd := exec.Command("sh")
	process.OwnGroup(cmd)
	cmd.Dir = s.dir
	cmd.Env = append([]string{"PATH=" + built() + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + s.dir, "TZ=UTC", "COLUMNS=110",
		"AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull, "AWS_EC2_METADATA_DISABLED=true"}, env...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	s.stdin = stdin
	go func() {
		defer close(s.lines)
		defer read.Close()
		lines := bufio.NewReader(read)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			select {
			case s.lines <- strings.TrimSuffix(line, "\n"):
			case <-t.Context().Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		process.KillGroup(cmd)
		_ = cmd.Wait() // it was killed
	})
	return s
}

// commandTime bounds one command on a machine that is busy.
const commandTime = time.Minute

// done is what the shell prints behind a command, with its exit status.
const done = "-- the command has ended with "

// types gives a command and takes what it prints, both streams together as a terminal shows them. An exit status other than 0 is
// a line of its own at the end, since a terminal does not show it and the runbook tells what it means.
func (s *shell) types(t *testing.T, command string) []string {
	t.Helper()
	if _, err := fmt.Fprintf(s.stdin, "{ %s\n} </dev/null\nprintf '\\n%s%%d\\n' $?\n", command, done); err != nil {
		t.Fatalf("type %q: %v", command, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	var printed []string
	for {
		select {
		case line, open := <-s.lines:
			code, ended := strings.CutPrefix(line, done)
			switch {
			case !open:
				t.Fatalf("the shell ended at %q:\n%s", command, strings.Join(printed, "\n"))
			case !ended:
				printed = append(printed, line)
				continue
			}
			// The line break in front of the mark is ours; a command that ends its last line leaves an empty one.
			if last := len(printed) - 1; last >= 0 && printed[last] == "" {
				printed = printed[:last]
			}
			if n, err := strconv.Atoi(code); err != nil || n != 0 {
				printed = append(printed, "(exit code "+code+")")
			}
			return printed
		case <-ctx.Done():
			t.Fatalf("%q has not ended within %s:\n%s", command, commandTime, strings.Join(printed, "\n"))
		}
	}
}

// edits is a file that the operator writes with an editor.
func (s *shell) edits(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// reads is a file in the operator's folder.
func (s *shell) reads(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
