package cleanup_test

import (
	"testing"

	"pgregory.net/rapid"

	"custody/internal/inbox"
)

// rounds times the checks of rapid (a hundred, unless -rapid.checks says another number) are played.
const rounds = 30

func TestRandomHistoriesOfABucketKeepWhatMustBeKeptAndLoseWhatMustGo(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for range rounds {
		rapid.Check(t, func(rt *rapid.T) {
			p := plans().Draw(rt, "plan")
			says := p.tell(t, []string{"*"}, func(p *play, run inbox.Run) {
				if run.State != inbox.StateDone {
					p.judge.wrong("the run is %s: %+v", run.State, run.LastError)
					return
				}
				p.judge.done(run.Place.Retained)
				seen["histories"]++
				seen["requests"] += p.served
				seen["slices"] += run.Slices
				seen["deleted"] += p.judge.removed
				for reason, n := range run.Place.Retained {
					seen["retained: "+reason] += int(n)
				}
			})
			if len(says) > 0 {
				rt.Fatal(verdictOf(p, says))
			}
		})
	}
	t.Logf("%v", seen)
}
