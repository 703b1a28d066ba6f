package main_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/localaws"
	locals3 "custody/internal/localaws/s3"
	"custody/internal/localaws/steady"
	"custody/internal/report"
	"custody/internal/s3report"
)

// buckets are the tables of a stack and, beside them, a local S3 with its two buckets.
type buckets struct {
	*tables
	s3 *s3.Client
}

func newBuckets(t *testing.T, now func() time.Time) *buckets {
	t.Helper()
	return newBucketsBehind(t, now, func(engine http.Handler) http.Handler { return engine })
}

func newBucketsBehind(t *testing.T, now func() time.Time, gate func(http.Handler) http.Handler) *buckets {
	t.Helper()
	engine := locals3.New(locals3.Options{Now: now})
	server := httptest.NewServer(gate(engine))
	t.Cleanup(server.Close)
	b := &buckets{tables: newTables(t)}
	direct := httptest.NewServer(engine)
	t.Cleanup(direct.Close)
	b.s3 = s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: &direct.URL, UsePathStyle: true, HTTPClient: steady.Client{},
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	b.env["AWS_ENDPOINT_URL_S3"], b.env["CUSTODY_REPORT_BUCKET"], b.env["CUSTODY_BUCKET"] = server.URL, "reports", "objects"
	for _, name := range []string{"reports", "objects"} {
		if err := localaws.MakeBucket(t.Context(), b.s3, name); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// day is when the reports of these tests were written.
var day = time.Date(2026, 8, 30, 12, 0, 0, 0, time.UTC)

// headerOf is what the objects of a run's nth batch have in common.
func headerOf(run string, mode report.Mode, batch int) report.Header {
	return report.Header{
		Name:  report.Name{CommandType: "cleanup.run", RunKey: run, Slice: 1, LeaseToken: "T", Scan: 1, Batch: batch, Try: 1},
		Scope: "warehouse:wh-17", Mode: mode, Bucket: "objects", Prefixes: []string{"pod/wh-17/", "labels/wh-17/"},
		Cutoff: day.Add(-24 * time.Hour), HoldsReadAt: day,
	}
}

func (b *buckets) write(t *testing.T, name string, data []byte, err error) {
	t.Helper()
	if err == nil {
		err = s3report.New(b.s3, "reports", "").Write(context.WithoutCancel(t.Context()), name, data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (b *buckets) selected(t *testing.T, h report.Header, lines ...report.Selection) {
	t.Helper()
	name, data, err := new(report.Encoder).Selection(h, slices.Values(lines))
	b.write(t, name, data, err)
}

func (b *buckets) answered(t *testing.T, h report.Header, lines ...report.Outcome) {
	t.Helper()
	name, data, err := new(report.Encoder).Outcome(h, slices.Values(lines))
	b.write(t, name, data, err)
}

// of is the line of a version that was selected, or kept for the reason.
func of(key, reason string) report.Selection {
	s := report.Selection{Key: key, VersionID: "v1", LastModified: day.Add(-48 * time.Hour), Size: 1500, Decision: report.DecisionDelete, At: day}
	if reason != "" {
		s.Decision, s.Reason = report.DecisionKeep, reason
	}
	return s
}

func became(key string, fate report.Fate, code string) report.Outcome {
	return report.Outcome{Key: key, VersionID: "v1", Fate: fate, Code: code, At: day.Add(time.Second)}
}

// oddKeys steer terminals, break lines, are markup, or are taken for formulas by spreadsheets.
func oddKeys() []string {
	return []string{
		"=1+1", "+1", "-1", "@SUM(1)", " =1", "\uff1d1", "\tx", "pod/wh-17/a\nb", "pod/wh-17/\x1b[2J", "pod/wh-17/\u009b2J", "pod/wh-17/\u202egpj",
		`pod/wh-17/"q",;'`, "pod/wh-17/<script>alert(1)</script>", "pod/wh-17/é \U0001f600 \U000e0001", "pod/wh-17/\xff\xfe", "pod/wh-17/a & b",
	}
}

// report writes what a run of three batches wrote, of which the last one died in the middle.
func (b *buckets) report(t *testing.T, run string) {
	t.Helper()
	h := headerOf(run, report.ModeDelete, 1)
	marker := of("pod/wh-17/b", "")
	marker.DeleteMarker, marker.Size = true, 0
	b.selected(t, h, of("pod/wh-17/a", ""), marker, of("pod/wh-17/held", "legal_hold"), of("pod/wh-17/refused", ""))
	b.answered(t, h, became("pod/wh-17/a", report.FateDeleted, ""), became("pod/wh-17/b", report.FateAbsent, ""),
		became("pod/wh-17/refused", report.FateRefused, "AccessDenied"))
	h.Batch, h.Scan = 2, 2
	again := of("pod/wh-17/refused", "tag")
	again.At = day.Add(time.Minute)
	b.selected(t, h, again, of("labels/wh-17/lost", ""))
}

// iso is a time as JSON has it.
func iso(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
