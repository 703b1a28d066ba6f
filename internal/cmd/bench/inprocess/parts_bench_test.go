package inprocess_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/cmd/bench/inprocess"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/report"
	"custody/internal/retention"
	"custody/internal/s3versions"
	"custody/internal/sweeper"
)

// canned answers every request with the same body at once: what is measured is what an adapter and the SDK do with it.
type canned struct{ body string }

// Do reads the request to its end, as the wire would.
func (c canned) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(c.body)), ContentLength: int64(len(c.body)),
	}, nil
}

func versionsOver(answer string) *s3versions.Client {
	endpoint := "http://local"
	return s3versions.New(s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, UsePathStyle: true, HTTPClient: canned{answer},
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}), "", time.Now)
}

func storeOver(answer string) *dynamostore.Store {
	endpoint := "http://local"
	return dynamostore.New(dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, HTTPClient: canned{answer},
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}), "inbox")
}

func aPage(b *testing.B) []retention.Version {
	b.Helper()
	page, err := (&inprocess.Paper{Versions: 1000, PerKey: 3, Modified: time.Now().Add(-48 * time.Hour)}).Page(b.Context(), "", "pod/wh-17/2026/08/30/parcel-", retention.Marker{})
	if err != nil {
		b.Fatal(err)
	}
	return page.Versions
}

func perVersion(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/version")
}

