package retention_test

import (
	"fmt"
	"testing"

	"custody/internal/retention"
)

// A batch of a thousand versions under ten thousand holds, of keys and of prefixes.
func BenchmarkDecideUnderManyHolds(b *testing.B) {
	for _, n := range []int{0, 100, 10_000} {
		b.Run(fmt.Sprintf("%d holds", n), func(b *testing.B) {
			var holds []retention.Hold
			for i := range n {
				h := retention.Hold{Reason: retention.ReasonLegalHold, Key: fmt.Sprintf("pod/wh-17/held/%06d", i)}
				if i%2 == 0 {
					h.Key, h.Prefix = "", h.Key+"/"
				}
				holds = append(holds, h)
			}
			v := expired(func(v *retention.Version) { v.Key = "pod/wh-17/held/other/000001" })
			for b.Loop() {
				f := retention.Facts{Cutoff: cutoff, Now: cutoff, VersioningEnabled: true, Holds: retention.NewCover(holds, cutoff)}
				for range 1000 {
					if d := retention.Decide(v, f); !d.Delete {
						b.Fatal(d)
					}
				}
			}
		})
	}
}
