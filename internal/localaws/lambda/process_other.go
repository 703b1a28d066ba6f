//go:build !unix

package lambda

import "os/exec"

// ownGroup has no portable form; elsewhere the processes share our group.
func ownGroup(*exec.Cmd) {}

// killGroup kills the process alone. That it has ended is no error.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
