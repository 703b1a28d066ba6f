package contenders

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"custody/internal/cmd/bench/server"
	"custody/internal/config"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	"custody/internal/localaws/lambda"
)

// ReportBucket is where a report goes; who measures one makes it.
const ReportBucket = "bench-reports"

// The tables of the harness.
const (
	inboxTable = "bench-inbox"
	holdsTable = "bench-holds"
)

// Custody is the cleanup function with settings that differ from those that are shipped.
type Custody struct {
	Name     string
	Binary   string
	Settings map[string]string // by the names of the function's variables
	GCTrace  bool              // the heap is read from what the runtime says about each collection
}

// Lean are the settings of what peers do: no tags are read and no report is written. Holds always are.
func Lean() map[string]string {
	return map[string]string{"CUSTODY_CHECK_TAGS": "false", "CUSTODY_REPORT_BUCKET": config.NoReport}
}

// Reporting is Lean with the report.
func Reporting() map[string]string {
	return map[string]string{"CUSTODY_CHECK_TAGS": "false", "CUSTODY_REPORT_BUCKET": ReportBucket}
}

// Shipped are the settings of a stack that was told nothing but its names.
func Shipped() map[string]string { return map[string]string{"CUSTODY_REPORT_BUCKET": ReportBucket} }

// Contender makes it one.
func (c Custody) Contender() Contender { return Contender{Name: c.Name, Run: c.run} }

// MakeTables makes the tables that Custody needs, once for each server.
func MakeTables(ctx context.Context, s *server.Server) error {
	return localaws.Tables{Inbox: inboxTable, Holds: holdsTable}.Make(ctx, s.Items())
}

// run claims a run, as the webhook would, and then hands the function a record of the claim, as the stream would.
func (c Custody) run(ctx context.Context, j Job) (Outcome, error) {
	store := dynamostore.New(j.Server.Items(), inboxTable)
	run, err := claim(ctx, store, j)
	if err != nil {
		return Outcome{}, err
	}
	watch := newWatch()
	f, err := lambda.NewFunction(lambda.Config{
		Name: "cleanup", Binary: c.Binary, Environment: c.environment(j), Timeout: 300 * time.Second, Memory: 512,
		Concurrency: 1, Output: watch.line, OnStart: watch.started,
	})
	if err != nil {
		return Outcome{}, err
	}
	defer f.Close()
	s := invocations{Function: f, store: store, run: run}
	if err := s.untilDone(ctx); err != nil {
		return Outcome{}, fmt.Errorf("%w; it said: %s", err, watch.last())
	}
	s.outcome.Heap = watch.heap.Load()
	s.outcome.Resident, err = peakResident(watch.pid())
	return s.outcome, err
}

// required are the settings that every function has no default for, or that the template sets for every stack.
func required(s *server.Server, bucket string) map[string]string {
	env := sdkVariables(s)
	maps.Copy(env, map[string]string{
		"CUSTODY_STACK": "bench", "CUSTODY_TABLE": inboxTable, "CUSTODY_HOLDS_TABLE": holdsTable, "CUSTODY_BUCKET": bucket,
		"CUSTODY_BUCKET_OWNER": lambda.Account, "CUSTODY_REPORT_BUCKET_OWNER": lambda.Account, "CUSTODY_DELETE_SCOPES": "*",
	})
	return env
}

func (c Custody) environment(j Job) map[string]string {
	env := required(j.Server, j.Bucket)
	maps.Copy(env, c.Settings)
	if c.GCTrace {
		env["GODEBUG"] = "gctrace=1"
	}
	return env
}

var serial atomic.Int64

