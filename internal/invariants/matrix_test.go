package invariants_test

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"custody/internal/invariants"
)

// strength says which attempts of a call a fault falls on: the SDK repeats what failed.
type strength bool

const (
	once      strength = false
	everytime strength = true
)

// blow is one kind of fault in one strength.
type blow struct {
	kind     invariants.FaultKind
	strength strength
}

// blows are what each call gets in turn.
func blows(c invariants.Call) []blow {
	all := []blow{
		{invariants.FaultNoConnection, once}, {invariants.FaultNoConnection, everytime},
		{invariants.FaultServerError, once}, {invariants.FaultServerError, everytime},
		{invariants.FaultLostAnswer, once}, {invariants.FaultLostAnswer, everytime},
		{invariants.FaultDeath, once},
	}
	switch c.Operation {
	case "Query", "GetItem", "ListObjectVersions", "GetBucketVersioning", "GetObjectLockConfiguration":
		// A read changes nothing, so whether it was served makes no difference to one that has no answer.
		return []blow{
			{invariants.FaultNoConnection, everytime}, {invariants.FaultServerError, everytime}, {invariants.FaultLostAnswer, once},
			{invariants.FaultDeath, once},
		}
	case "GetObjectTagging", "GetObjectLegalHold", "GetObjectRetention": // one for each version
		return []blow{{invariants.FaultNoConnection, everytime}, {invariants.FaultLostAnswer, once}, {invariants.FaultDeath, once}}
	case "PutObject":
		// What the SDK repeats behind a lost answer meets the condition: there is an object of the name already.
		return []blow{
			{invariants.FaultNoConnection, everytime}, {invariants.FaultLostAnswer, once}, {invariants.FaultLostAnswer, everytime},
			{invariants.FaultDeath, once},
		}
	case "TransactWriteItems", "UpdateItem":
		all = append(all, blow{invariants.FaultConflict, once}, blow{invariants.FaultConflict, everytime},
			blow{invariants.FaultThrottled, everytime})
	case "DeleteObjects":
		// The SDK sends a delete once, so the second strength is the first one; dying on the way is another.
		all = []blow{
			{invariants.FaultNoConnection, once}, {invariants.FaultServerError, once}, {invariants.FaultThrottled, once},
			{invariants.FaultLostAnswer, once}, {invariants.FaultDeath, once}, {invariants.FaultDeathBefore, once},
		}
	}
	return all
}

func (b blow) fault(at invariants.Call, fell *bool) func(invariants.Call) invariants.Fault {
	return func(c invariants.Call) invariants.Fault {
		if c.First() == at && (c.Attempt == 1 || b.strength == everytime) {
			*fell = true
			return invariants.Fault{Kind: b.kind}
		}
		return invariants.Fault{}
	}
}

func (b blow) String() string {
	if b.strength == everytime {
		return b.kind.String() + ", every time"
	}
	return b.kind.String()
}

// TestCrashMatrix tells every story once for each of its calls and for each fault of that call.
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	var all, allCalls atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d stories, %d calls, %d crash points tried", len(stories()), allCalls.Load(), all.Load())
	})
	for name, story := range stories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain := story()
			healthy := plain.tell(t, nil)
			for _, wrong := range plain.wrong(healthy) {
				t.Errorf("without a fault: %s", wrong)
			}
			points, tried := map[invariants.Call]bool{}, 0
			for _, c := range healthy.calls {
				points[c.First()] = true
			}
			for _, c := range slices.SortedFunc(maps.Keys(points), byName) {
				for _, b := range blows(c) {
					tried++
					fell := false
					s := story()
					for _, wrong := range s.wrong(s.tell(t, b.fault(c, &fell))) {
						t.Errorf("%s at %s: %s", b, c, wrong)
					}
					if !fell {
						t.Errorf("%s at %s: this telling had no such call", b, c)
					}
				}
			}
			all.Add(int64(tried))
			allCalls.Add(int64(len(points)))
			t.Logf("%d calls, %d crash points tried", len(points), tried)
		})
	}
}

func byName(a, b invariants.Call) int {
	x, y := fmt.Sprint(a.Process, a.Service, a.Operation), fmt.Sprint(b.Process, b.Service, b.Operation)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return a.N - b.N
}
