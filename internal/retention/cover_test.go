package retention_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custody/internal/retention"
)

// names are keys and prefixes out of few letters of one to four bytes, so that many begin alike, at all lengths, and prefixes end
// within a letter, too: S3 compares bytes.
func names(least int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		all := ""
		for range rapid.IntRange(least, 6).Draw(t, "letters") {
			all += rapid.SampledFrom([]string{"a", "b", "/", "é", "€", "😀"}).Draw(t, "letter")
		}
		return all[:rapid.IntRange(min(least, len(all)), len(all)).Draw(t, "bytes")]
	})
}

// What is taken in at once keeps exactly what the holds keep one by one, and for one of their reasons.
func TestACoverKeepsWhatItsHoldsKeepOneByOne(t *testing.T) {
	t.Parallel()
	held, free := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		var holds []retention.Hold
		for i := range rapid.IntRange(0, 12).Draw(rt, "holds") {
			// What a hold says is what tells it from the others.
			h := retention.Hold{Reason: retention.Reason(fmt.Sprint("reason ", i))}
			switch rapid.IntRange(0, 20).Draw(rt, "covers") {
			case 0: // everything
			case 1, 2, 3, 4, 5:
				h.Key = names(1).Draw(rt, "key")
			default:
				h.Prefix = names(1).Draw(rt, "prefix")
			}
			if rapid.Bool().Draw(rt, "ends") {
				h.ExpiresAt = cutoff.Add(time.Duration(rapid.IntRange(-1, 1).Draw(rt, "end")) * time.Second)
			}
			holds = append(holds, h)
		}
		facts := retention.Facts{Cutoff: cutoff, Now: cutoff, VersioningEnabled: true, Holds: retention.NewCover(holds, cutoff)}
		for range 20 {
			v := expired(func(v *retention.Version) { v.Key = names(1).Draw(rt, "key of a version") })
			want := map[retention.Reason]bool{}
			for _, h := range holds {
				if h.InForce(cutoff) && h.Covers(v.Key) {
					want[h.Reason] = true
				}
			}
			d := retention.Decide(v, facts)
			if d.Delete != (len(want) == 0) || !d.Delete && !want[d.Reason] {
				rt.Fatalf("%+v of %q under %+v, want one of %v", d, v.Key, holds, want)
			}
			if d.Delete {
				free++
			} else {
				held++
			}
		}
	})
	if held == 0 || free == 0 {
		t.Errorf("%d versions were held and %d went, want some of both", held, free)
	}
}

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
