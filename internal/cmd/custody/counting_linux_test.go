package main_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"custody/internal/report"
)

// slowly are buckets whose S3 leaves requests unanswered, those that the test picks, until go on is called.
func slowly(t *testing.T, held func(*http.Request) bool) (x *buckets, goOn func()) {
	t.Helper()
	free := make(chan struct{})
	x = newBucketsBehind(t, func() time.Time { return day.Add(-longBefore) }, func(engine http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if held(r) {
				select {
				case <-free:
				case <-r.Context().Done():
				}
			}
			engine.ServeHTTP(w, r)
		})
	})
	return x, func() { close(free) }
}

// inShell types a line in a shell on a terminal.
func (x tool) inShell(t *testing.T, dir, line string) *terminal {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", line)
	shell.Dir = dir
	shell.Env = []string{"PATH=" + filepath.Dir(os.Getenv("BUILT_TOOL")) + ":" + os.Getenv("PATH")}
	return x.startOnTerminal(t, 60, 24, shell)
}

const planLine = "custody plan --type cleanup.run --warehouse-id wh-17 --min-object-age 0s --expired-before 2026-08-30T00:00:00Z"

// What takes long is counted where it is seen, and nowhere else.
func TestALongPlanAndReportAreCountedOnATerminal(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		line, counts string
		file         string // what the answer is in, "" for the terminal
		says         string
	}{
		"a plan":                       {planLine, "2 versions listed, ", "", "2 would go"},
		"a plan without colours":       {"NO_COLOR=1 " + planLine, "2 versions listed, ", "", "2 would go"},
		"a plan in a file":             {planLine + " --json > out", "2 versions listed, ", "out", `"decision":"delete"`},
		"a plan's lines":               {planLine + " --json", "", "", `"decision":"delete"`},
		"a plan's lines, piped":        {planLine + " --json | cat", "", "", `"decision":"delete"`},
		"a plan that nobody watches":   {planLine + " 2> out", "", "", "2 would go"},
		"a report":                     {"custody report cleanup.run/r-1", " report objects read, ", "", "40 gone"},
		"a report's lines, piped":      {"custody report cleanup.run/r-1 --json | cat", " report objects read, ", "", `"state":"gone"`},
		"a report's page in a file":    {"custody report cleanup.run/r-1 --html > out", " report objects read, ", "out", "</html>"},
		"a key's history":              {"custody report cleanup.run/r-1 --key pod/wh-17/a", " report objects read, ", "", "pod/wh-17/a"},
		"a report that nobody watches": {"custody report cleanup.run/r-1 2> out", "", "", "40 gone"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			seen := make(chan struct{}, 100)
			x, goOn := slowly(t, func(r *http.Request) bool {
				held := r.URL.Query().Get("prefix") == "labels/wh-17/" || r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/0001-000040-")
				if held {
					seen <- struct{}{}
				}
				return held
			})
			x.counted(t)
			dir := t.TempDir()
			p := x.inShell(t, dir, test.line)
			if test.counts != "" {
				p.until(t, test.counts)
			} else {
				<-seen
				clock := x.inShell(t, t.TempDir(), planLine) // when it counts, this one had as much time to do so
				clock.until(t, " versions listed, ")
				defer clock.end(t)
			}
			goOn()
			code, shown := p.end(t)
			answer := shown
			if test.file != "" {
				data, err := os.ReadFile(filepath.Join(dir, test.file))
				if err != nil {
					t.Fatal(err)
				}
				answer = string(data)
			}
			if code != 0 || !strings.Contains(answer, test.says) {
				t.Errorf("exit code %d\n%s", code, answer)
			}
			if test.counts == "" && strings.ContainsAny(shown, "\x1b\r") {
				t.Errorf("it was counted on the screen:\n%q", shown)
			}
			if test.counts != "" && !regexp.MustCompile(`\r[|/\\-] +[0-9]+[a-z ]+, [0-9.]+/s\x1b\[K`).MatchString(shown) {
				t.Errorf("it was not counted with a rate:\n%q", shown)
			}
			if test.file != "" && strings.ContainsAny(answer, "\x1b\r") || regexp.MustCompile(`/s\x1b\[K[^\r]`).MatchString(shown) {
				t.Errorf("count and answer are mixed:\n%q\n%q", shown, answer)
			}
			if left := "out"; strings.HasSuffix(test.line, "2> out") {
				if data, err := os.ReadFile(filepath.Join(dir, left)); err != nil || len(data) > 0 {
					t.Errorf("on a stderr that is no terminal: %q (%v)", data, err)
				}
			}
		})
	}
}

// counted is a bucket with two versions below the first prefix, and a run's report of 40 objects.
func (b *buckets) counted(t *testing.T) {
	t.Helper()
	b.put(t, "pod/wh-17/a", "")
	b.put(t, "pod/wh-17/b", "")
	for batch := range 40 {
		h := headerOf("r-1", report.ModeDelete, batch+1)
		key := "pod/wh-17/" + strings.Repeat("a", batch+1)
		b.selected(t, h, of(key, ""))
		b.answered(t, h, became(key, report.FateDeleted, ""))
	}
}
