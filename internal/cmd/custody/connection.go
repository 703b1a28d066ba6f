package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"custody/internal/command"
	"custody/internal/dynamostore"
	"custody/internal/operator"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
)

// connection is the way to the tables of a stack. It remembers how each table failed last, to say it in words: the store hands
// out no vendor's errors.
type connection struct {
	aws    aws.Config
	tables []*watched
}

// watched is a table and the last failure of a call to it.
type watched struct {
	table
	mu       sync.Mutex
	failed   error
	failures int
}

// connect finds region and credentials by AWS's standard environment.
func connect(ctx context.Context) (*connection, error) {
	// What the SDK logs stands in the error as well, or is about a call that nobody waits for any more.
	cfg, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithLogger(logging.Nop{}))
	if missing, ok := errors.AsType[awsconfig.SharedConfigProfileNotExistError](err); ok {
		return nil, fmt.Errorf("AWS_PROFILE names the profile %q, which the AWS configuration does not have: `aws configure list-profiles` lists what it has", missing.Profile)
	}
	if err != nil {
		return nil, fmt.Errorf("read the AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return nil, errors.New("no AWS region: set AWS_REGION, or AWS_PROFILE to a profile that has one")
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: %w", err)
	}
	if cfg.HTTPClient == nil { // it is set only where the environment asks for something special, such as AWS_CA_BUNDLE
		cfg.HTTPClient = awshttp.NewBuildableClient()
	}
	cfg.HTTPClient = wholeBodies{cfg.HTTPClient}
	return &connection{aws: cfg}, nil
}

// wholeBodies sends each body from memory; they are a few kilobytes. The SDK closes a request's body as soon as the answer's
// headers are there, and a local stack answers so fast that net/http may then take the connection for broken, in the middle of
// the answer: a move would be made and its answer lost.
type wholeBodies struct{ aws.HTTPClient }

func (c wholeBodies) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return c.HTTPClient.Do(r)
}

// client is a client of one table.
func (c *connection) client(t table) *dynamodb.Client {
	w := &watched{table: t}
	c.tables = append(c.tables, w)
	return dynamodb.NewFromConfig(c.aws, func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			// In front of everything: what comes back has been through all the repetitions.
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("RememberFailure", w.remember), middleware.Before)
		})
	})
}

func (w *watched) remember(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	before := w.failedSoFar()
	out, metadata, err := next.HandleInitialize(ctx, in)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failures != before { // one of those at the same time has failed: this one was broken off for that, or says nothing about it
		return out, metadata, err
	}
	if w.failed = err; err != nil {
		w.failures++
	}
	return out, metadata, err
}

func (w *watched) failedSoFar() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failures
}

// session is one command's work with a stack.
type session struct {
	*operator.Operator
	connection *connection
	subject    table // where the command looks things up
}

// open connects to the tables. The first of those that the command needs is the one where it looks things up; a table that is
// not needed may be without a name, and its part of the operator is nil then.
func open(ctx context.Context, f *tableFlags, needed ...whichTable) (*session, error) {
	if f.stack.name() == "" { // else the names are not known yet
		if _, err := f.tables(needed); err != nil {
			return nil, err
		}
	}
	c, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.stack.load(ctx, c); err != nil {
		return nil, err
	}
	tables, err := f.tables(needed)
	if err != nil {
		return nil, err
	}
	keep, err := f.stack.keepDismissed()
	if err != nil {
		return nil, err
	}
	o := &operator.Operator{Types: command.RunTypes(), Retention: keep, Now: time.Now, NewID: rand.Text}
	if t, _ := f.inboxTable(); t.name != "" {
		o.Inbox = dynamostore.New(c.client(t), t.name)
	}
	if t, _ := f.holdsTable(); t.name != "" {
		o.Holds = dynamostore.NewHolds(c.client(t), t.name, slog.New(slog.DiscardHandler)) // rows say their problems themselves
	}
	return &session{Operator: o, connection: c, subject: tables[0]}, nil
}

// tables are those that a command needs, each with a name.
func (f *tableFlags) tables(needed []whichTable) ([]table, error) {
	all := make([]table, len(needed))
	for i, which := range needed {
		t, err := which(f)
		if err == nil {
			err = t.check()
		}
		if err != nil {
			return nil, err
		}
		all[i] = t
	}
	return all, nil
}

// explain adds to an error where something was not found, and what to set or to look at where a call failed.
func (s *session) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case isA[*operator.NotFoundError](err):
		return fmt.Errorf("%w (table %s, region %s)", err, s.subject.name, s.connection.aws.Region)
	case codeOf(err) != exitFailed:
		return err
	}
	return s.connection.explain(err)
}

func (c *connection) explain(err error) error {
	for _, w := range c.tables {
		if hint := c.hint(w.table, w.failure()); hint != "" {
			return fmt.Errorf("%s: %w", hint, err)
		}
	}
	return err
}

func (w *watched) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

func (c *connection) hint(t table, failed error) string {
	if failed == nil || errors.Is(failed, context.Canceled) {
		return ""
	}
	api, answered := errors.AsType[smithy.APIError](failed)
	if !answered {
		if endpoint := os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"); endpoint != "" {
			return fmt.Sprintf("no answer from DynamoDB at %s, which AWS_ENDPOINT_URL_DYNAMODB names; is that stack still there?", endpoint)
		}
		return fmt.Sprintf("no answer from DynamoDB in region %s, which AWS_REGION or AWS_PROFILE names", c.aws.Region)
	}
	switch api.ErrorCode() {
	case "ResourceNotFoundException":
		return fmt.Sprintf("there is no table %s in region %s; %s, AWS_REGION and AWS_PROFILE say where", t.name, c.aws.Region, t.from)
	case "ValidationException":
		return fmt.Sprintf("table %s has not the keys or the index of this kind of table; %s", t.name, t.from)
	case "AccessDeniedException":
		return fmt.Sprintf("the AWS credentials may not do this with table %s; AWS_PROFILE chooses others", t.name)
	case "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "MissingAuthenticationTokenException",
		"IncompleteSignatureException":
		return "AWS does not take the credentials; AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY choose others"
	}
	return ""
}
