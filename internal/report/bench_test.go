package report_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"custody/internal/report"
)

// aThousand is a batch as real ones look: keys that share much, version ids that share nothing.
func aThousand() iter.Seq[report.Selection] {
	random := rand.New(rand.NewPCG(1, 2))
	return func(yield func(report.Selection) bool) {
		for i := range 1000 {
			s := selected(fmt.Sprintf("pod/wh-17/2026/08/%02d/parcel-%09d/front.jpg", i%30, random.IntN(1e9)))
			s.VersionID = fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64())
			s.LastModified = s.LastModified.Add(-time.Duration(random.IntN(1e6)) * time.Second)
			s.Size = int64(random.IntN(1e6))
			if !yield(s) {
				return
			}
		}
	}
}

// What History's comment says about memory comes from here.
func BenchmarkHistoryBytesPerVersion(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		h := report.NewHistory("cleanup.run", "r-1", nil)
		for batch := range 50 {
			header := aHeader()
			header.Batch = batch
			var lines []report.Selection
			var outcomes []report.Outcome
			for s := range aThousand() {
				s.Key = fmt.Sprintf("%s-%d", s.Key, batch)
				lines = append(lines, s)
				outcomes = append(outcomes, report.Outcome{Key: s.Key, VersionID: s.VersionID, Fate: report.FateDeleted, At: s.At})
			}
			add(b, h, header, lines, outcomes)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(h.Len()), "bytes/version")
		runtime.KeepAlive(h)
	}
}
