package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"custody/internal/config"
	"custody/internal/deployed"
	"custody/internal/operator"
	"custody/internal/report"
	"custody/internal/s3report"

	"github.com/spf13/cobra"
)

// reportBucket is the bucket of the reports, and what reading it takes.
func reportBucket() bucketKind {
	return bucketKind{kind: "report bucket", flag: "report-bucket", variable: "CUSTODY_REPORT_BUCKET", output: deployed.OutputReportBucket,
		mayDo: "s3:ListBucket on it and s3:GetObject on what is in it"}
}

// reportFlags are the flags of `custody report`.
type reportFlags struct {
	tables       tableFlags
	bucket       bucketFlags
	key          string
	csv, js, htm bool
}

func newReport() *cobra.Command {
	flags := reportFlags{bucket: bucketFlags{bucketKind: reportBucket()}}
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Say what a run deleted, what it kept and why, from its report objects",
		Long: `report reads what the run wrote to the report bucket: before each delete request what it selected, and behind it what
S3 answered. The last line about a version counts. Versions that are not older than the cutoff are in no report.
Of a dry run it says what would go.

Without a format it gives a summary by reason and by prefix. --csv and --json give one line for each version, by key;
--html one page to read and to print, for somebody without this tool. With --key each gives the whole history of one
key, line by line. A key that is no UTF-8 is key_base64 in JSON; in CSV, key_base64 has the exact key wherever key had
to be changed for a spreadsheet: control characters, and what it would take for a formula.

"unknown" is a version that may be gone or not: it was selected, and no outcome is on record.

` + runName + `
TYPE/KEY is enough where the run's item has expired, or where there is only the report bucket to read.

Exit codes: 0 reported; 1 failed, also when objects could not be read and what is said is not all; 2 usage;
3 no such run, no report of it, or nothing about the key.`,
		Example: `  custody report r-1
  custody report cleanup.run/r-1 --html > r-1.html
  custody report r-1 --key pod/wh-17/a.txt
  custody report r-1 --json | jq -r 'select(.state == "unknown") | .key'`,
		Args: oneArg("a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return flags.report(cmd, args[0]) },
	}
	flags.tables.addInbox(cmd)
	flags.bucket.add(cmd)
	cmd.Flags().StringVar(&flags.key, "key", "", "the history of this `KEY` alone")
	cmd.Flags().BoolVar(&flags.csv, "csv", false, "comma-separated values instead of text")
	addJSON(cmd, &flags.js)
	cmd.Flags().BoolVar(&flags.htm, "html", false, "one page that needs nothing else, instead of text")
	return cmd
}

// check refuses what cannot be meant.
func (f *reportFlags) check(cmd *cobra.Command) error {
	switch {
	case f.csv && f.js, f.csv && f.htm, f.js && f.htm:
		return usagef("--csv, --json and --html are different answers: give one of them")
	case cmd.Flags().Changed("key") && f.key == "":
		return usagef("--key is empty: give the exact key of an object")
	}
	return nil
}

func (f *reportFlags) report(cmd *cobra.Command, name string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	s, b, err := f.open(cmd.Context(), name)
	if err != nil {
		return err
	}
	of, err := s.FindReported(cmd.Context(), name)
	if err != nil {
		return s.explain(err)
	}
	if b.name == config.NoReport {
		return &operator.NotFoundError{What: "report of " + of.Key.String(),
			LookedUp: []string{fmt.Sprintf("nothing, since the stack writes none: its report bucket is %s (%s)", config.NoReport, b.from)}}
	}
	d := document{Reported: of, bucket: b.name, now: s.Now(), noTable: s.Inbox == nil}
	d.Problem = s.explain(of.Problem)
	reports := s3report.New(s.connection.objects(), b.name, b.owner)
	if f.key != "" {
		return s.connection.explainBucket(b, f.writeKey(cmd, reports, d))
	}
	return s.connection.explainBucket(b, f.writeRun(cmd, reports, d))
}

// open connects to the table where there is one to look into: a full name needs none.
func (f *reportFlags) open(ctx context.Context, name string) (s *session, b bucketName, err error) {
	if f.tables.stack.name() == "" { // else its name is not known yet
		if b, err = f.bucket.bucket(&f.tables); err != nil {
			return nil, b, err
		}
		if t, _ := f.tables.inboxTable(); t.name == "" && operator.IsFullName(name) {
			c, err := connect(ctx)
			return &session{Operator: &operator.Operator{Now: time.Now}, connection: c}, b, err
		}
	}
	if s, err = open(ctx, &f.tables, (*tableFlags).inboxTable); err != nil {
		return nil, b, err
	}
	b, err = f.bucket.bucket(&f.tables)
	return s, b, err
}

