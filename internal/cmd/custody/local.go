package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"custody/internal/localaws"
	"custody/internal/localaws/lambda"

	"github.com/spf13/cobra"
)

// localFlags are the flags of `custody local`.
type localFlags struct {
	port     int
	listen   string
	settings []string
	envFile  string

	dynamodb, s3, lambda string
	samEnv               string
}

func newLocal(i *interrupts) *cobra.Command {
	var flags localFlags
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Run the whole stack on this machine: DynamoDB, S3 and the functions as processes",
		Long: `local runs the whole stack on this machine until Ctrl-C: a DynamoDB with streams, an S3 with versioning, and the built
functions as processes behind a function URL, the stream mapping and the schedule. It needs no AWS account and no
Docker. Nothing is kept: with its end, the data, the processes and the env file are gone. Within the module it builds
the functions; elsewhere it takes those beside itself, as make build leaves them.

Each part can be another one. --dynamodb and --s3 take the endpoint of another engine, in which what is missing is made
and nothing is removed. --lambda calls the functions through an Invoke endpoint instead of starting processes, so that
sam local, which has neither function URLs nor stream mappings nor schedules, becomes a whole: --sam-env writes the
variables that it hands to the containers, and local waits until it answers.

Settings that differ from a deployed stack's defaults: CUSTODY_MIN_OBJECT_AGE=0s, CUSTODY_DELETE_SCOPES=*, every
command type in CUSTODY_COMMANDS, CUSTODY_WAKE_AFTER=2s, a report bucket, a sweep every 2 s.

The functions' log lines go to stderr, and so does what is written to the operator log; everything else to stdout.`,
		Example: `  custody local --env-file local.env
  . ./local.env                  # in another shell: the AWS CLI, SDKs and curl reach the stack
  custody local --port 8080 --set CUSTODY_RECORD_ONLY=true --set CUSTODY_REPLAY_WINDOW=1h
  custody local --dynamodb http://127.0.0.1:8000
  custody local --listen 0.0.0.0 --sam-env sam.json --lambda http://127.0.0.1:3001`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runLocal(cmd.Context(), flags, i, &console{out: cmd.OutOrStdout(), log: cmd.ErrOrStderr()})
		},
	}
	f := cmd.Flags()
	f.IntVar(&flags.port, "port", 0, "function URL at `N`, DynamoDB at N+1, S3 at N+2, Lambda at N+3, CloudWatch Logs at N+4 (default: free ports)")
	f.StringVar(&flags.listen, "listen", "127.0.0.1", "`ADDR`ess to listen on, such as 0.0.0.0 for containers")
	f.StringArrayVar(&flags.settings, "set", nil, "a setting of the functions, `CUSTODY_NAME=VALUE`; repeatable")
	f.StringVar(&flags.dynamodb, "dynamodb", "", "use the DynamoDB at this `URL`, such as DynamoDB Local, with its streams")
	f.StringVar(&flags.s3, "s3", "", "use the S3 at this `URL`")
	f.StringVar(&flags.lambda, "lambda", "", "invoke the functions through the Invoke endpoint at this `URL`, such as sam local start-lambda")
	f.StringVar(&flags.samEnv, "sam-env", "", "write the functions' variables to `PATH` for sam local … --env-vars; removed at the end")
	f.StringVar(&flags.envFile, "env-file", "", "write the stack's variables to `PATH` when everything is ready; removed at the end")
	return cmd
}

// runLocal is done when ctx is: an interrupted stack is no failed one.
func runLocal(ctx context.Context, flags localFlags, i *interrupts, c *console) error {
	settings, err := parseSettings(flags.settings)
	if err != nil {
		return err
	}
	stack, err := localaws.Start(ctx, localaws.Options{
		Settings: settings, Port: flags.port, Listen: flags.listen,
		DynamoDB: flags.dynamodb, S3: flags.s3, Lambda: flags.lambda, SAMEnv: flags.samEnv,
		OnWait: func() { c.waiting(flags) }, Output: c.line, OnProcess: c.process, OnOperation: c.operation,
		OnDeadLetter: c.deadLetter, OnError: c.problem,
	})
	switch {
	case errors.Is(err, errInterrupted):
		return nil
	case err != nil:
		return usageOf(err)
	}
	i.onAbort(stack.Abort)
	return errors.Join(serveLocal(ctx, stack, flags.envFile, i, c), stack.Close())
}