func claim(ctx context.Context, store *dynamostore.Store, j Job) (inbox.Run, error) {
	key := inbox.RunKey{Type: "cleanup.run", Key: fmt.Sprintf("bench-%d-%s", serial.Add(1), rand.Text())}
	now := time.Now().UTC().Truncate(time.Millisecond)
	run := inbox.NewRun(key, "warehouse:bench", inbox.Selection{
		Bucket: j.Bucket, Prefixes: []string{j.Prefix}, Cutoff: now.Truncate(time.Second),
	}, "bench", key.Key, now).Start(rand.Text())
	there, err := store.Claim(ctx, inbox.Claim{Run: run, Delivery: inbox.Delivery{
		ID: key.Key, CommandType: key.Type, BodySHA256: "bench", Outcome: inbox.OutcomeAccepted, ReceivedAt: now,
		TTL: now.Add(24 * time.Hour).Unix(), RunKey: key.Key,
	}})
	if err != nil {
		return inbox.Run{}, fmt.Errorf("claim the run: %w", err)
	}
	if there != nil {
		return inbox.Run{}, errors.New("claim the run: its key is taken")
	}
	return run, nil
}

// invocations plays stream and sweeper for one run until it has ended.
type invocations struct {
	*lambda.Function
	store   *dynamostore.Store
	run     inbox.Run
	outcome Outcome
}

// mostSlices bounds a run that never ends.
const mostSlices = 50

func (s *invocations) untilDone(ctx context.Context) error {
	began := time.Now()
	for range mostSlices {
		if err := s.slice(ctx); err != nil {
			return err
		}
		s.outcome.Elapsed = time.Since(began)
		s.outcome.Slices++
		after, err := s.store.Run(ctx, s.run.RunKey())
		switch {
		case err != nil:
			return err
		case after == nil:
			return errors.New("the run's item is gone")
		case after.State == inbox.StateDone:
			return nil
		case after.State != inbox.StatePending:
			return fmt.Errorf("the run is %s: %+v", after.State, after.LastError)
		}
		s.run = *after
		if err := s.wake(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("the run has not ended after %d slices", mostSlices)
}

func (s *invocations) slice(ctx context.Context) error {
	event, err := recordOf(s.run)
	if err != nil {
		return err
	}
	result, err := s.Invoke(ctx, event)
	if err != nil {
		return err
	}
	if result.FunctionError != "" {
		return fmt.Errorf("the function failed: %s", result.Payload)
	}
	return nil
}

// wake does what the sweeper does with a run that was parked, when it is due. A run that yielded carries its wake already.
func (s *invocations) wake(ctx context.Context) error {
	if s.run.Wake != "" {
		return nil
	}
	s.outcome.Parked++
	select {
	case <-time.After(time.Until(s.run.NextAttemptAt)):
	case <-ctx.Done():
		return ctx.Err()
	}
	now := time.Now().UTC()
	woken, err := s.store.Move(ctx, s.run.RunKey(), inbox.Wake(), inbox.Change{Now: now, NewWake: rand.Text(), WakeBefore: now})
	if err != nil {
		return fmt.Errorf("wake the run: %w", err)
	}
	s.run = woken
	return nil
}

// recordOf is the stream's record of a write that left a wake, with what the function reads of one.
func recordOf(run inbox.Run) ([]byte, error) {
	type attribute map[string]string
	pk := run.RunKey().ItemKey()
	return json.Marshal(map[string]any{"Records": []any{map[string]any{
		"eventID": rand.Text(), "eventName": "INSERT", "eventVersion": "1.1", "eventSource": "aws:dynamodb", "awsRegion": server.Region,
		"eventSourceARN": "arn:aws:dynamodb:us-east-1:" + lambda.Account + ":table/" + inboxTable + "/stream/bench",
		"dynamodb": map[string]any{
			"ApproximateCreationDateTime": time.Now().Unix(), "SequenceNumber": "1", "StreamViewType": "NEW_AND_OLD_IMAGES",
			"Keys":     map[string]attribute{"pk": {"S": pk}},
			"NewImage": map[string]attribute{"pk": {"S": pk}, "wake": {"S": run.Wake}, "scope": {"S": run.Scope}},
		},
	}}})
}
