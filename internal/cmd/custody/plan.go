package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"custody/internal/cleanup"
	"custody/internal/command"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/operator"
	"custody/internal/report"
	"custody/internal/retention"
	"custody/internal/s3versions"

	"github.com/spf13/cobra"
)

func newPlan() *cobra.Command {
	flags := planFlags{bucket: bucketFlags{bucketKind: cleanBucket()}}
	cmd := &cobra.Command{
		Use:   "plan --type TYPE ...",
		Short: "Say what a cleanup would delete and keep now, without a delivery and without writing anything",
		Long: `plan goes through the bucket as a run with this scope and cutoff would, decides about each version by the same code,
with the holds, tags and locks as they are now, and says what would go and what stays, and why. It makes no delivery and
no run, and writes nothing anywhere. Versions that are not older than the cutoff are counted too, as young.

It reads every version below the prefixes, and where tags are checked asks S3 for those of each that is expired: for a
million of them that is a million requests, and some ten minutes. The bucket, the holds table and the
settings must be those of the stack; what no flag and no variable says is the template's default.

--json gives one line for each version, in the order in which they are decided. On a terminal, stderr shows meanwhile
how many versions were listed and how fast, unless lines of --json could come between.

Whether a run deletes at all is decided by the stack's DeleteScopes. Under the emergency brake it deletes nothing until
that is lifted; the plan says so and goes on as if it were.

Exit codes: 0 planned; 1 failed, or a run would fail; 2 usage.`,
		Example: `  custody plan --type cleanup.run --warehouse-id wh-17 --expired-before 2026-08-30T00:00:00Z
  custody plan --type listing.expire --listing-id 4821 --expired-at 2026-08-30T00:00:00Z
  custody plan --type cleanup.run --warehouse-id wh-17 --expired-before 2026-08-30T00:00:00Z --json \
      | jq -r 'select(.decision == "delete") | .key'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.plan(cmd) },
	}
	flags.add(cmd)
	return cmd
}

// outline is a plan as it is shown.
type outline struct {
	command.Command
	holdsTable string
	tags       bool
	now        time.Time
	tally      *report.Tally
}

func (f *planFlags) plan(cmd *cobra.Command) error {
	body, err := f.body()
	if err != nil {
		return err
	}
	s, b, err := f.open(cmd.Context())
	if err != nil {
		return err
	}
	c, err := f.command(body, b.name)
	if err != nil {
		return err
	}
	tags, err := f.setting("CUSTODY_CHECK_TAGS")
	if err != nil {
		return err
	}
	o := outline{Command: c, holdsTable: s.subject.name, tags: tags == "true", now: s.Now(), tally: report.NewTally(c.Selection.Prefixes)}
	stops, err := s.warn(cmd.Context(), cmd.ErrOrStderr(), o)
	if err != nil {
		return s.explain(err)
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	var count *counting
	if !f.asJSON || toFile(cmd.OutOrStdout()) {
		count = newCounting(cmd.ErrOrStderr(), "versions listed")
	}
	stopped, err := f.survey(cmd.Context(), s, b, o, count, out)
	if count.clear(); err != nil {
		return errors.Join(out.Flush(), s.explainPlan(b, err))
	}
	if stopped && !stops {
		warn(cmd.ErrOrStderr(), "the emergency brake was put on meanwhile: `custody hold list` shows it")
	}
	if !f.asJSON {
		o.text(sheet{out: out, width: widthOf(cmd.OutOrStdout())})
	}
	return out.Flush()
}

// open connects to the holds table, and finds the name of the bucket.
func (f *planFlags) open(ctx context.Context) (s *session, b bucketName, err error) {
	if f.tables.stack.name() == "" { // else its name is not known yet
		if b, err = f.bucket.bucket(&f.tables); err != nil {
			return nil, b, err
		}
	}
	if s, err = open(ctx, &f.tables, (*tableFlags).holdsTable); err != nil {
		return nil, b, err
	}
	b, err = f.bucket.bucket(&f.tables)
	return s, b, err
}

// survey counts what would become of each version, or says it line by line.
func (f *planFlags) survey(ctx context.Context, s *session, b bucketName, o outline, count *counting, out io.Writer) (stopped bool, err error) {
	holds, ok := s.Holds.(*dynamostore.Holds)
	if !ok {
		return false, errors.New("the holds table is not DynamoDB's")
	}
	settings := cleanup.Settings{CheckTags: o.tags, DeleteConcurrency: planConcurrency}
	versions := countedVersions{s3versions.New(s.connection.objects(), b.owner, s.Now), count}
	return cleanup.NewSurvey(holds, versions, settings, s.Now).Each(ctx, o.Scope, o.Selection, func(v retention.Version, d retention.Decision) error {
		if f.asJSON {
			return safeJSONLine(out, planned(v, d))
		}
		o.tally.Add(dryVersion(v, d))
		return nil
	})
}

// countedVersions counts what is listed, which is a few batches ahead of what is decided.
type countedVersions struct {
	*s3versions.Client
	*counting
}

// Page implements the listing of a survey's bucket.
func (v countedVersions) Page(ctx context.Context, bucket, prefix string, after retention.Marker) (retention.Page, error) {
	page, err := v.Client.Page(ctx, bucket, prefix, after)
	v.add(len(page.Versions))
	return page, err
}

// planConcurrency is how many batches are decided at once; the default of DeleteConcurrency.
const planConcurrency = 4

// warn says what a delivery of the command would meet beside the versions. True: the emergency brake is on.
func (s *session) warn(ctx context.Context, w io.Writer, o outline) (stops bool, err error) {
	cover, err := s.Cover(ctx, inbox.Run{Scope: o.Scope})
	if err != nil {
		return false, err
	}
	for _, row := range cover.Stops {
		warn(w, fmt.Sprintf("the emergency brake is on for %s, %s", scopeWords(row.Scope), oneLine(signed(row, o.now))))
		warn(w, "a run deletes nothing until it is lifted:", oneLine(liftCommand(row)))
	}
	if o.Due.After(o.now) {
		warn(w, fmt.Sprintf("a delivery with this time is not accepted before %s, which MinObjectAge (%s) says; until then further "+
			"versions older than the cutoff may come", stamp(o.Due), settingSource("CUSTODY_MIN_OBJECT_AGE")))
	}
	return len(cover.Stops) > 0, nil
}

func settingSource(variable string) string { return "--" + settingFlag(variable) + " or " + variable }

// explainPlan says what failed and whether a run would fail the same way.
func (s *session) explainPlan(b bucketName, err error) error {
	failed := inbox.CategoryOf(err)
	switch hint := s.connection.bucketHint(b, err); {
	case s.connection.failed():
		err = s.explain(err)
	case hint != "":
		err = fmt.Errorf("%s: %w", hint, err)
	case isA[*inbox.Failure](err) && failed.Permanent():
		err = fmt.Errorf("a run would fail like this: %w; read %s", err, operator.Heading(failed))
	}
	return fmt.Errorf("the plan is not complete: %w", err)
}

// planObject is a version and what would become of it as JSON. The names are kept: scripts stand on them.
type planObject struct {
	versionObject
	Current  bool            `json:"current"`
	Decision report.Decision `json:"decision"`
	Reason   string          `json:"reason,omitempty"`
}

func planned(v retention.Version, d retention.Decision) planObject {
	o := planObject{
		versionObject: versionObject{keyObjectOf(v.Key), v.ID, v.LastModified.UTC(), v.Size, v.DeleteMarker},
		Current:       v.Currency == retention.Current, Decision: report.DecisionKeep, Reason: string(d.Reason),
	}
	if d.Delete {
		o.Decision = report.DecisionDelete
	}
	return o
}

// dryVersion is what the report of a dry run would say.
func dryVersion(v retention.Version, d retention.Decision) report.Version {
	r := report.Version{
		Key: v.Key, Size: v.Size, DeleteMarker: v.DeleteMarker, State: report.StateStays, Decision: report.DecisionKeep, Reason: string(d.Reason),
	}
	if d.Delete {
		r.Decision, r.Fate = report.DecisionDelete, report.FateDryRun
	}
	return r
}

// text is the summary.
func (o outline) text(s sheet) {
	tags := "without tags"
	if o.tags {
		tags = "with tags"
	}
	s.put("Plan", fmt.Sprintf("%s of %s; nothing was written", o.Type, o.Scope))
	s.put("Selection", fmt.Sprintf("versions in bucket %s older than %s, under", o.Selection.Bucket, stamp(o.Selection.Cutoff)))
	for _, p := range o.Selection.Prefixes {
		s.put("", p)
	}
	s.put("Decided", fmt.Sprintf("at %s, by the holds of table %s, %s", stamp(o.now), o.holdsTable, tags))
	all := o.tally.Sum()
	s.put("Versions", sum(all))
	writeWords(s.out, s.width, o.tally.ByWord())
	writePrefixes(s.out, s.width, o.tally.ByPrefix(), all)
}