// serveLocal shows the stack and waits for its end.
func serveLocal(ctx context.Context, stack *localaws.Stack, envFile string, i *interrupts, c *console) error {
	c.show(stack)
	if envFile == "" {
		c.say("ready; Ctrl-C ends it")
		<-ctx.Done()
		return nil
	}
	file, err := localaws.WriteEnvFile(envFile, stack.Env())
	if err != nil {
		return err
	}
	i.onAbort(func() { _ = file.Remove() })
	c.say("ready; `. %s` in another shell, Ctrl-C ends it", sourceable(envFile))
	<-ctx.Done()
	return file.Remove()
}

// sourceable is a path that the shell's dot takes for a file and does not look for in PATH.
func sourceable(path string) string {
	if strings.Contains(path, "/") {
		return path
	}
	return "./" + path
}

func parseSettings(pairs []string) (map[string]string, error) {
	settings := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		name, value, found := strings.Cut(pair, "=")
		if !found {
			return nil, usagef("--set %s: must be CUSTODY_NAME=VALUE", pair)
		}
		if _, twice := settings[name]; twice {
			return nil, usagef("--set %s: is given twice", name)
		}
		settings[name] = value
	}
	return settings, nil
}

// usageOf marks what is the command line's fault.
func usageOf(err error) error {
	if _, invalid := errors.AsType[*localaws.InvalidOptionsError](err); invalid {
		return &usageError{err}
	}
	return err
}

// console writes what several parts say at once, a line at a time.
type console struct {
	mu       sync.Mutex
	out, log io.Writer
}

func (c *console) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(c.out, format+"\n", args...)
}

func (c *console) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(c.log, format+"\n", args...)
}

// waiting says what to start now. A variable file is named as it was given.
func (c *console) waiting(flags localFlags) {
	if flags.samEnv == "" {
		c.say("waiting for %s", flags.lambda)
		return
	}
	c.say("waiting for %s; in another shell: sam local start-lambda --env-vars %s --add-host host.docker.internal:host-gateway",
		flags.lambda, flags.samEnv)
}

func (c *console) process(p lambda.Process) { c.say("%-13s process %d", p.Function, p.PID) }

func (c *console) line(p lambda.Process, line string) { c.note("%s %d | %s", p.Function, p.PID, line) }

func (c *console) operation(line string) { c.note("operator | %s", line) }

func (c *console) problem(err error) { c.note("local | %v", err) }

func (c *console) deadLetter(d lambda.DeadLetter) {
	c.note("local | dead letter: %s after %d invocations, record %s", d.RequestContext.Condition,
		d.RequestContext.ApproximateInvokeCount, d.DDBStreamBatchInfo.StartSequenceNumber)
}

// show prints what is where.
func (c *console) show(stack *localaws.Stack) {
	for _, row := range [][2]string{
		{"function URL", stack.URL()},
		{"DynamoDB", stack.DynamoDBURL()},
		{"S3", stack.S3URL()},
		{"Lambda", stack.LambdaURL()},
		{"operator log", stack.LogsURL()},
		{"inbox table", stack.Setting("CUSTODY_TABLE")},
		{"holds table", stack.Setting("CUSTODY_HOLDS_TABLE")},
		{"bucket", stack.Setting("CUSTODY_BUCKET")},
		{"report bucket", stack.Setting("CUSTODY_REPORT_BUCKET")},
		{"signing key id", keyID(stack)},
	} {
		c.say("%-14s %s", row[0], row[1])
	}
}

func keyID(stack *localaws.Stack) string {
	id, _ := stack.SigningKey()
	return id
}
