package check_test

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"custody/internal/inbox"
)

// The targets of the requests that a thousand versions cost, over a run of many and without tag checks. Of a list request
// and a delete request each takes a thousand versions, so nothing can do with fewer than 1; the tenth beyond it is for the scan
// that finds nothing left, for what does not fill a page or a batch, and for the reading of the bucket's configuration.
const (
	listTarget     = 1.1
	deleteTarget   = 1.1
	dynamoDBTarget = 4 // two reads of the holds before each batch, and a checkpoint a second
	reportTarget   = 2.2
)

// shape is a bucket of some kind.
type shape struct {
	prefixes []string
	versions int // 0: versionsOfARun
	fill     func(put func(key string, marker bool), n int)
	// The most requests for each thousand versions.
	list, delete, dynamoDB, report float64
	why                            string // the targets are not for this shape, and its own bounds are what it costs today
}

func shapes() map[string]shape {
	perKey := func(versions int) func(put func(string, bool), n int) {
		return func(put func(string, bool), n int) {
			for i := range n { // a key's versions are not written in a row: they never are
				put(fmt.Sprintf("pod/wh-17/%08d", i%(n/versions)), false)
			}
		}
	}
	one, tiny := []string{"pod/wh-17/"}, prefixesOf(1000)
	targets := shape{prefixes: one, list: listTarget, delete: deleteTarget, dynamoDB: dynamoDBTarget, report: reportTarget}
	with := func(change func(*shape)) shape {
		s := targets
		change(&s)
		return s
	}
	return map[string]shape{
		"one version a key":  with(func(s *shape) { s.fill = perKey(1) }),
		"ten versions a key": with(func(s *shape) { s.fill = perKey(10) }),
		"a delete marker over each version": with(func(s *shape) {
			s.fill = func(put func(string, bool), n int) {
				for i := range n {
					put(fmt.Sprintf("pod/wh-17/%08d", i/2), i%2 == 1)
				}
			}
		}),
		"all versions of one key": with(func(s *shape) {
			s.fill = func(put func(string, bool), n int) {
				for range n {
					put("pod/wh-17/one", false)
				}
			}
		}),
		"a thousand small prefixes": {
			prefixes: tiny,
			fill: func(put func(string, bool), n int) {
				for i := range n {
					put(fmt.Sprintf("%s%08d", tiny[i%len(tiny)], i), false)
				}
			},
			list: 2000, delete: 10, dynamoDB: 25, report: 20,
			why: "each prefix is a request in each scan, and a batch that does not fill waits for eight pages at most, since what waits " +
				"holds back the place; a run of the product has a prefix for each template of the stack, two by default",
		},
		"keys that XML cannot carry": {
			prefixes: one, versions: 10_000,
			fill: func(put func(string, bool), n int) {
				for i := range n {
					put(fmt.Sprintf("pod/wh-17/%%01%08d", i), false)
				}
			},
			list: listTarget, delete: 1000, dynamoDB: 5, report: 4,
			why: "DeleteObjects cannot name such a key, so each version takes a DeleteObject, 32 of them at once; what four batches of " +
				"them have not sent within the 5 s of their holds goes in a second round, with holds and a report of its own",
		},
	}
}

func prefixesOf(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("pod/wh-%d/", 1000+i)
	}
	return all
}

func TestRequestsPerThousandVersions(t *testing.T) {
	t.Parallel()
	for name, s := range shapes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { s.check(t, cmp.Or(s.versions, versionsOfARun)) })
		})
	}
}

func (s shape) check(t *testing.T, n int) {
	w := newWorld(t, settings())
	s.fill(w.put, n)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Second) // the function's own
	defer cancel()
	summary := w.run(ctx, s.prefixes...)
	if summary.Outcome != inbox.SliceCompleted || summary.Deleted != int64(n) || w.left() != 0 {
		t.Fatalf("the slice ended as %s (%s) with %d of %d versions deleted", summary.Outcome, summary.Problem, summary.Deleted, n)
	}
	onS3, onDB := w.onS3.Take(), w.onDB.Take()
	if s.why != "" {
		t.Logf("the targets are not for this: %s", s.why)
	}
	t.Logf("%d versions in %s: S3: %s; DynamoDB: %s", n, summary.Duration, table(onS3), table(onDB))
	s.within(t, n, "ListObjectVersions", onS3["ListObjectVersions"], s.list, "pageSize in internal/s3versions, and who lists (internal/cleanup/lister.go)")
	s.within(t, n, "DeleteObjects", onS3["DeleteObjects"]+onS3["DeleteObject"], s.delete, "how batches fill (internal/cleanup/queue.go), and which keys go alone")
	s.within(t, n, "PutObject of the report", onS3["PutObject"], s.report, "what internal/cleanup/audit.go writes for a batch")
	s.within(t, n, "DynamoDB", sum(onDB), s.dynamoDB, "the reads of the holds for a batch, and how checkpoints are coalesced: "+table(onDB))
	// One to acquire and one to complete, and between them one a second.
	if most := 2 + int(summary.Duration/time.Second); onDB["UpdateItem"] > most {
		t.Errorf("%d writes of the run's item in %s, %d more than one a second; look at checkpointEvery in internal/cleanup/scan.go",
			onDB["UpdateItem"], summary.Duration, onDB["UpdateItem"]-most)
	}
	for operation, count := range onS3 {
		switch operation {
		case "ListObjectVersions", "DeleteObjects", "DeleteObject", "PutObject":
		case "GetBucketVersioning", "GetObjectLockConfiguration":
			if count > 1 {
				t.Errorf("%s was asked %d times in a slice, want once: its answer is for the whole slice", operation, count)
			}
		default:
			t.Errorf("%d requests %s: a slice without tag checks has no use for them", count, operation)
		}
	}
}

// within holds a count against a target for each thousand versions.
func (s shape) within(t *testing.T, n int, what string, count int, target float64, look string) {
	t.Helper()
	per := float64(count) / (float64(n) / 1000)
	if per <= target {
		return
	}
	t.Errorf("%s: %.2f requests for 1,000 versions, %.2f more than the bound of %.1f; look at %s", what, per, per-target, target, look)
}
