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
	"custody/internal/localaws/process"
)

// The functions' names, as their folders have them.
const (
	webhookFunction = "webhook"
	cleanupFunction = "cleanup"
	sweeperFunction = "sweeper"
)

// FunctionSpec is a function and its size, which are the template's; a test compares them.
type FunctionSpec struct {
	Name      string
	LogicalID string // in the template
	Timeout   time.Duration
	Memory    int // megabytes
}

// Functions lists the functions of a stack.
func Functions() []FunctionSpec {
	return []FunctionSpec{
		{webhookFunction, "WebhookFunction", 10 * time.Second, 256},
		{cleanupFunction, "CleanupFunction", 300 * time.Second, 512},
		{sweeperFunction, "SweeperFunction", 60 * time.Second, 256},
	}
}

func (s *Stack) functionConfig(spec FunctionSpec) lambda.Config {
	return lambda.Config{
		Name:        spec.Name,
		Binary:      s.binaries.path(spec.Name),
		Environment: s.functionEnvironment(spec.Name),
		Timeout:     spec.Timeout,
		Memory:      spec.Memory,
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
		// The SDK puts this into the User-Agent, as app/NAME: what stands in front of an engine sees whose request it is.
		"AWS_SDK_UA_APP_ID": name,
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

// findBinaries takes the built functions of a folder. Where none is named, it builds them from the module around the
// working directory, or takes those beside the running program, as `make build` leaves them.
func findBinaries(ctx context.Context, dir string) (binaries, error) {
	if dir != "" {
		return built(dir)
	}
	module, err := enclosingModule()
	if err == nil {
		return build(ctx, module)
	}
	if program, lost := os.Executable(); lost == nil {
		if b, missing := built(filepath.Dir(program)); missing == nil {
			return b, nil
		}
	}
	return binaries{}, err
}

func built(dir string) (binaries, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return binaries{}, fmt.Errorf("folder of the built functions: %w", err)
	}
	b := binaries{dir: absolute}
	var problems []error
	for _, spec := range Functions() {
		if _, err := os.Stat(b.path(spec.Name)); err != nil {
			problems = append(problems, fmt.Errorf("built function %s: %w", spec.Name, err))
		}
	}
	return b, errors.Join(problems...)
}

func build(ctx context.Context, module string) (binaries, error) {
	dir, err := os.MkdirTemp("", "custody-functions-")
	if err != nil {
		return binaries{}, fmt.Errorf("make a folder for the functions: %w", err)
	}
	b := binaries{dir: dir, temporary: dir}
	var all sync.WaitGroup
	problems := make([]error, len(Functions()))
	for i, spec := range Functions() {
		all.Go(func() { problems[i] = buildOne(ctx, module, spec.Name, b.path(spec.Name)) })
	}
	all.Wait()
	return b, errors.Join(problems...)
}

// buildOne uses the flags of the Makefile's build, for this machine.
func buildOne(ctx context.Context, module, name, path string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w",
		"-o", path, "./functions/"+name)
	cmd.Dir = module
	// An interrupted go command leaves its temporary files behind, so they are below the folder that we remove, and
	// its compilers, so they are ended with it.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH,
		"GOTMPDIR="+filepath.Dir(filepath.Dir(path)))
	process.OwnGroup(cmd)
	cmd.Cancel = func() error { process.KillGroup(cmd); return nil }
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
			return "", fmt.Errorf("the functions are not built, and %s is not in the module custody to build them from", dir)
		}
	}
}
