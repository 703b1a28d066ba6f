package nights_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"custody/internal/inbox"
)

// poisonRun: each slice of a run dies at the same object, until the run is given up.
func poisonRun() night {
	gone := numbered("pod/wh-17/2026-06/", 20)
	return night{
		// Three slices instead of twelve, and the shortest lease that there is, for it has to run out before the run is given up.
		settings: map[string]string{"CUSTODY_ATTEMPT_CEILING": "3", "CUSTODY_LEASE_DURATION": "6s"},
		arrange: func(t *testing.T, w *world) {
			w.put(t, "2026-06-01", gone...)
			w.put(t, "2026-07-20", "labels/wh-17/2026-07/001")
			// One object is enough, and there is one such request in the life of a slice.
			w.s3.set(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
				if !by(r, "cleanup") || !r.URL.Query().Has("tagging") || !strings.HasSuffix(r.URL.Path, gone[12]) {
					return false
				}
				w.kill(t, "cleanup")
				w.saysOfLambda("cleanup", "Runtime.OutOfMemory")
				return true
			})
			w.accepted(t, "d-1", "r-1", "2026-07-01T00:00:00Z")
			w.until(t, "r-1", "is given up", in(inbox.StateFailed))
		},
		events: map[string]func(*testing.T, *world){
			"the stack is deployed with CleanupMemory=1024": func(_ *testing.T, w *world) { w.s3.open() },
			"the run is done": func(t *testing.T, w *world) { w.until(t, "r-1", "is done", in(inbox.StateDone)) },
		},
		after: func(t *testing.T, w *world) {
			w.left(t, "labels/wh-17/2026-07/001")
			if letters := w.stack.DeadLetters(); len(letters) > 0 {
				t.Errorf("dead letters: %+v", letters)
			}
		},
	}
}

// saysOfLambda is the line that Lambda itself writes to the log of a function whose process has died (Lambda Telemetry API, "platform.report").
func (w *world) saysOfLambda(function, errorType string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.logged = append(w.logged, logLine{now, function, fmt.Sprintf(
		`{"time":%q,"type":"platform.report","record":{"requestId":"%08x-0000-4000-8000-%012x","status":"error","errorType":%q}}`,
		now.UTC().Format(time.RFC3339), now.Unix(), len(w.logged), errorType)})
}
