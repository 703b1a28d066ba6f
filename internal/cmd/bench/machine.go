package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"custody/internal/cmd/bench/results"
)

func machine(ctx context.Context) results.Machine {
	return results.Machine{CPU: cpu(ctx), Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
}

// cpu is the processor's own name where the system tells it: on Linux in a file, on macOS by a command.
func cpu(ctx context.Context) string {
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for lines := bufio.NewScanner(bytes.NewReader(info)); lines.Scan(); {
			if name, value, found := strings.Cut(lines.Text(), ":"); found && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	if out, err := exec.CommandContext(ctx, "sysctl", "-n", "machdep.cpu.brand_string").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return "unknown CPU"
}

// commit is the checkout's, and says so when it has changes. Outside of one it is empty.
func commit(ctx context.Context) string {
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return ""
	}
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain").Output()
	name := strings.TrimSpace(string(head))
	if err != nil || len(bytes.TrimSpace(changes)) > 0 {
		name += "-dirty"
	}
	return name
}
