package contenders_test

import (
	"os"
	"testing"

	"custody/internal/cmd/bench/contenders"
)

func TestTheHeapIsReadFromTheRuntimesTrace(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		line string
		want int64 // MiB, 0 where the line is none
	}{
		"the heap grew during the collection": {
			"gc 7 @0.152s 4%: 0.030+1.2+0.004 ms clock, 0.061+0.31/1.0/0.2+0.008 ms cpu, 19->21->9 MB, 19 MB goal, 0 MB stacks, 0 MB globals, 2 P", 22},
		"it was largest before":   {"gc 120 @12.1s 4%: 0.03+1+0 ms clock, 0+0/1/0+0 ms cpu, 63->60->9 MB, 64 MB goal, 0 MB stacks, 0 MB globals, 2 P", 64},
		"a forced one":            {"gc 8 @1.000s 3%: 0.03+1+0 ms clock, 0+0/1/0+0 ms cpu, 4->4->2 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)", 5},
		"the function's own line": {`{"event":"slice","message":"gc 7 @1s: 19->21->9 MB, 19 MB goal"}`, 0},
		"the scavenger's":         {"scav 12 KiB work (bg), 0 KiB work (eager), 4096 KiB now, 99% util", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, is := contenders.HeapOf(test.line)
			if got != test.want<<20 || is != (test.want > 0) {
				t.Errorf("%d bytes, %v, want %d MiB", got, is, test.want)
			}
		})
	}
}

func TestThePeakIsReadFromTheStatusOfTheProcess(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status string
		want   int64
		fails  bool
	}{
		"as Linux writes it":  {"Name:\tbootstrap\nVmPeak:\t 1240000 kB\nVmHWM:\t   36864 kB\nVmRSS:\t   20000 kB\n", 36864 << 10, false},
		"without the line":    {"Name:\tbootstrap\nVmRSS:\t 20000 kB\n", 0, true},
		"with another unit":   {"VmHWM:\t 36 MB\n", 0, true},
		"of a process's husk": {"", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := contenders.PeakOf([]byte(test.status))
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("%d bytes, error %v, want %d", got, err, test.want)
			}
		})
	}
}

func TestThePeakOfThisProcessIsBelievable(t *testing.T) {
	t.Parallel()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("no /proc here: %v", err)
	}
	if got, err := contenders.PeakOf(status); err != nil || got < 1<<20 || got > 1<<34 {
		t.Errorf("%d bytes, error %v, want more than a megabyte", got, err)
	}
}
