package nights_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"custody/internal/inbox"
)

// deadSweeper: somebody has disabled the sweeper's schedule, and the stream has lost the wake of a run.
func deadSweeper() night {
	return night{
		arrange: func(t *testing.T, w *world) {
			w.cloud.hasSchedule()
			w.stack.Schedule().SetEnabled(false)
			w.put(t, "2026-06-01", numbered("pod/wh-17/2026-06/", 12)...)
			w.put(t, "2026-07-20", numbered("pod/wh-17/2026-07/", 3)...)
			lost := w.losesRecords(t)
			w.accepted(t, "d-1", "r-1", "2026-07-01T00:00:00Z")
			soon(t, "the wake is lost", func() bool { return lost.Load() > 0 })
			before := lost.Load()
			w.passes(t, 25*time.Minute) // silence pages some ten minutes later than an age does
			soon(t, "what that wrote is lost, too", func() bool { return lost.Load() > before })
			w.db.open()
		},
		events: map[string]func(*testing.T, *world){
			"the sweeper has its first turn, and the run is done": func(t *testing.T, w *world) {
				w.until(t, "r-1", "is done", in(inbox.StateDone))
			},
		},
		after: func(t *testing.T, w *world) {
			w.left(t, numbered("pod/wh-17/2026-07/", 3)...)
			if run := w.until(t, "r-1", "is done", in(inbox.StateDone)); run.Slices != 1 {
				t.Errorf("the run had %d slices, want the one that the sweeper started", run.Slices)
			}
		},
	}
}

// losesRecords takes the records out of what the stream answers, as one that is a day old has lost them. It counts them.
func (w *world) losesRecords(t *testing.T) *atomic.Int32 {
	t.Helper()
	var lost atomic.Int32
	w.db.set(func(rw http.ResponseWriter, r *http.Request, engine http.Handler) bool {
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetRecords") {
			return false
		}
		answer := httptest.NewRecorder()
		engine.ServeHTTP(answer, r)
		var page map[string]json.RawMessage
		var records []json.RawMessage
		if err := errors.Join(json.Unmarshal(answer.Body.Bytes(), &page), json.Unmarshal(page["Records"], &records)); err != nil {
			t.Errorf("GetRecords: %v in %s", err, answer.Body)
			return false
		}
		lost.Add(int32(len(records)))
		page["Records"] = json.RawMessage("[]")
		body, err := json.Marshal(page)
		if err != nil {
			t.Error(err)
		}
		rw.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		_, _ = bytes.NewReader(body).WriteTo(rw)
		return true
	})
	return &lost
}

// hasSchedule makes the cloud answer for the sweeper's schedule.
func (c *cloud) hasSchedule() {
	disabled := true
	c.answers["scheduler get-schedule"] = func(args []string) (string, error) {
		switch flagOf(args, "--query") {
		case "State":
			return map[bool]string{true: "DISABLED", false: "ENABLED"}[disabled], nil
		case "Target":
			return `{"Arn": "sweeper", "RoleArn": "role"}`, nil
		}
		return "", fmt.Errorf("(Unknown) the command line is not that of the runbook: %q", args)
	}
	c.answers["scheduler update-schedule"] = func(args []string) (string, error) {
		var target map[string]string
		if err := json.Unmarshal([]byte(flagOf(args, "--target")), &target); err != nil || target["Arn"] != "sweeper" {
			return "", fmt.Errorf("(ValidationException) the target is %s", flagOf(args, "--target"))
		}
		disabled = flagOf(args, "--state") != "ENABLED"
		c.world.stack.Schedule().SetEnabled(!disabled)
		return "arn:aws:scheduler:us-east-1:000000000000:schedule/default/" + flagOf(args, "--name"), nil
	}
}
