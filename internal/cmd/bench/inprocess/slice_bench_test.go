package inprocess_test

import (
	"fmt"
	"testing"

	"custody/internal/cmd/bench/inprocess"
)

// What Custody itself does for a version: listing's order, the ledger, the queue, the decision, the batches.
func BenchmarkSlice(b *testing.B) {
	const versions = 100_000
	for _, perKey := range []int{1, 10, versions} {
		b.Run(fmt.Sprintf("%d versions, %d a key", versions, perKey), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := inprocess.PaperSlice(b.Context(), &inprocess.Paper{Versions: versions, PerKey: perKey}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/versions, "ns/version")
		})
	}
}
