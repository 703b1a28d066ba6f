package cleanup_test

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// plan is a random bucket, its holds, and what happens while a run works on it, as plain data: it is drawn first and played
// afterwards, so that rapid can shrink it.
type plan struct {
	Writes    []write
	Holds     []holding
	Suspended bool // the bucket, from before the run on
	Tags      bool // the stack checks tags
	Locking   bool // the bucket has Object Lock, and so cannot be suspended

	Page, Batches int
	Acts          []act
	Faults        []fault
	Waits         []int // what a request takes, in tenths of a second
	Order         []int // which of the requests that wait goes first
}

// write is one version or delete marker, in the order of writing.
type write struct {
	Key    string
	Age    int // seconds behind the cutoff; many versions share one
	Marker bool
	Null   bool // written while versioning was suspended
	Marks  string
}

// holding is a row of the holds table.
type holding struct {
	Key, Prefix string
	Kind        string // "", unreadable, of another scope, for all, stop
	Lasts       int    // seconds from the start of the run; 0 is for ever
}

// act is what somebody else does between two requests.
type act struct {
	Gap   int // requests since the act before
	Do    string
	Key   string
	Nth   int // which of the key's versions
	Hold  holding
	Marks string
}

// fault is what becomes of a request; "" is its answer.
type fault string

const (
	faultBefore fault = "fails before it is done"
	faultAfter  fault = "is done and its answer is lost"
	faultPart   fault = "does a part and wants the rest again"
	faultDie    fault = "is not done, for the process dies"
	faultDead   fault = "is done and the process dies"
)

// Keys that sort closely, one of them outside of the selection by a single character, one by its length.
func planKeys() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"p/wh-1/a", "p/wh-1/a b", "p/wh-1/a+\x01", "p/wh-1/é", "q/wh-1/y", "q/wh-1/z", "p/wh-10/a", "p/wh-1"})
}

// The second lies before the first in the order of keys: what is told of a place in one says nothing of the other.
func planPrefixes() []string { return []string{"q/wh-1/", "p/wh-1/"} }

// sometimes draws from the generator in one of n cases, and else the zero value.
func sometimes[T any](n int, g *rapid.Generator[T]) *rapid.Generator[T] {
	return rapid.Custom(func(t *rapid.T) T {
		if rapid.IntRange(0, n-1).Draw(t, "sometimes") != n-1 {
			var zero T
			return zero
		}
		return g.Draw(t, "this time")
	})
}

func planMarks() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"tag", "tag off", "legal hold", "retention over", "retention", "retention to end soon"})
}

func holdings() *rapid.Generator[holding] {
	return rapid.Custom(func(t *rapid.T) holding {
		h := holding{Kind: sometimes(4, rapid.SampledFrom([]string{"unreadable", "of another scope", "for all", "stop"})).Draw(t, "kind")}
		if rapid.IntRange(0, 2).Draw(t, "by prefix") == 2 {
			h.Prefix = rapid.SampledFrom([]string{"p/wh-1/a", "p/wh-1/a ", "p/wh-1/", "p/wh-10", "q/"}).Draw(t, "prefix")
		} else {
			h.Key = planKeys().Draw(t, "key")
		}
		h.Lasts = sometimes(3, rapid.IntRange(1, 20)).Draw(t, "lasts")
		return h
	})
}

func writes() *rapid.Generator[write] {
	return rapid.Custom(func(t *rapid.T) write {
		return write{
			Key: planKeys().Draw(t, "key"), Age: rapid.SampledFrom([]int{1, 1, 1, 2, 0, -1}).Draw(t, "age"),
			Marker: rapid.IntRange(0, 3).Draw(t, "marker") == 3, Null: rapid.IntRange(0, 5).Draw(t, "null") == 5,
			Marks: sometimes(4, planMarks()).Draw(t, "marks"),
		}
	})
}

