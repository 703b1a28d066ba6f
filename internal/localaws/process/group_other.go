//go:build !unix

package process

import "os/exec"

// OwnGroup has no portable form; elsewhere the processes share our group.
func OwnGroup(*exec.Cmd) {}

// KillGroup kills the command alone. That it has ended is no error.
func KillGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
