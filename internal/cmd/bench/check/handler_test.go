package check_test

import (
	"testing"
	"time"

	"custody/internal/cmd/bench/inprocess"
	"custody/internal/inbox"
	"custody/internal/signature"
)

// handlerAllocations is the target for the handler without the store, with a body of 1 KiB: verify, decode, build the claim.
const handlerAllocations = 100

func TestAllocationsOfTheHandler(t *testing.T) { // not beside others: the allocations of all goroutines are counted
	if raceDetector {
		t.Skip("the race detector allocates by itself: make bench-check counts without it")
	}
	for _, scheme := range signature.SchemeNames() {
		t.Run(scheme, func(t *testing.T) {
			door, err := inprocess.NewDoor(scheme, inprocess.Nowhere{})
			must(t, err)
			request := door.Request("d-1", inprocess.Body("r-1"), time.Now())
			got := testing.AllocsPerRun(1000, func() {
				if _, sum := door.Handler.Handle(t.Context(), request); sum.Outcome != inbox.OutcomeAccepted {
					t.Fatalf("outcome %s: %s", sum.Outcome, sum.Problem)
				}
			})
			t.Logf("%.0f allocations", got)
			if got > handlerAllocations {
				t.Errorf("the handler allocates %.0f times for a delivery, %.0f more than the target of %d; look at the allocations of "+
					"go test -bench 'Handler|Verify|Decode' ./internal/cmd/bench/inprocess", got, got-handlerAllocations, handlerAllocations)
			}
		})
	}
}
