package localaws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"custody/internal/localaws/lambda"
)

// The functions' names, as their folders have them.
const (
	webhookFunction = "webhook"
	cleanupFunction = "cleanup"
	sweeperFunction = "sweeper"
)

// functionSpec is what the template says of a function's size.
type functionSpec struct {
	name    string
	timeout time.Duration
	memory  int // megabytes
}

func functionSpecs() []functionSpec {
	return []functionSpec{
		{webhookFunction, 10 * time.Second, 256},
		{cleanupFunction, 300 * time.Second, 512},
		{sweeperFunction, 60 * time.Second, 256},
	}
}

func (s *Stack) functionConfig(spec functionSpec) lambda.Config {
	return lambda.Config{
		Name:        spec.name,
		Binary:      s.binaries.path(spec.name),
		Environment: s.functionEnvironment(spec.name),
		Timeout:     spec.timeout,
		Memory:      spec.memory,
		Concurrency: s.options.Concurrency,
		Output:      s.options.Output,
		OnStart:     s.options.OnProcess,
	}
}

// functionEnvironment is the settings and the way to the engines. Nothing of the developer's AWS configuration may
// take part, and no SDK may look for a metadata service.
func (s *Stack) functionEnvironment(name string) map[string]string {
	env := map[string]string{
		"AWS_CONFIG_FILE":             os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_EC2_METADATA_DISABLED":   "true",
	}
	for _, pair := range append(s.endpoints.env(), credentialsEnv()...) {
		variable, value, _ := strings.Cut(pair, "=")
		env[variable] = value
	}
	maps.Copy(env, s.settings.of(name))
	return env
}

// binaries is a folder with NAME/bootstrap for each function.
type binaries struct {
	dir       string
	temporary string // the folder again where we made it and have to remove it
}

func (b binaries) path(name string) string { return filepath.Join(b.dir, name, "bootstrap") }

// findBinaries takes the built functions of a folder, or builds them where there is none.
func findBinaries(ctx context.Context, dir string) (binaries, error) {
	if dir == "" {
		return build(ctx)
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return binaries{}, fmt.Errorf("folder of the built functions: %w", err)
	}
	b := binaries{dir: absolute}
	var problems []error
	for _, spec := range functionSpecs() {
		if _, err := os.Stat(b.path(spec.name)); err != nil {
			problems = append(problems, fmt.Errorf("built function %s: %w", spec.name, err))
		}
	}
	return b, errors.Join(problems...)
}

func build(ctx context.Context) (binaries, error) {
	module, err := enclosingModule()
	if err != nil {
		return binaries{}, err
	}
	dir, err := os.MkdirTemp("", "custody-functions-")
	if err != nil {
		return binaries{}, fmt.Errorf("make a folder for the functions: %w", err)
	}
	b := binaries{dir: dir, temporary: dir}
	var all sync.WaitGroup
	problems := make([]error, len(functionSpecs()))
	for i, spec := range functionSpecs() {
		all.Go(func() { problems[i] = buildOne(ctx, module, spec.name, b.path(spec.name)) })
	}
	all.Wait()
	return b, errors.Join(problems...)
}

// buildOne uses the flags of the Makefile's build, for this machine.
func buildOne(ctx context.Context, module, name, path string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w",
		"-o", path, "./functions/"+name)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("build function %s: %w\n%s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

// enclosingModule finds the module's folder from the working directory upwards.
func enclosingModule() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	ours := regexp.MustCompile(`(?m)^module custody\s*$`)
	for at := dir; ; at = filepath.Dir(at) {
		if b, err := os.ReadFile(filepath.Join(at, "go.mod")); err == nil && ours.Match(b) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no folder of built functions was named, and %s is not in the module custody to build them from", dir)
		}
	}
}
