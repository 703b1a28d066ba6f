package inprocess_test

import (
	"testing"
	"time"

	"custody/internal/cmd/bench/inprocess"
	"custody/internal/inbox"
	"custody/internal/signature"
)

func doorOf(t testing.TB, scheme string) *inprocess.Door {
	t.Helper()
	door, err := inprocess.NewDoor(scheme, inprocess.Nowhere{})
	if err != nil {
		t.Fatal(err)
	}
	return door
}

// What is measured is a delivery that is taken, of the size that the target names.
func TestTheDeliveriesAreTaken(t *testing.T) {
	t.Parallel()
	for _, scheme := range signature.SchemeNames() {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			door, body := doorOf(t, scheme), inprocess.Body("r-1")
			if len(body) != inprocess.BodyBytes {
				t.Errorf("the body has %d bytes, want %d", len(body), inprocess.BodyBytes)
			}
			answer, sum := door.Handler.Handle(t.Context(), door.Request("d-1", body, time.Now()))
			if answer.StatusCode != 204 || sum.Outcome != inbox.OutcomeAccepted {
				t.Errorf("status %d, outcome %s: %s", answer.StatusCode, sum.Outcome, sum.Problem)
			}
		})
	}
}
