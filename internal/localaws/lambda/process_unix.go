//go:build unix

package lambda

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the process a group of its own: a Ctrl-C at the terminal reaches us alone, and we end the rest.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the process and what it has started. That none is left is no error.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
