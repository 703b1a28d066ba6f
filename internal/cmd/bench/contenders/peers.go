package contenders

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Peers finds and, where that is needed, builds the programs of others. Whoever is missing is named with the reason.
type Peers struct {
	Dir   string // the folder of what this repository has for them
	Cache string // where what was built or installed stays, outside of the checkout
	Go    string // the go command
	Log   func(format string, a ...any)
}

// Find returns those who can take part, and one line for each who cannot.
func (p Peers) Find(ctx context.Context) (found []Contender, missing []string) {
	for _, peer := range []struct {
		name string
		find func(context.Context) (Contender, error)
	}{{"s5cmd", p.s5cmd}, {"rclone", p.rclone}, {"boto3", p.boto3}, {"aws cli", p.awsCLI}} {
		c, err := peer.find(ctx)
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", peer.name, err))
			continue
		}
		c.Name = peer.name
		found = append(found, c)
	}
	return found, missing
}

// s5cmd deletes a thousand versions with a request and ten requests at once, whatever the number of its workers. It would print
// a line for each version otherwise.
func (p Peers) s5cmd(ctx context.Context) (Contender, error) {
	path, version, err := p.goTool(ctx, "S5CMD", "s5cmd", "github.com/peak/s5cmd/v2")
	return Contender{Version: version, Run: func(ctx context.Context, j Job) (Outcome, error) {
		return program(ctx, j, nil, path, "--endpoint-url", j.Server.S3, "--log", "error", "rm", "--all-versions",
			"s3://"+j.Bucket+"/"+j.Prefix+"*")
	}}, err
}

// rcloneCheckers is how many versions rclone deletes at once; README.md says how the number was found.
const rcloneCheckers = "64"

// rclone purges with versions, which is its only command that removes every version and the delete markers. It sends one request
// for each; checkers are how many at once.
func (p Peers) rclone(ctx context.Context) (Contender, error) {
	path, version, err := p.goTool(ctx, "RCLONE", "rclone", "github.com/rclone/rclone")
	return Contender{Version: version, Run: func(ctx context.Context, j Job) (Outcome, error) {
		env := []string{"RCLONE_CONFIG=" + os.DevNull, "RCLONE_S3_PROVIDER=Other", "RCLONE_S3_ENV_AUTH=true",
			"RCLONE_S3_FORCE_PATH_STYLE=true", "RCLONE_S3_REGION=us-east-1", "RCLONE_S3_ENDPOINT=" + j.Server.S3, "RCLONE_S3_VERSIONS=true"}
		return program(ctx, j, env, path, "purge", "--quiet", "--checkers", rcloneCheckers, "--transfers", rcloneCheckers,
			":s3:"+j.Bucket+"/"+strings.TrimSuffix(j.Prefix, "/"))
	}}, err
}

func (p Peers) boto3(ctx context.Context) (Contender, error) {
	python, err := p.venv(ctx)
	if err != nil {
		return Contender{}, err
	}
	version, err := ask(ctx, "", python, "-c", "import boto3, sys; print(boto3.__version__, 'on Python', sys.version.split()[0])")
	script, errAbs := filepath.Abs(filepath.Join(p.Dir, "boto3_delete.py"))
	if err == nil {
		err = errAbs
	}
	return Contender{Version: version, Run: func(ctx context.Context, j Job) (Outcome, error) {
		return program(ctx, j, nil, python, script, j.Bucket, j.Prefix)
	}}, err
}

// awsCLI starts two programs for each page, which takes the better part of its time; so it is given fewer pages.
func (p Peers) awsCLI(ctx context.Context) (Contender, error) {
	path, err := exec.LookPath(orElse(os.Getenv("AWSCLI"), "aws"))
	if err != nil {
		return Contender{}, fmt.Errorf("is not installed (AWSCLI=path names one): %w", err)
	}
	version, err := ask(ctx, "", path, "--version")
	script, errAbs := filepath.Abs(filepath.Join(p.Dir, "awscli_delete.sh"))
	if err == nil {
		err = errAbs
	}
	return Contender{Version: version, Share: 10, Run: func(ctx context.Context, j Job) (Outcome, error) {
		return program(ctx, j, nil, script, path, j.Bucket, j.Prefix)
	}}, err
}

// goTool takes the program that the variable names, or builds it once from the module of its own that pins its version.
func (p Peers) goTool(ctx context.Context, variable, name, pkg string) (path, version string, err error) {
	if path = os.Getenv(variable); path != "" {
		path, err = exec.LookPath(path)
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", variable, err)
		}
		return path, builtVersion(path), nil
	}
	dir := filepath.Join(p.Dir, name)
	pin, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", "", err
	}
	path = p.cached(name, pin)
	if _, err := os.Stat(path); err != nil {
		p.Log("building %s, once; rclone takes some minutes", name)
		if err := p.build(ctx, dir, pkg, path); err != nil {
			return "", "", fmt.Errorf("cannot be built (%s=path names one that is): %w", variable, err)
		}
	}
	return path, builtVersion(path), nil
}

// build leaves others on the machine the first choice of its cores. A build that broke off leaves nothing under the name.
func (p Peers) build(ctx context.Context, dir, pkg, path string) error {
	if err := os.MkdirAll(p.Cache, 0o755); err != nil {
		return err
	}
	line := []string{p.Go, "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path + ".new", pkg}
	if nice, err := exec.LookPath("nice"); err == nil {
		line = append([]string{nice, "-n", "19"}, line...)
	}
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, lastLine(string(out)))
	}
	return os.Rename(path+".new", path)
}

// venv makes a Python environment with the pinned boto3, once.
func (p Peers) venv(ctx context.Context) (python string, err error) {
	if python = os.Getenv("BOTO3_PYTHON"); python != "" {
		return exec.LookPath(python)
	}
	requirements := filepath.Join(p.Dir, "boto3.txt")
	pin, err := os.ReadFile(requirements)
	if err != nil {
		return "", err
	}
	dir := p.cached("boto3", pin)
	python = filepath.Join(dir, "bin", "python")
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return python, nil
	}
	p.Log("installing boto3, once")
	for _, line := range [][]string{{"python3", "-m", "venv", dir}, {python, "-m", "pip", "install", "--quiet", "-r", requirements}} {
		if out, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("cannot be installed (BOTO3_PYTHON=path names a Python that has it): %s: %w: %s",
				strings.Join(line[:3], " "), err, lastLine(string(out)))
		}
	}
	return python, os.WriteFile(filepath.Join(dir, "complete"), nil, 0o644)
}

// cached is a path that changes with what is pinned.
func (p Peers) cached(name string, pin []byte) string {
	sum := sha256.Sum256(pin)
	return filepath.Join(p.Cache, name+"-"+hex.EncodeToString(sum[:6]))
}

// builtVersion is what the go command wrote into the program.
func builtVersion(path string) string {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "of unknown version"
	}
	return info.Main.Version
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

func orElse(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
