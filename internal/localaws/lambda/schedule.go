package lambda

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ScheduleOptions say what is invoked when.
type ScheduleOptions struct {
	// Name is the rule's name in the event.
	Name     string
	Function Invoker
	Every    time.Duration
	// OnError is told when the function could not be invoked or failed; nil tells nobody. There is no retry: the next turn is one.
	OnError func(error)
}

// Schedule invokes a function at a fixed rate with the event that an EventBridge rule such as rate(1 minute)
// sends. The first turn is one interval after the start, as EventBridge's. A turn that comes while the last one
// is at work is left out.
type Schedule struct {
	cancel   context.CancelFunc
	work     sync.WaitGroup
	disabled atomic.Bool
}

// StartSchedule starts; it lives until Close or the end of ctx.
func StartSchedule(ctx context.Context, options ScheduleOptions) (*Schedule, error) {
	if options.Every <= 0 {
		return nil, fmt.Errorf("schedule %s: interval is %s, must be above 0", options.Name, options.Every)
	}
	if options.OnError == nil {
		options.OnError = func(error) {}
	}
	s := &Schedule{}
	ctx, s.cancel = context.WithCancel(ctx)
	s.work.Go(func() { options.run(ctx, &s.disabled) })
	return s, nil
}

// SetEnabled disables the schedule or enables it again, as a schedule's state does. A disabled one lets its turns pass.
func (s *Schedule) SetEnabled(enabled bool) { s.disabled.Store(!enabled) }

// Close stops and waits. A function at work goes on, and nobody takes its answer.
func (s *Schedule) Close() {
	s.cancel()
	s.work.Wait()
}

func (o ScheduleOptions) run(ctx context.Context, disabled *atomic.Bool) {
	ticker := time.NewTicker(o.Every)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			if !disabled.Load() {
				o.turn(ctx, now)
			}
		case <-ctx.Done():
			return
		}
		select {
		case <-ticker.C: // the turn that came meanwhile is left out, not made up for
		default:
		}
	}
}

func (o ScheduleOptions) turn(ctx context.Context, now time.Time) {
	result, err := o.Function.Invoke(ctx, scheduledEvent(o.Name, now))
	switch {
	case ctx.Err() != nil: // closed
	case err != nil:
		o.OnError(fmt.Errorf("schedule %s: %w", o.Name, err))
	case result.FunctionError != "":
		o.OnError(fmt.Errorf("schedule %s: function failed: %s", o.Name, result.Payload))
	}
}

// scheduledEvent has the form of EventBridge's scheduled events (EventBridge user guide, "Scheduled Event").
func scheduledEvent(name string, now time.Time) []byte {
	return mustJSON(map[string]any{
		"version":     "0",
		"id":          newRequestID(),
		"detail-type": "Scheduled Event",
		"source":      "aws.events",
		"account":     Account,
		"time":        now.UTC().Format(time.RFC3339),
		"region":      Region,
		"resources":   []string{"arn:aws:events:" + Region + ":" + Account + ":rule/" + name},
		"detail":      map[string]any{},
	})
}