func acts() *rapid.Generator[act] {
	return rapid.Custom(func(t *rapid.T) act {
		a := act{
			Gap: rapid.IntRange(0, 6).Draw(t, "gap"), Key: planKeys().Draw(t, "key"),
			Do: rapid.SampledFrom([]string{"put", "mark", "remove", "hold", "hold", "lift", "marks", "suspend", "enable"}).Draw(t, "do"),
		}
		switch a.Do {
		case "hold":
			a.Hold = holdings().Draw(t, "hold")
		case "marks":
			a.Marks, a.Nth = planMarks().Draw(t, "marks"), rapid.IntRange(0, 2).Draw(t, "nth")
		case "remove":
			a.Nth = rapid.IntRange(0, 2).Draw(t, "nth")
		}
		return a
	})
}

// stillPlans are buckets on which nobody else works, with requests that are answered.
func stillPlans() *rapid.Generator[plan] {
	return rapid.Custom(func(t *rapid.T) plan {
		p := plan{
			Writes: rapid.SliceOfN(writes(), rapid.IntRange(0, 12).Draw(t, "least"), 24).Draw(t, "writes"),
			Holds:  rapid.SliceOfN(holdings(), 0, 2).Draw(t, "holds"),
			Tags:   rapid.Bool().Draw(t, "tags"), Locking: rapid.Bool().Draw(t, "locking"),
			Page: rapid.IntRange(1, 5).Draw(t, "page"), Batches: rapid.SampledFrom([]int{1, 1, 3}).Draw(t, "batches"),
		}
		p.Suspended = !p.Locking && rapid.IntRange(0, 3).Draw(t, "suspended") == 3
		return p
	})
}

// plans add what others do, faults and time.
func plans() *rapid.Generator[plan] {
	return rapid.Custom(func(t *rapid.T) plan {
		p := stillPlans().Draw(t, "bucket")
		p.Acts = rapid.SliceOfN(acts(), 0, 8).Draw(t, "acts")
		p.Faults = sometimes(2, rapid.SliceOfN(sometimes(4,
			rapid.SampledFrom([]fault{faultBefore, faultAfter, faultPart, faultDie, faultDead})), 0, 40)).Draw(t, "faults")
		p.Waits = rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 2, 19, 60}), 0, 40).Draw(t, "waits")
		p.Order = rapid.SliceOfN(rapid.IntRange(0, 3), 0, 40).Draw(t, "order")
		return p
	})
}

// marksOf turns a word into marks; a retention is counted from the given time.
func marksOf(word string, now time.Time) marks {
	switch word {
	case "tag":
		return marks{tag: true}
	case "legal hold":
		return marks{legal: true}
	case "retention over":
		return marks{until: now.Add(-time.Second)}
	case "retention":
		return marks{until: now.Add(1000 * time.Hour)}
	case "retention to end soon":
		return marks{until: now.Add(3 * time.Second)}
	}
	return marks{} // the tag's value says that it is off, or there is none
}

// row is the hold as the judge knows it.
func (h holding) row(now time.Time) row {
	r := row{scope: scope, key: h.Key, prefix: h.Prefix}
	switch h.Kind {
	case "unreadable":
		r.unreadable = true
	case "of another scope":
		r.scope += "0"
	case "for all":
		r.scope = "*"
	case "stop":
		r.stop, r.key, r.prefix = true, "", ""
	}
	if h.Lasts > 0 {
		r.expires = now.Truncate(time.Second).Add(time.Duration(h.Lasts) * time.Second)
	}
	return r
}

func (p plan) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "suspended %v, tags %v, locking %v, page %d, batches %d\n", p.Suspended, p.Tags, p.Locking, p.Page, p.Batches)
	for _, w := range p.Writes {
		fmt.Fprintf(&out, "  write %+v\n", w)
	}
	for _, h := range p.Holds {
		fmt.Fprintf(&out, "  hold %+v\n", h)
	}
	for _, a := range p.Acts {
		fmt.Fprintf(&out, "  act %+v\n", a)
	}
	fmt.Fprintf(&out, "  faults %q waits %v order %v\n", p.Faults, p.Waits, p.Order)
	return out.String()
}
