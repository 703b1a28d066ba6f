package lambda

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
)

// taskRoot is the folder that holds the function's program, /var/task on Lambda.
func taskRoot(binary string) string { return filepath.Dir(binary) }

// inherited are the caller's variables that a process sees. Nothing else may leak: a function that works only
// because of the developer's AWS_PROFILE would fail on Lambda. SYSTEMROOT is what Windows needs for sockets.
func inherited() []string { return []string{"PATH", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT"} }

// processEnvironment is what Lambda sets ("Defined runtime environment variables" in its developer guide), then
// the function's own configuration.
func processEnvironment(c Config, runtimeAPI string) []string {
	set := map[string]string{
		"_HANDLER":                        filepath.Base(c.Binary),
		"AWS_DEFAULT_REGION":              Region,
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(c.Memory),
		"AWS_LAMBDA_FUNCTION_NAME":        c.Name,
		"AWS_LAMBDA_FUNCTION_VERSION":     "$LATEST",
		"AWS_LAMBDA_INITIALIZATION_TYPE":  "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME":       "/aws/lambda/" + c.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME":      "local/[$LATEST]" + newRequestID(),
		"AWS_REGION":                      Region,
		"LAMBDA_TASK_ROOT":                taskRoot(c.Binary),
		"LANG":                            "en_US.UTF-8",
		"TZ":                              ":UTC",
	}
	for _, name := range inherited() {
		if value, ok := os.LookupEnv(name); ok {
			set[name] = value
		}
	}
	maps.Copy(set, c.Environment)
	set["AWS_LAMBDA_RUNTIME_API"] = runtimeAPI // last: a configuration that moved it would hang the function
	env := make([]string, 0, len(set))
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env
}

// lineWriter cuts a process's output into lines of any length.
type lineWriter struct {
	line func(string)

	mu      sync.Mutex
	pending []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(w.pending, p...)
	for {
		line, rest, found := bytes.Cut(w.pending, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.line(string(bytes.TrimSuffix(line, []byte("\r"))))
		w.pending = bytes.Clone(rest)
	}
}

// flush hands on a last line without an end.
func (w *lineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) > 0 {
		w.line(string(w.pending))
		w.pending = nil
	}
}
