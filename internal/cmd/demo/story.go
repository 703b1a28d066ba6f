package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	"custody/internal/localaws/lambda"
	"custody/internal/producer"
	"custody/internal/signature"
)

// age of the expired versions; the cutoff lies in the middle between then and now.
const age = 90 * 24 * time.Hour

const runID = "demo-1"

var errUntrue = errors.New("a step was untrue")

// story is one walk through the demo.
type story struct {
	out     io.Writer
	began   time.Time
	clock   clock
	traffic traffic
	lines   lines

	stack    *localaws.Stack
	store    *dynamostore.Store
	producer producer.Sender
	cutoff   time.Time
	written  []version

	mu   sync.Mutex
	pids []int
}

func newStory(out io.Writer) *story {
	now := time.Now()
	return &story{out: out, began: now, cutoff: now.Add(-age / 2).UTC().Truncate(time.Second)}
}

// tell runs the steps and always ends what it started.
func (s *story) tell(ctx context.Context) (err error) {
	if err := s.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end(err)) }()
	for _, step := range []func(context.Context) error{s.fill, s.deliver, s.work, s.account} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// say prints a heading; check prints a step and whether it is true.
func (s *story) say(format string, args ...any) { fmt.Fprintf(s.out, "\n"+format+"\n", args...) }

func (s *story) check(ok bool, format string, args ...any) error {
	mark := "ok "
	if !ok {
		mark = "NO "
	}
	step := fmt.Sprintf(format, args...)
	fmt.Fprintf(s.out, "  %s %s\n", mark, step)
	if !ok {
		return fmt.Errorf("%w: %s; the functions said:\n%s", errUntrue, step, s.lines.tail())
	}
	return nil
}

func (s *story) start(ctx context.Context) (err error) {
	s.say("1. Start the local stack: DynamoDB with streams, S3, and the built functions as processes")
	s.stack, err = localaws.Start(ctx, localaws.Options{
		// One batch at a time, so that the run takes long enough to be killed in its middle.
		Settings: map[string]string{"CUSTODY_DELETE_CONCURRENCY": "1"},
		WrapS3:   s.traffic.wrap,
		Now:      s.clock.now,
		Output:   s.lines.add,
		OnProcess: func(p lambda.Process) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.pids = append(s.pids, p.PID)
		},
	})
	if err != nil {
		return err
	}
	s.store = dynamostore.New(s.stack.DynamoDB(), s.stack.Setting("CUSTODY_TABLE"))
	id, key := s.stack.SigningKey()
	s.producer = producer.Sender{
		Signer: producer.Signer{Scheme: signature.Timestamped{}, Key: signature.NewKey(id, key, time.Time{})},
		URL:    s.stack.URL(), Tries: 1, Within: time.Minute, Patience: 15 * time.Second,
	}
	for _, name := range localaws.FunctionNames() {
		fmt.Fprintf(s.out, "     %-8s process %v\n", name, s.stack.Function(name).Processes())
	}
	return nil
}

// fill puts the versions, with S3's clock set back, and the holds.
func (s *story) fill(ctx context.Context) error {
	s.say("2. Fill a versioned bucket: proof-of-delivery images and shipping labels, some to be kept")
	bucket := s.stack.Setting("CUSTODY_BUCKET")
	if err := localaws.LockBucket(ctx, s.stack.S3(), bucket); err != nil {
		return fmt.Errorf("give bucket %s Object Lock: %w", bucket, err)
	}
	s.clock.setBack(age)
	old, err := put(ctx, s.stack.S3(), bucket, plan())
	if err != nil {
		return err
	}
	s.clock.setBack(0)
	recent, err := put(ctx, s.stack.S3(), bucket, younger())
	if err != nil {
		return err
	}
	s.written = slices.Concat(old, recent)
	for _, hold := range []map[string]string{
		{"scope": "warehouse:" + warehouse, "hold_id": "dispute-991", "prefix": "pod/" + warehouse + "/dispute-991/", "reason": "dispute_evidence"},
		{"scope": "warehouse:" + warehouse, "hold_id": "case-4", "key": "labels/" + warehouse + "/00007.pdf", "reason": "legal_hold"},
	} {
		if err := s.hold(ctx, hold); err != nil {
			return err
		}
	}
	return s.check(len(s.written) >= 5000, "%d versions and delete markers under 2 prefixes; two holds, a tag and two locks; %d versions younger than the cutoff",
		len(s.written), len(recent))
}

func (s *story) hold(ctx context.Context, row map[string]string) error {
	item := map[string]types.AttributeValue{}
	for name, value := range row {
		item[name] = &types.AttributeValueMemberS{Value: value}
	}
	_, err := s.stack.DynamoDB().PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(s.stack.Setting("CUSTODY_HOLDS_TABLE")), Item: item})
	return err
}

var runKey = inbox.RunKey{Type: "cleanup.run", Key: runID}

// deliver pushes the command: once, once again, and with one byte changed.
func (s *story) deliver(ctx context.Context) error {
	s.say("3. Push a signed delivery: clean up warehouse %s, everything that expired before %s", warehouse, s.cutoff.Format(time.DateOnly))
	body := fmt.Appendf(nil, `{"type":"cleanup.run","run_id":%q,"warehouse_id":%q,"expired_before":%q}`, runID, warehouse, s.cutoff.Format(time.RFC3339))
	elsewhere := func(body []byte) []byte { return bytes.Replace(body, []byte(warehouse), []byte("wh-18"), 1) } // one byte is another
	for _, push := range []struct {
		what, id string
		change   func([]byte) []byte
		status   int
		outcome  inbox.Outcome
	}{
		{"the delivery", "d-1", nil, http.StatusNoContent, "accepted"},
		{"the same delivery again", "d-1", nil, http.StatusNoContent, "already_processed"},
		{"the same command under another delivery id", "d-2", nil, http.StatusNoContent, "already_processed"},
		{"a delivery whose bytes were changed on the way", "d-3", elsewhere, http.StatusUnauthorized, "rejected"},
	} {
		s.producer.Change = push.change
		r, err := s.producer.Send(ctx, producer.Delivery{ID: push.id, Body: body})
		if err != nil {
			return err
		}
		if err := s.check(r.Status == push.status && r.Outcome == push.outcome, "%s: %s", push.what, r.Try); err != nil {
			return err
		}
	}
	runs, err := s.openRuns(ctx)
	if err != nil {
		return err
	}
	return s.check(runs == 1, "%d run in the inbox", runs)
}

func (s *story) openRuns(ctx context.Context) (int, error) {
	n := 0
	for _, err := range s.store.Rows(ctx, inbox.StatePending.OpenIndex()) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// goes counts the versions that must go.
func (s *story) goes() int64 {
	n := int64(0)
	for _, v := range s.written {
		if v.kept == "" {
			n++
		}
	}
	return n
}

// end stops the stack and looks for what it may have left behind.
func (s *story) end(failed error) error {
	if err := s.stack.Close(); err != nil {
		return err
	}
	if failed != nil {
		return nil
	}
	s.say("6. Stop the stack")
	s.mu.Lock()
	defer s.mu.Unlock()
	var alive []int
	for _, pid := range s.pids {
		if p, err := os.FindProcess(pid); err == nil && p.Signal(syscall.Signal(0)) == nil {
			alive = append(alive, pid)
		}
	}
	if err := s.check(len(alive) == 0, "none of its %d processes is left", len(s.pids)); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "\nEvery step was true, in %s.\n", time.Since(s.began).Round(100*time.Millisecond))
	return nil
}
