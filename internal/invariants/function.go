package invariants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/cleanup"
	"custody/internal/command"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/keyring"
	"custody/internal/retention"
	"custody/internal/s3report"
	"custody/internal/s3versions"
	"custody/internal/signature"
	"custody/internal/sweeper"
	"custody/internal/webhook"
)

// The functions, as processes are named, and the time that each has.
const (
	Webhook  = "webhook"
	Cleanup  = "cleanup"
	Sweeper  = "sweeper"
	Operator = "operator" // a person with the tool

	webhookTime = 10 * time.Second
	cleanupTime = 300 * time.Second
	sweeperTime = 60 * time.Second
)

// MinObjectAge of the world: how far the cutoff must lie in the past. It is above any skew of the clocks.
const MinObjectAge = time.Hour

const (
	crashTime = 100 * time.Millisecond // until Lambda notices
	killTime  = 10 * time.Millisecond  // behind the deadline that the function knows
)

var errFunction = errors.New("the function did not answer: it died, or its time ran out")

// invoke lets an idle instance of the function work, or starts one. As on Lambda, a function that dies or outlives its time has
// no result. lost is how long the caller waits before it loses sight of the invocation, which then goes on by itself; 0 is for ever.
func invoke[T any](w *World, function string, t task, limit, lost time.Duration, work func(context.Context, *process) T) (T, error) {
	p, doomed := w.acquire(function, t)
	var none T
	if doomed {
		p.kill()
		w.Sleep(crashTime)
		return none, errFunction
	}
	ctx, cancel := context.WithTimeout(w.ctx, limit)
	done := make(chan T, 1)
	w.flights.Go(func() {
		defer cancel()
		defer func() {
			if crashed := recover(); crashed != nil {
				w.violate("%s panicked: %v\n%s", p.name, crashed, debug.Stack())
				p.kill()
			}
		}()
		result := work(ctx, p)
		w.release(p)
		done <- result
	})
	var sight <-chan time.Time
	if lost > 0 {
		sight = time.After(lost)
	}
	select {
	case result := <-done:
		if p.isDead() {
			return none, errFunction
		}
		return result, nil
	case <-p.dead:
	case <-time.After(limit + killTime): // a function that is still at work is killed
		p.kill()
	case <-w.ctx.Done():
		p.kill()
	case <-sight:
		return none, errFunction
	}
	cancel()
	return none, errFunction
}

// acquire finds an idle instance or starts one, and says whether it is to die at once.
func (w *World) acquire(function string, t task) (p *process, doomed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle[function] = slices.DeleteFunc(w.idle[function], (*process).isDead)
	if free := w.idle[function]; len(free) > 0 {
		p, w.idle[function] = free[0], free[1:]
	} else {
		p = w.newProcess(function)
	}
	p.task = t
	w.invoked[function]++
	return p, w.options.Crash != nil && w.options.Crash(function, w.invoked[function])
}

func (w *World) release(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle[p.function] = append(w.idle[p.function], p)
	slices.SortFunc(w.idle[p.function], func(a, b *process) int { return cmp.Or(len(a.name)-len(b.name), cmp.Compare(a.name, b.name)) })
}

// ids makes values that no other process makes, in the alphabet that the names of report objects take.
func (p *process) ids() func() string {
	n := 0
	began := time.Now().UnixNano()
	return func() string {
		n++
		return fmt.Sprintf("%s-%d-%d", p.name, began, n)
	}
}

func (p *process) store() *dynamostore.Store { return dynamostore.New(p.db, inboxTable) }

// Versions is what a slice asks of the bucket.
type Versions interface {
	Bucket(ctx context.Context, bucket string) (retention.Bucket, error)
	Versioning(ctx context.Context, bucket string) (retention.Versioning, error)
	Marks(ctx context.Context, bucket string, vs []retention.Version, ask retention.Ask) ([]retention.Marks, error)
	Page(ctx context.Context, bucket, prefix string, after retention.Marker) (retention.Page, error)
	Delete(ctx context.Context, bucket string, vs []retention.Version, sendBefore time.Time) ([]retention.Fate, error)
}

// newWorker is the function as the stack ships it, with the report and the tags.
func (w *World) newWorker(p *process) *cleanup.Worker {
	client := s3versions.New(p.bucket, owner, p.now)
	versions := Versions(client)
	if w.options.Versions != nil {
		versions = w.options.Versions(client)
	}
	worker := cleanup.New(p.store(), dynamostore.NewHolds(p.db, holdsTable, slog.New(slog.DiscardHandler)), versions, w.set, p.now, p.ids())
	worker.Jitter = p.jitter
	worker.Reports = s3report.New(p.bucket, reportBucket, owner)
	if w.options.Reports != nil {
		worker.Reports = w.options.Reports(p.bucket, worker.Reports)
	}
	return worker
}

// jitter is low and high in turns, so that both ends of a pause are met and a history can be repeated.
func (p *process) jitter(most time.Duration) time.Duration {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	if p.jitters++; p.jitters%2 == 0 {
		return most - time.Millisecond
	}
	return most / 10
}

// clean is one invocation of the cleanup function.
func (w *World) clean(t task, e events.DynamoDBEvent, lost time.Duration) (events.DynamoDBEventResponse, error) {
	return invoke(w, Cleanup, t, cleanupTime, lost, func(ctx context.Context, p *process) events.DynamoDBEventResponse {
		if p.worker == nil {
			p.worker = w.newWorker(p)
		}
		response, slices := p.worker.Handle(ctx, e)
		w.note(p, slices)
		return response
	})
}

// sweep is one invocation of the sweeper.
func (w *World) sweep() {
	_, _ = invoke(w, Sweeper, task{}, sweeperTime, 0, func(ctx context.Context, p *process) inbox.SweepSummary {
		s := sweeper.New(p.store(), sweeper.Settings{WakeAfter: 2 * time.Minute, Limit: 500, AttemptCeiling: w.set.AttemptCeiling})
		s.Now, s.NewWake = p.now, p.ids()
		return s.Tick(ctx)
	})
}

const (
	signingKey   = "a key of the world's own"
	signingKeyID = "k1"
)

func (w *World) front(p *process) (*webhook.Handler, error) {
	keys, err := keyring.NewStatic(fmt.Sprintf(`{%q:%q}`, signingKeyID, signingKey), signature.Timestamped{})
	if err != nil {
		return nil, err
	}
	commands, err := command.NewDecoder(command.Settings{
		Accepted: []string{command.CleanupRun}, Bucket: Bucket, MinObjectAge: MinObjectAge,
		WarehousePrefixes: []string{"pod/{warehouse_id}/", "labels/{warehouse_id}/"},
	})
	if err != nil {
		return nil, err
	}
	return webhook.New(webhook.Handler{
		Settings: webhook.Settings{
			Path: "/", MaxBodyBytes: 1 << 18, ReplayWindow: 300 * time.Second, AckTimeout: 5 * time.Second,
			Retention: 90 * 24 * time.Hour,
		},
		Scheme: signature.Timestamped{}, Keys: keys, Commands: commands, Store: p.store(), Now: p.now, Wake: p.ids(),
	})
}

// answerTo is one invocation of the webhook.
func (w *World) answerTo(req events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
	return invoke(w, Webhook, task{}, webhookTime, 0, func(ctx context.Context, p *process) events.LambdaFunctionURLResponse {
		h, err := w.front(p)
		if err != nil {
			w.violate("the webhook does not start: %v", err)
			return events.LambdaFunctionURLResponse{StatusCode: 500}
		}
		answer, _ := h.Handle(ctx, req)
		return answer
	})
}
