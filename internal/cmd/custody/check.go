package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"time"

	"custody/internal/operator"

	"github.com/spf13/cobra"
)

// checkFlags are the flags of `custody check`.
type checkFlags struct {
	tables  tableFlags
	who     whoFlag
	url     string
	keyFile string
	within  time.Duration
	asJSON  bool
}

func newCheck() *cobra.Command {
	var flags checkFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "After a deployment: try the stack from the delivery to the delete, and say what works",
		Long: `check finds out in a minute or so whether a stack works, by using it, at any stage of a rollout:

  stack        its outputs can be read, and are those of this tool's version
  bucket       versioning is enabled, and MFA delete off
  signing key  it can be read, and the scheme can use it
  delivery     a signed delivery of the reserved warehouse custody-check is accepted
  duplicate    the same again is already processed
  forgery      a body that was changed behind its signature is refused with 401
  run          the run gets to its end; it is always a dry run, whatever DeleteScopes says
  canary       two versions and a delete marker below custody-check/, which check puts itself, are deleted by version id
               with the cleanup function's own role: no dry run can prove that it may
  report       the report says so
  sweeper      a sweep was published in the last five minutes
  alarms       none is on; those without data are named

It leaves a run that ends by itself, its delivery, and the canary's report. Without --stack the names come from the
environment, as a local stack's env file sets them, and what is not there is skipped. With --stack the key comes from the
stack's secret, unless --key-file has it.

The AWS credentials need cloudformation:DescribeStacks and ListStackResources, cloudwatch:DescribeAlarms and
GetMetricStatistics, secretsmanager:GetSecretValue, dynamodb:GetItem, lambda:InvokeFunction, on the bucket
s3:GetBucketVersioning, GetBucketObjectLockConfiguration, ListBucketVersions, and on custody-check/* PutObject and
DeleteObject, on the report bucket s3:ListBucket and GetObject. What is missing is named by the stage that needs it.

Exit codes: 0 every stage is ok or skipped, 1 one failed, 2 usage, 3 no such stack.`,
		Example: `  custody check
  custody check --stack custody --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.check(cmd) },
	}
	f := cmd.Flags()
	flags.tables.addInbox(cmd)
	flags.who.add(cmd)
	f.StringVar(&flags.url, "url", "", "`URL` of the stack's webhook, path included (default: the stack's, else "+urlVariable+")")
	f.StringVar(&flags.keyFile, "key-file", "", "`FILE` with the signing key (default: the stack's secret, else the key in "+keyVariable+")")
	f.DurationVar(&flags.within, "within", 2*time.Minute, "wait this `TIME` for the run, and for a sweep")
	addJSON(cmd, &flags.asJSON)
	return cmd
}

func (f *checkFlags) check(cmd *cobra.Command) error {
	if f.within <= 0 {
		return usagef("--within must be above 0s")
	}
	by, err := f.who.who()
	if err != nil {
		return err
	}
	began := time.Now()
	s, err := open(cmd.Context(), &f.tables, (*tableFlags).inboxTable)
	if err != nil {
		return err
	}
	stackRead := time.Since(began)
	c, err := f.parts(s)
	if err != nil {
		return err
	}
	c.By, c.ID, c.Began, c.Within = by, checkID(began), began, f.within
	results, err := c.Run(cmd.Context(), func(r operator.StageResult) {
		if r.Stage == operator.StageStack && r.Verdict == operator.VerdictOK {
			r.Took = stackRead // it was read before the stages, since its outputs name what they look at
		}
		_ = writeStage(cmd.OutOrStdout(), r, f.asJSON)
	})
	if err != nil {
		return fmt.Errorf("%w, before the check was over; run %s may be open, and canaries lie below custody-check/", err, c.ID)
	}
	return verdictOn(results)
}

// checkID names the check, and its run, delivery and canary: by the time for people, by chance for two at once.
func checkID(at time.Time) string {
	return "check-" + at.UTC().Format("20060102-150405") + "-" + strings.ToLower(rand.Text()[:10])
}

// stageLine is one stage as JSON. The names are kept: scripts stand on them.
type stageLine struct {
	Stage   string `json:"stage"`
	Verdict string `json:"verdict"` // ok, failed or skipped
	TookMS  int64  `json:"took_ms"`
	Says    string `json:"says"`
}

func writeStage(w io.Writer, r operator.StageResult, asJSON bool) error {
	if asJSON {
		return jsonLine(w, stageLine{r.Stage, strings.ToLower(string(r.Verdict)), r.Took.Milliseconds(), r.Says})
	}
	const label, verdict, took = 11, 7, 6 // the longest of each
	head := fmt.Sprintf("%-*s  %-*s  %*s  ", label, r.Stage, verdict, r.Verdict, took, tenths(r.Took))
	for _, line := range wrap(printable(r.Says), max(widthOf(w)-len(head), narrowest/2)) {
		fmt.Fprintf(w, "%s%s\n", head, line)
		head = strings.Repeat(" ", len(head))
	}
	return nil
}

// tenths is a time with one decimal, which is enough for a person.
func tenths(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// verdictOn sums up.
func verdictOn(results []operator.StageResult) error {
	var failed []string
	for _, r := range results {
		if r.Verdict == operator.VerdictFailed {
			failed = append(failed, r.Stage)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d stages failed: %s", len(failed), len(results), strings.Join(failed, ", "))
}

// stackStage says what was read, which happened before the stages.
func (f *checkFlags) stackStage() func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		stack := f.tables.stack.read
		version := "without a version"
		if stack.Version() != "" {
			version = "Custody " + stack.Version()
		}
		return fmt.Sprintf("%s is %s, %s", stack.Name, stack.Status, version), nil
	}
}
