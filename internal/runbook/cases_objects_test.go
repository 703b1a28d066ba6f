package runbook_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/report"
	"custody/internal/s3report"
)

// reportCases read a report that has two lines about one key, and plan over a bucket.
func reportCases() map[string]blockCase {
	const chapter = "What was deleted, and why something was kept: the report"
	withRun := func(t *testing.T, s *sandbox) string {
		claim(t, s.inbox, "r-1")
		return s.writeReport(t)
	}
	return map[string]blockCase{
		chapter + ": custody report": {prepare: withRun, check: func(t *testing.T, s *sandbox, out string) {
			says(t, out, "pod/wh-17/a.txt")
			says(t, s.read(t, "r-1.csv"), "pod/wh-17/a.txt")
			says(t, s.read(t, "r-1.html"), "<html", "cleanup.run/r-1")
		}},
		chapter + ": aws s3 cp": {prepare: func(t *testing.T, s *sandbox) string { return s.writeReport(t) }, check: func(t *testing.T, _ *sandbox, out string) {
			says(t, out, `"decision":"delete"`, `"fate":"deleted"`)
			same(t, 2, strings.Count(out, "\n"))
		}},
		"What would be deleted: the plan: custody plan": {prepare: func(t *testing.T, s *sandbox) string {
			_, err := s.objects.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(objectBucket), Key: aws.String("pod/wh-17/a.txt"),
				Body: strings.NewReader("x")})
			if err != nil {
				t.Fatal(err)
			}
			return ""
		}, check: func(t *testing.T, s *sandbox, out string) {
			says(t, s.read(t, "plan.jsonl"), `"key":"pod/wh-17/a.txt"`)
		}},
	}
}

// writeReport puts one version on record, before and behind its deletion.
func (s *sandbox) writeReport(t *testing.T) string {
	t.Helper()
	at := time.Now().UTC()
	header := report.Header{Name: report.Name{CommandType: "cleanup.run", RunKey: "r-1", Slice: 1, LeaseToken: "T", Scan: 1, Batch: 1, Try: 1},
		Scope: wh17, Mode: report.ModeDelete, Bucket: objectBucket, Prefixes: []string{"pod/wh-17/"}, Cutoff: at, HoldsReadAt: at}
	selection := report.Selection{Key: "pod/wh-17/a.txt", VersionID: "v1", LastModified: at.Add(-time.Hour), Size: 1, Decision: report.DecisionDelete, At: at}
	outcome := report.Outcome{Key: selection.Key, VersionID: "v1", Fate: report.FateDeleted, At: at}
	to, encoder := s3report.New(s.objects, reportBucket, ""), new(report.Encoder)
	name, object, err := encoder.Selection(header, slices.Values([]report.Selection{selection}))
	if err == nil {
		err = to.Write(t.Context(), name, object)
	}
	if err != nil {
		t.Fatal(err)
	}
	if name, object, err = encoder.Outcome(header, slices.Values([]report.Outcome{outcome})); err == nil {
		err = to.Write(t.Context(), name, object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ""
}
