package dynamodb_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"custody/internal/localaws/dynamodb"
	"custody/internal/localaws/steady"
)

// The suite says what Custody relies on, as checks that run through the real SDK. Without further ado they run against the
// local engine; with these set, against whatever answers there.
const (
	endpointVariable = "CUSTODY_TEST_DYNAMODB_ENDPOINT"
	engineVariable   = "CUSTODY_TEST_DYNAMODB_ENGINE" // its name in the table of known differences; "aws" uses the usual credentials
)

// remotePatience bounds how long a remote engine may take to show a table, an index row or a stream record. Nothing waits
// for the local engine.
const remotePatience = 2 * time.Minute

// check is one promise. It takes a testing.TB so that a known difference can be run and its failure be told from a pass.
type check struct {
	promise string
	run     func(t testing.TB, at *endpoint)
}

// endpoint is the engine under test.
type endpoint struct {
	items   *sdk.Client
	streams *dynamodbstreams.Client
	engine  *dynamodb.Engine // nil for a remote one
	clock   *clock           // the local engine's
	url     string
}

// clock is a settable time.
type clock struct{ nanos atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(0, c.nanos.Load()) }

func (c *clock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

// suite lists every check, by the name of the test that runs it.
func suite() map[string][]check {
	return map[string][]check{
		"conditions":   slices.Concat(conditionChecks(), refusalChecks()),
		"updates":      slices.Concat(updateChecks(), returnChecks()),
		"numbers":      numberChecks(),
		"transactions": transactionChecks(),
		"index":        slices.Concat(indexChecks(), sortKeyChecks()),
		"pages":        pageChecks(),
		"streams":      streamChecks(),
		"tables":       slices.Concat(tableChecks(), timeToLiveChecks()),
		"batches":      batchChecks(),
		"validation":   validationChecks(),
	}
}

func TestProtocol(t *testing.T) {
	t.Parallel()
	for subject, checks := range suite() {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			for _, c := range checks {
				t.Run(c.promise, func(t *testing.T) {
					t.Parallel()
					perform(t, c)
				})
			}
		})
	}
}

// perform runs a check, or runs a known difference and reports it as skipped. A known difference that is none any more fails.
func perform(t *testing.T, c check) {
	at := connect(t)
	engine := os.Getenv(engineVariable)
	known, listed := differences(engine)[c.promise]
	if at.engine != nil || !listed {
		c.run(t, at)
		return
	}
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(r, at)
	}()
	<-done
	if r.Failed() {
		t.Skipf("known difference of %s: %s (source: %s); seen now: %s", engine, known.what, known.source, r.said)
	}
	t.Errorf("listed as a known difference of %s (%s), but the check passes: take it off the list", engine, known.what)
}

// recorder is a testing.TB that notes a failure instead of failing.
type recorder struct {
	testing.TB
	failed bool
	said   []string
}

func (r *recorder) note(s string) { r.failed, r.said = true, append(r.said, s) }

func (r *recorder) Failed() bool                      { return r.failed }
func (r *recorder) Fail()                             { r.failed = true }
func (r *recorder) FailNow()                          { r.failed = true; runtime.Goexit() }
func (r *recorder) Error(args ...any)                 { r.note(fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.note(fmt.Sprintf(format, args...)) }
func (r *recorder) Fatal(args ...any)                 { r.note(fmt.Sprint(args...)); runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) {
	r.note(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// connect gives each check an engine of its own, or clients for the remote one.
func connect(t *testing.T) *endpoint {
	t.Helper()
	if url := os.Getenv(endpointVariable); url != "" {
		return dial(t, url)
	}
	c := &clock{}
	c.nanos.Store(time.Now().UnixNano())
	engine := dynamodb.New(dynamodb.Options{Now: c.now})
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	at := dial(t, server.URL)
	at.engine, at.clock = engine, c
	return at
}

func dial(t *testing.T, url string) *endpoint {
	t.Helper()
	cfg := aws.Config{Region: "us-east-1", HTTPClient: steady.Client{}, Credentials: credentials.NewStaticCredentialsProvider("AKIALOCAL", "local", "")}
	if os.Getenv(engineVariable) == "aws" {
		var err error
		if cfg, err = config.LoadDefaultConfig(t.Context()); err != nil {
			t.Fatal(err)
		}
	} else {
		cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} } // a repeated call could hide a wrong answer
	}
	at := &endpoint{url: url}
	at.items = sdk.NewFromConfig(cfg, func(o *sdk.Options) { o.BaseEndpoint = &url })
	at.streams = dynamodbstreams.NewFromConfig(cfg, func(o *dynamodbstreams.Options) {
		if os.Getenv(engineVariable) != "aws" { // there the streams have a host of their own
			o.BaseEndpoint = &url
		}
	})
	return at
}

// settles asks until the answer is yes: once of the local engine, which is never behind, and within the patience of others.
func (at *endpoint) settles(ctx context.Context, yes func() bool) bool {
	if at.engine != nil {
		return yes()
	}
	ctx, cancel := context.WithTimeout(ctx, remotePatience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}