func BenchmarkListPageOf1000(b *testing.B) {
	var body strings.Builder
	body.WriteString("<ListVersionsResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>")
	for _, v := range aPage(b) {
		fmt.Fprintf(&body, `<Version><Key>%s</Key><VersionId>%s</VersionId><IsLatest>%t</IsLatest><LastModified>2026-01-02T03:04:05.000Z</LastModified>`+
			`<ETag>&quot;0cc175b9c0f1b6a831c399e269772661&quot;</ETag><Size>1</Size><Owner><ID>75aa57f09aa0c8caeab4f8c24e99d10f8e7faeebf76c078efc7c6caea54ba06a</ID></Owner>`+
			`<StorageClass>STANDARD</StorageClass></Version>`, v.Key, v.ID, v.Currency == retention.Current)
	}
	body.WriteString("</ListVersionsResult>")
	client := versionsOver(body.String())
	b.SetBytes(int64(body.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if page, err := client.Page(b.Context(), "objects", "pod/", retention.Marker{}); err != nil || len(page.Versions) != 1000 {
			b.Fatal(len(page.Versions), err)
		}
	}
	perVersion(b)
}

func BenchmarkDeleteOf1000(b *testing.B) {
	vs := aPage(b)
	var body strings.Builder
	body.WriteString("<DeleteResult>")
	for _, v := range vs {
		fmt.Fprintf(&body, "<Deleted><Key>%s</Key><VersionId>%s</VersionId></Deleted>", v.Key, v.ID)
	}
	body.WriteString("</DeleteResult>")
	client := versionsOver(body.String())
	b.ReportAllocs()
	for b.Loop() {
		if fates, err := client.Delete(b.Context(), "objects", vs, time.Now().Add(time.Hour)); err != nil || fates[999].Kind != retention.FateDeleted {
			b.Fatal(fates, err)
		}
	}
	perVersion(b)
}

func BenchmarkReportObjectsOf1000(b *testing.B) {
	vs, at, encoder := aPage(b), time.Now(), &report.Encoder{}
	header := report.Header{
		Name:  report.Name{CommandType: "cleanup.run", RunKey: "r-1", Slice: 1, LeaseToken: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Scan: 1, Batch: 1, Try: 1},
		Scope: "warehouse:wh-17", Mode: "delete", Bucket: "objects", Prefixes: []string{"pod/wh-17/"}, Cutoff: at, HoldsReadAt: at,
	}
	var selections iter.Seq[report.Selection] = func(yield func(report.Selection) bool) {
		for _, v := range vs {
			if !yield(report.Selection{Key: v.Key, VersionID: v.ID, LastModified: v.LastModified, Size: v.Size, Decision: report.DecisionDelete, At: at}) {
				return
			}
		}
	}
	var outcomes iter.Seq[report.Outcome] = func(yield func(report.Outcome) bool) {
		for _, v := range vs {
			if !yield(report.Outcome{Key: v.Key, VersionID: v.ID, Fate: report.FateDeleted, At: at}) {
				return
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		_, selection, err := encoder.Selection(header, selections)
		if err != nil {
			b.Fatal(err)
		}
		_, outcome, err := encoder.Outcome(header, outcomes)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(selection)+len(outcome)), "bytes/batch")
	}
	perVersion(b)
}

// With the holds of a scope at hand.
func BenchmarkDecideOf1000(b *testing.B) {
	for _, held := range []int{0, 10, 1000} {
		b.Run(fmt.Sprintf("%d holds", held), func(b *testing.B) {
			vs, now := aPage(b), time.Now()
			var all []retention.Hold
			for i := range held {
				all = append(all, retention.Hold{Scope: "warehouse:wh-17", ID: fmt.Sprint(i), Prefix: fmt.Sprintf("pod/wh-17/kept/%d/", i), Reason: retention.ReasonLegalHold})
			}
			facts := retention.Facts{Cutoff: now.Add(-24 * time.Hour), Now: now, VersioningEnabled: true, Holds: retention.NewCover(all, now)}
			for b.Loop() {
				for _, v := range vs {
					if d := retention.Decide(v, facts); !d.Delete {
						b.Fatal(d)
					}
				}
			}
			perVersion(b)
		})
	}
}

// A move as the store renders it, sends it and reads the run behind it.
func BenchmarkMove(b *testing.B) {
	now := time.Now()
	change := inbox.Change{
		Now: now, Token: "token", LeaseExpiresAt: now, Record: "record", Wake: "wake", Ceiling: 12, Mode: inbox.ModeDelete,
		Place:    inbox.Place{Scan: 2, Key: "pod/wh-17/k", Deleted: true, Retained: map[string]int64{"legal_hold": 3}, Refused: []inbox.RefusedVersion{}},
		Counters: inbox.Counters{Selected: 9, Deleted: 7, Absent: 1, Listed: 20}, TTL: now.Unix(),
	}
	store := storeOver(`{"Attributes":{"pk":{"S":"run#cleanup.run#r-1"},"state":{"S":"running"},"attempts":{"N":"1"},"scope":{"S":"warehouse:wh-17"}}}`)
	for _, move := range []inbox.Move{inbox.Acquire(), inbox.Checkpoint(), inbox.Complete()} {
		b.Run(move.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := store.Move(b.Context(), inbox.RunKey{Type: "cleanup.run", Key: "r-1"}, move, change); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A claim as the store encodes and sends it.
func BenchmarkClaim(b *testing.B) {
	now := time.Now()
	run := inbox.NewRun(inbox.RunKey{Type: "cleanup.run", Key: "r-1"}, "warehouse:wh-17",
		inbox.Selection{Bucket: "objects", Prefixes: []string{"pod/wh-17/", "labels/wh-17/"}, Cutoff: now}, strings.Repeat("a", 64), "d-1", now).Start("wake")
	claim := inbox.Claim{Run: run, Delivery: inbox.Delivery{
		ID: "d-1", CommandType: "cleanup.run", BodySHA256: strings.Repeat("a", 64), Outcome: inbox.OutcomeAccepted, ReceivedAt: now, TTL: now.Unix(), RunKey: "r-1",
	}}
	store := storeOver("{}")
	b.ReportAllocs()
	for b.Loop() {
		if there, err := store.Claim(b.Context(), claim); err != nil || there != nil {
			b.Fatal(there, err)
		}
	}
}

// A page of the index as the sweeper reads it, without the moves.
func BenchmarkRowsOf1000(b *testing.B) {
	var body bytes.Buffer
	body.WriteString(`{"Items":[`)
	for i := range 1000 {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"pk":{"S":"run#cleanup.run#r-2026-11-30-%06d"},"open":{"S":"open"},"open_since":{"N":"1790000000000"},"state":{"S":"pending"},`+
			`"attempts":{"N":"1"},"wake_count":{"N":"0"},"wake":{"S":"ABCDEFGHIJKLMNOPQRSTUVWXYZ"},"wake_at":{"N":"1790000000000"},"scope":{"S":"warehouse:wh-17"},"received_at":{"N":"1790000000000"}}`, i)
	}
	body.WriteString(`]}`)
	store := storeOver(body.String())
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range store.Rows(b.Context(), "open") {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 1000 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/row")
}

// rows are open runs of which nothing needs a move.
type rows struct{ n int }

func (r rows) Rows(_ context.Context, partition string) iter.Seq2[inbox.Run, error] {
	return func(yield func(inbox.Run, error) bool) {
		now := time.Now()
		for i := range r.n {
			row := inbox.Run{Type: "cleanup.run", Key: fmt.Sprint(i), State: inbox.StateRunning, OpenSince: now, LeaseExpiresAt: now.Add(time.Hour)}
			if partition != inbox.StatePending.OpenIndex() || !yield(row, nil) {
				return
			}
		}
	}
}

func (rows) Move(context.Context, inbox.RunKey, inbox.Move, inbox.Change) (inbox.Run, error) {
	return inbox.Run{}, nil
}

func BenchmarkTickOver10000Rows(b *testing.B) {
	s := sweeper.New(rows{10_000}, sweeper.Settings{WakeAfter: 2 * time.Minute, Limit: 500, AttemptCeiling: 12})
	b.ReportAllocs()
	for b.Loop() {
		if sum := s.Tick(b.Context()); sum.Open != 10_000 {
			b.Fatal(sum)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/row")
}
