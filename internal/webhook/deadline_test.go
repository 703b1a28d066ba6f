package webhook_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"custody/internal/inbox"
	"custody/internal/webhook"
)

// These run on synctest's clock, so that they measure how long the sender waits, exactly.
func TestAnswerIsOutBeforeTheTimeIs(t *testing.T) {
	t.Parallel()
	hang := func(context.Context) error { time.Sleep(time.Hour); return nil }
	wait := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	for sentence, c := range map[string]struct {
		prepare     func(front)
		functionEnd time.Duration // 0: no deadline
		wantAfter   time.Duration
		wantCause   string
		wantWritten [2]int
	}{
		"the store hangs":                        {func(f front) { f.Inbox.beforeClaim = hang }, 0, 4900 * time.Millisecond, "ack timeout", [2]int{}},
		"the store gives up with the context":    {func(f front) { f.Inbox.beforeClaim = wait }, 0, 4900 * time.Millisecond, "ack timeout", [2]int{}},
		"the store commits, and then hangs":      {func(f front) { f.Inbox.afterClaim = hang }, 10 * time.Second, 4900 * time.Millisecond, "ack timeout", [2]int{1, 1}},
		"the function has less time":             {func(f front) { f.Inbox.beforeClaim = hang }, 3 * time.Second, 2500 * time.Millisecond, "function's own time", [2]int{}},
		"the function has no time left":          {func(front) {}, 400 * time.Millisecond, 0, "function's own time", [2]int{}},
		"the keys hang":                          {func(f front) { f.Keys.fault = func(context.Context) { time.Sleep(time.Hour) } }, 0, 4900 * time.Millisecond, "ack timeout", [2]int{}},
		"the function's time is already running": {func(f front) { f.Inbox.beforeClaim = wait }, 5200 * time.Millisecond, 4700 * time.Millisecond, "function's own time", [2]int{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := open(t)
				c.prepare(f)
				ctx := t.Context()
				if c.functionEnd > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.functionEnd)
					defer cancel()
				}
				start := time.Now()
				resp, sum := f.Handler.Handle(ctx, sample(t, "delivery.json"))
				took := time.Since(start)
				if (answer{resp.StatusCode, sum.Outcome}) != retryable || resp.Headers["Retry-After"] == "" || took != c.wantAfter {
					t.Errorf("answer %d %s after %s, want 503 after %s", resp.StatusCode, sum.Outcome, took, c.wantAfter)
				}
				if !strings.Contains(sum.Problem, c.wantCause) || f.Inbox.written() != c.wantWritten {
					t.Errorf("problem %q, want the cause %q; written %v, want %v", sum.Problem, c.wantCause, f.Inbox.written(), c.wantWritten)
				}
				f.heal()
				again, _ := f.Handler.Handle(t.Context(), sample(t, "duplicate.json"))
				if again.StatusCode != 204 || f.Inbox.written() != [2]int{1, 1} {
					t.Errorf("redelivery: %d, written %v", again.StatusCode, f.Inbox.written())
				}
				time.Sleep(2 * time.Hour) // what hung comes back behind the answer
				synctest.Wait()
				if f.Inbox.written() != [2]int{1, 1} {
					t.Errorf("in the end written %v", f.Inbox.written())
				}
			})
		})
	}
}

// What is at hand is taken as it is: no call that may hang is made, and nothing is watched.
func TestKeysThatAreAtHandAreNotAskedFor(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.Keys.atHand = true
	if _, sum := f.Handler.Handle(t.Context(), sample(t, "delivery.json")); sum.Outcome != inbox.OutcomeAccepted || len(f.Keys.asked) > 0 {
		t.Errorf("the delivery was answered %s, and the source asked for %q", sum.Outcome, f.Keys.asked)
	}
}

func TestShortAckTimeoutKeepsATenth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := open(t, func(h *webhook.Handler) { h.Settings.AckTimeout = 100 * time.Millisecond })
		f.Inbox.beforeClaim = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		start := time.Now()
		f.Handler.Handle(t.Context(), sample(t, "delivery.json"))
		if took := time.Since(start); took != 90*time.Millisecond {
			t.Errorf("answered after %s", took)
		}
	})
}

func TestNothingIsAskedWhenTheTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, sum := f.Handler.Handle(ctx, sample(t, "delivery.json"))
		synctest.Wait()
		if len(f.Keys.asked)+f.Inbox.calls > 0 || sum.Status != 503 {
			t.Errorf("status %d, %d key and %d store calls", sum.Status, len(f.Keys.asked), f.Inbox.calls)
		}
	})
}

func TestPanicIsA500WithoutDetail(t *testing.T) {
	t.Parallel()
	for sentence, prepare := range map[string]func(*front){
		"in the store": func(f *front) { f.Inbox.beforeClaim = func(context.Context) error { panic("SECRET of the panic") } },
		"in the keys":  func(f *front) { f.Keys.fault = func(context.Context) { panic("SECRET of the panic") } },
		"in the alias": func(f *front) {
			f.Handler.Handle(t.Context(), sample(t, "delivery.json"))
			f.Inbox.beforeAlias = func(*memory) error { panic("SECRET of the panic") }
		},
		"in the handler itself": func(f *front) {
			*f = open(t, func(h *webhook.Handler) { h.Wake = func() string { panic("SECRET of the panic") } })
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			prepare(&f)
			got, resp, sum := f.send(t, resign(sample(t, "delivery.json"), "d-2", samplePayload, receipt()))
			if (got != answer{500, inbox.OutcomeRetryableFailure}) || !sum.Panicked {
				t.Errorf("answer %v, panicked %t", got, sum.Panicked)
			}
			if resp.Body != `{"type":"about:blank","title":"Internal Server Error","status":500}` {
				t.Errorf("body %s", resp.Body)
			}
			if strings.Contains(sum.Problem, "SECRET") || !strings.Contains(sum.Problem, "deadline_test.go") {
				t.Errorf("the problem shows the value, or not the place: %s", sum.Problem)
			}
		})
	}
}
