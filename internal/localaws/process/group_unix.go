//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// OwnGroup gives a command that is not started yet a group of its own: a Ctrl-C at the terminal reaches us alone,
// and we end the rest.
func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// KillGroup kills a started command and what it has started. That none is left is no error.
func KillGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