// writeRun answers about all versions.
func (f *reportFlags) writeRun(cmd *cobra.Command, reports operator.Reports, d document) error {
	shelf, err := os.CreateTemp("", "custody-report-")
	if err != nil {
		return fmt.Errorf("keep the report for a moment: %w", err)
	}
	if os.Remove(shelf.Name()) != nil { // where open files cannot be removed; elsewhere it is gone with the process, whatever ends that
		defer func() { _ = os.Remove(shelf.Name()) }()
	}
	defer shelf.Close()
	read := countedReports{reports, newCounting(cmd.ErrOrStderr(), "report objects read")}
	d.Audit, err = operator.ReadAudit(cmd.Context(), read, d.Key, shelf)
	if read.clear(); err != nil {
		return err
	}
	if err := d.nothing(); err != nil {
		return err
	}
	versions := d.Versions(cmd.Context())
	return f.finish(cmd, d, func(w io.Writer) error {
		switch {
		case f.csv:
			return writeVersionsCSV(w, versions)
		case f.js:
			return writeVersionsJSON(w, versions)
		}
		count := newCounting(cmd.ErrOrStderr(), "versions counted")
		err := d.count(each(count, versions))
		if count.clear(); err != nil {
			return err
		}
		if f.htm {
			return d.writeHTML(w)
		}
		d.writeText(sheet{out: w, width: widthOf(cmd.OutOrStdout())})
		return nil
	})
}

// writeKey answers about one key.
func (f *reportFlags) writeKey(cmd *cobra.Command, reports operator.Reports, d document) (err error) {
	d.objectKey = f.key
	read := countedReports{reports, newCounting(cmd.ErrOrStderr(), "report objects read")}
	d.Audit, d.history, err = operator.ReadKey(cmd.Context(), read, d.Key, f.key)
	if read.clear(); err != nil {
		return err
	}
	if err := d.nothing(); err != nil {
		return err
	}
	if len(d.history) == 0 && d.LeftOut == 0 {
		return &operator.NotFoundError{What: fmt.Sprintf("line about key %q", f.key), LookedUp: []string{fmt.Sprintf(
			"%d report objects of %s; what is not older than the cutoff, or not below the prefixes, is in no report", d.Objects, d.Key)}}
	}
	return f.finish(cmd, d, func(w io.Writer) error {
		switch {
		case f.csv:
			return writeHistoryCSV(w, d.history)
		case f.js:
			return writeHistoryJSON(w, d.history)
		case f.htm:
			return d.writeHTML(w)
		}
		d.writeKeyText(sheet{out: w, width: widthOf(cmd.OutOrStdout())})
		return nil
	})
}

// countedReports counts the objects that are read.
type countedReports struct {
	operator.Reports
	*counting
}

// Read implements operator.Reports.
func (r countedReports) Read(ctx context.Context, commandType, runKey string) iter.Seq2[report.Stored, error] {
	return each(r.counting, r.Reports.Read(ctx, commandType, runKey))
}

// finish writes the answer, and behind it what it lacks.
func (f *reportFlags) finish(cmd *cobra.Command, d document, write func(io.Writer) error) error {
	out := bufio.NewWriter(cmd.OutOrStdout())
	if err := errors.Join(write(out), out.Flush()); err != nil {
		return fmt.Errorf("write the report, which is not complete now: %w", err)
	}
	return d.lacks(cmd.ErrOrStderr())
}

// nothing is the error of a run without report objects.
func (d document) nothing() error {
	if d.Objects > 0 || d.LeftOut > 0 {
		return nil
	}
	prefix, err := report.Prefix(d.Key.Type, d.Key.Key)
	if err != nil {
		return err
	}
	return &operator.NotFoundError{What: "report of " + d.Key.String(),
		LookedUp: []string{fmt.Sprintf("%s in report bucket %s; %s", prefix, d.bucket, operator.NothingReported(d.Run))}}
}

// lacks says which objects do not count. Those that Custody did not name are no part of the report, and so no failure.
func (d document) lacks(w io.Writer) error {
	for _, name := range d.ForeignNames {
		fmt.Fprintf(w, "custody: warning: %s is no report object and was left aside\n", printable(name))
	}
	for _, problem := range d.Problems {
		fmt.Fprintln(w, printable(problem.Error()))
	}
	if d.LeftOut > 0 {
		return fmt.Errorf("%d of %d report objects could not be read: what is said here is not all", d.LeftOut, d.LeftOut+d.Objects)
	}
	return nil
}
