package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"custody/internal/inbox"
	"custody/internal/localaws/lambda"
)

// slowDelete is added to each delete request, so that there is something to watch and to kill.
const slowDelete = 400 * time.Millisecond

// traffic watches what the functions ask of S3.
type traffic struct {
	mu          sync.Mutex
	deletes     int
	withoutID   int
	lastListing string // key that the last listing began behind
}

// wrap slows the deletes down and notes what is sent.
func (t *traffic) wrap(engine http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch {
		case r.Method == http.MethodPost && q.Has("delete"):
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			t.note(func() {
				t.deletes++
				t.withoutID += strings.Count(string(body), "<Object>") - strings.Count(string(body), "<VersionId>")
			})
			select {
			case <-time.After(slowDelete):
			case <-r.Context().Done():
			}
		case q.Has("versions"):
			t.note(func() { t.lastListing = q.Get("key-marker") })
		}
		engine.ServeHTTP(w, r)
	})
}

func (t *traffic) note(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

func (t *traffic) sent() (deletes, withoutID int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.deletes, t.withoutID
}

// progress shows a run on its way: a bar on a terminal, else a line for every tenth of it.
type progress struct {
	out   io.Writer
	bar   *progressbar.ProgressBar
	total int64
	tenth int64
}

func newProgress(out io.Writer, total int64) *progress {
	p := &progress{out: out, total: total}
	if f, ok := out.(*os.File); ok && isTerminal(f) {
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(out), progressbar.OptionSetWidth(30),
			progressbar.OptionSetDescription("    deleting"), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
	}
	return p
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *progress) show(run inbox.Run) {
	done := run.Counters.Deleted
	if p.bar != nil {
		_ = p.bar.Set64(min(done, p.total)) // a bar that cannot be drawn is no reason to stop
		return
	}
	if tenth := 10 * done / p.total; tenth > p.tenth {
		p.tenth = tenth
		fmt.Fprintf(p.out, "    %3d %%  %d of %d versions, scan %d, slice %d\n", 100*done/p.total, done, p.total, run.Place.Scan, run.Slices)
	}
}

// clear takes the bar away.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// until polls the run until the condition holds; the context bounds the wait.
func (s *story) until(ctx context.Context, key inbox.RunKey, what string, holds func(inbox.Run) bool) (inbox.Run, error) {
	for {
		run, err := s.store.Run(ctx, key)
		if err != nil {
			return inbox.Run{}, err
		}
		if run != nil && holds(*run) {
			return *run, nil
		}
		select {
		case <-ctx.Done():
			return inbox.Run{}, fmt.Errorf("waiting for %s: %w; the functions said:\n%s", what, context.Cause(ctx), s.lines.tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// lines keeps the functions' last log lines, to show them when something goes wrong.
type lines struct {
	mu   sync.Mutex
	last []string
}

const keptLines = 10

// add keeps the line, unless it is one of the sweeps that come every two seconds and say nothing new.
func (l *lines) add(p lambda.Process, line string) {
	if p.Function == "sweeper" && strings.Contains(line, `"level":"INFO"`) {
		return
	}
	line = p.Function + " | " + line
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last = append(l.last, line); len(l.last) > keptLines {
		l.last = l.last[1:]
	}
}

func (l *lines) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.last, "\n")
}
