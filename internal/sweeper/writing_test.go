package sweeper_test

import (
	"context"
	"testing"
	"time"

	"custody/internal/inbox"
	"custody/internal/sweeper"
)

// The reading may take half a minute: a wake that is written then bears the time of its own writing.
func TestAWakeBearsTheTimeOfItsWriting(t *testing.T) {
	t.Parallel()
	clock := noon
	x := &index{rows: open(stuck("r-1", time.Hour)), block: func(_ context.Context, where string) error {
		if where == "open row" {
			clock = clock.Add(30 * time.Second)
		}
		return nil
	}}
	s := sweeper.New(x, sweeper.Settings{WakeAfter: 2 * time.Minute, Limit: 5, AttemptCeiling: 12})
	s.Now, s.NewWake = func() time.Time { return clock }, func() string { return "wake" }
	s.Tick(t.Context())
	if len(x.moves) != 1 || x.moves[0].Move != inbox.MoveWake || !x.moves[0].Change.Now.Equal(noon.Add(30*time.Second)) {
		t.Errorf("moves %+v, want one wake at half a minute past noon", x.moves)
	}
}
