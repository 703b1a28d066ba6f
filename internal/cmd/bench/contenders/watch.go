package contenders

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"custody/internal/localaws/lambda"
)

// watch follows a function's process: its id, its last lines, and what the runtime says about its heap.
type watch struct {
	heap atomic.Int64 // bytes

	mu      sync.Mutex
	process int
	lines   []string
}

func newWatch() *watch { return &watch{} }

func (w *watch) started(p lambda.Process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.process = p.PID
}

func (w *watch) pid() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.process
}

// keptLines are what an error says of a function.
const keptLines = 3

func (w *watch) line(_ lambda.Process, line string) {
	if heap, is := HeapOf(line); is {
		w.heap.Store(max(w.heap.Load(), heap)) // lines of one process come one after another
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line)
	if extra := len(w.lines) - keptLines; extra > 0 {
		w.lines = w.lines[extra:]
	}
}

func (w *watch) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.lines, " / ")
}

// gcTrace is a line of GODEBUG=gctrace=1 (documentation of package runtime): "gc 7 @0.1s 2%: … 4->5->2 MB, 6 MB goal, …", the
// heap at the start of the collection, at its end, and what of it lives.
var gcTrace = regexp.MustCompile(`^gc \d+ @.* (\d+)->(\d+)->\d+ MB, `)

// HeapOf is the most that the heap held around a collection, in bytes. A heap is largest when a collection of it begins or, since
// the program goes on meanwhile, ends; so over all collections this is its peak, in whole megabytes, but for what came after the
// last one, which is less than the next one's beginning would have been. The runtime rounds down, so one is added.
func HeapOf(line string) (int64, bool) {
	m := gcTrace.FindStringSubmatch(line)
	if m == nil {
		return 0, false
	}
	before, err1 := strconv.ParseInt(m[1], 10, 64)
	after, err2 := strconv.ParseInt(m[2], 10, 64)
	if err1 != nil || err2 != nil {
		return 0, false
	}
	return (max(before, after) + 1) << 20, true
}

// errNoPeak is a system that does not keep how much memory a process had at most.
var errNoPeak = errors.New("the system tells no peak of resident memory (VmHWM in /proc/PID/status)")

// peakResident is the most memory that a process had at any time, while it still lives. On a system without /proc it is 0.
func peakResident(pid int) (int64, error) {
	if _, err := os.Stat("/proc/self/status"); errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read the peak of memory: %w", err)
	}
	return PeakOf(status)
}

// PeakOf is VmHWM of the text of a process's status file, in bytes.
func PeakOf(status []byte) (int64, error) {
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
		value, found := strings.CutPrefix(lines.Text(), "VmHWM:")
		if !found {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read VmHWM%q: %w", value, err)
		}
		return kib << 10, nil
	}
	return 0, errNoPeak
}
