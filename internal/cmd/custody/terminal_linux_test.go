package main_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// terminal is the tool on a terminal of its own: what is typed reaches it, and what it shows is read.
type terminal struct {
	cmd    *exec.Cmd
	master *os.File
	mu     sync.Mutex
	shown  strings.Builder
	closed chan struct{}
}

// onTerminal starts the tool on a new pseudo terminal of that size.
func (x tool) onTerminal(t *testing.T, columns, rows uint16, args ...string) *terminal {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Getenv("BUILT_TOOL"), args...)
	cmd.Dir = t.TempDir()
	return x.startOnTerminal(t, columns, rows, cmd)
}

// startOnTerminal starts a command in the tool's environment on a new pseudo terminal (pty(7)) of that size.
func (x tool) startOnTerminal(t *testing.T, columns, rows uint16, cmd *exec.Cmd) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var number, unlocked uint32
	control(t, master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	control(t, master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	size := [4]uint16{rows, columns}
	control(t, master, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	slave, err := os.OpenFile("/dev/pts/"+strconv.FormatUint(uint64(number), 10), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	p := &terminal{cmd: cmd, master: master, closed: make(chan struct{})}
	p.cmd.Env = append(p.cmd.Env, "HOME="+p.cmd.Dir, "AWS_EC2_METADATA_DISABLED=true", "TERM=xterm")
	for name, value := range x.env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // its Ctrl-C and its end reach the tool as signals
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.read()
	t.Cleanup(func() { master.Close() })
	return p
}

func control(t *testing.T, f *os.File, request uintptr, arg unsafe.Pointer) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(arg)); errno != 0 {
		t.Fatal(errno)
	}
}

func (p *terminal) read() {
	defer close(p.closed)
	buffer := make([]byte, 4096)
	for {
		n, err := p.master.Read(buffer)
		p.mu.Lock()
		p.shown.Write(buffer[:n])
		p.mu.Unlock()
		if err != nil { // the last one has closed the other side
			return
		}
	}
}

func (p *terminal) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown.String()
}

// until waits for words on the screen.
func (p *terminal) until(t *testing.T, words string) {
	t.Helper()
	tick, end := time.NewTicker(20*time.Millisecond), time.After(atMost)
	defer tick.Stop()
	for !strings.Contains(p.text(), words) {
		select {
		case <-tick.C:
		case <-p.closed:
			if !strings.Contains(p.text(), words) {
				t.Fatalf("ended without %q:\n%q", words, p.text())
			}
		case <-end:
			t.Fatalf("no %q in\n%q", words, p.text())
		}
	}
}

func (p *terminal) types(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(p.master, keys); err != nil {
		t.Fatal(err)
	}
}

// end waits for the tool and returns its exit code and all that it showed, line ends as they are written elsewhere.
func (p *terminal) end(t *testing.T) (int, string) {
	t.Helper()
	err := p.cmd.Wait()
	<-p.closed
	exit, failed := errors.AsType[*exec.ExitError](err)
	if err != nil && !failed {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(p.text(), "\r\n", "\n")
	if failed {
		return exit.ExitCode(), text
	}
	return 0, text
}
