package nights_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"custody/internal/inbox"
)

// stuckStream: the stream's mapping hands out nothing, since somebody has disabled it; on another night it hands out a record again
// and again, since the function cannot write the run's item, and gives it up.
func stuckStream() night {
	first, second, young := numbered("pod/wh-17/2026-05/", 8), numbered("pod/wh-17/2026-06/", 3), numbered("pod/wh-17/2026-07/", 2)
	woken := func(times int) func(inbox.Run) bool {
		return func(r inbox.Run) bool { return r.WakeCount == times }
	}
	return night{
		settings: map[string]string{"CUSTODY_WAKE_AFTER": "2m"},
		arrange: func(t *testing.T, w *world) {
			w.cloud.hasMapping()
			w.cloud.hasQueue(t)
			w.cloud.firstLogLine()
			w.put(t, "2026-05-10", first...)
			w.put(t, "2026-07-20", young...)
			w.stack.Mapping().Disable()
			w.accepted(t, "d-1", "r-1", "2026-06-01T00:00:00Z")
			// The sweeper waits twice as long behind each wake: two hours and two minutes in all.
			for i, wait := range []time.Duration{2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour} {
				w.passes(t, wait)
				w.until(t, "r-1", "is woken again", woken(i+1))
			}
		},
		events: map[string]func(*testing.T, *world){
			"the stream hands out what it has": func(t *testing.T, w *world) {
				if state := w.stack.Mapping().State(); state != "Enabled" {
					t.Fatalf("the mapping is %s", state)
				}
				w.until(t, "r-1", "is done", in(inbox.StateDone))
				w.left(t, slices.Clone(young)...)
			},
			"a policy takes the cleanup role the right to write the inbox, and a delivery comes": func(t *testing.T, w *world) {
				w.put(t, "2026-06-10", second...)
				w.denied(call{function: "cleanup", operation: "UpdateItem", table: w.stack.Setting("CUSTODY_TABLE")})
				w.accepted(t, "d-2", "r-2", "2026-07-01T00:00:00Z")
				soon(t, "the record is given up", func() bool { return len(w.stack.DeadLetters()) == 1 })
			},
			"the policy is mended, and two minutes pass": func(t *testing.T, w *world) {
				w.left(t, slices.Concat(second, young)...)
				w.db.open()
				w.passes(t, 2*time.Minute)
				w.until(t, "r-2", "is done", in(inbox.StateDone))
			},
		},
		after: func(t *testing.T, w *world) { w.left(t, slices.Clone(young)...) },
	}
}

// firstLogLine makes the cloud answer for the first of the lines that fit.
func (c *cloud) firstLogLine() {
	all := c.answers["logs filter-log-events"]
	c.answers["logs filter-log-events"] = func(args []string) (string, error) {
		args = slices.Clone(args)
		at := slices.Index(args, "events[0].message")
		if at < 0 {
			return all(args)
		}
		args[at] = "events[].[message]"
		lines, err := all(args)
		first, _, _ := strings.Cut(lines, "\n")
		return first, err
	}
}

// mappingID is what Lambda names an event source mapping by.
const mappingID = "7c3b1e0a-5f7d-4a34-9a52-0f3f0c9d2b11"

// hasMapping makes the cloud answer for the stream's mapping.
func (c *cloud) hasMapping() {
	c.outputs["CleanupFunction"] = "custody-cleanup"
	c.answers["lambda list-event-source-mappings"] = func(args []string) (string, error) {
		switch asked := flagOf(args, "--query"); {
		case flagOf(args, "--function-name") != c.outputs["CleanupFunction"]:
		case asked == "EventSourceMappings[0].UUID":
			return mappingID, nil
		case asked == "EventSourceMappings[].[UUID, State, LastProcessingResult, StateTransitionReason]":
			return strings.Join([]string{mappingID, c.world.stack.Mapping().State(), "No records processed", "User action"}, "\t"), nil
		}
		return "", fmt.Errorf("(Unknown) the command line is not that of the runbook: %q", args)
	}
	c.answers["lambda update-event-source-mapping"] = func(args []string) (string, error) {
		if flagOf(args, "--uuid") != mappingID || !slices.Contains(args, "--enabled") || flagOf(args, "--query") != "State" {
			return "", fmt.Errorf("(Unknown) the command line is not that of the runbook: %q", args)
		}
		c.world.stack.Mapping().Enable()
		return "Enabling", nil
	}
}

// queue is the dead-letter queue: the records that the stream's mapping has given up, until somebody purges them.
type queue struct {
	mu     sync.Mutex
	purged int
}

func (q *queue) messages(w *world) []any {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []any
	for _, letter := range w.stack.DeadLetters()[q.purged:] {
		all = append(all, letter)
	}
	return all
}

// hasQueue makes the cloud answer for the dead-letter queue, and publish how many messages are in it, as SQS does.
func (c *cloud) hasQueue(t *testing.T) {
	t.Helper()
	q := &queue{}
	c.outputs["DeadLetterQueue"] = "https://sqs.us-east-1.amazonaws.com/000000000000/custody-dead-letters"
	c.answers["sqs receive-message"] = func(args []string) (string, error) {
		if flagOf(args, "--queue-url") != c.outputs["DeadLetterQueue"] || flagOf(args, "--query") != "Messages[].[ReceiptHandle, Body]" {
			return "", fmt.Errorf("(Unknown) the command line is not that of the runbook: %q", args)
		}
		var lines []string
		for i, message := range q.messages(c.world) {
			body, err := json.Marshal(message)
			if err != nil {
				return "", err
			}
			lines = append(lines, fmt.Sprintf("handle-%d\t%s", i+1, body))
		}
		return strings.Join(lines, "\n"), nil
	}
	c.answers["sqs purge-queue"] = func(args []string) (string, error) {
		if flagOf(args, "--queue-url") != c.outputs["DeadLetterQueue"] {
			return "", fmt.Errorf("(Unknown) the command line is not that of the runbook: %q", args)
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		q.purged = len(c.world.stack.DeadLetters())
		return "", nil
	}
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.world.publish("AWS/SQS", "ApproximateNumberOfMessagesVisible", map[string]string{"QueueName": "DeadLetterQueue"},
					float64(len(q.messages(c.world))))
			case <-t.Context().Done():
				return
			}
		}
	}()
}
