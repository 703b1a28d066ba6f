package cleanup_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custody/internal/inbox"
	"custody/internal/report"
)

// rounds times the checks of rapid (a hundred, unless -rapid.checks says another number) are played.
const rounds = 16

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

// fatesIn sorts the versions that a play's report names by their fate, "" for one that was kept.
func (p *play) fatesIn() map[report.Fate][]string {
	h := report.NewHistory(key.Type, key.Key, nil)
	for object, data := range p.shelf {
		if err := h.Add(object, data); err != nil {
			p.judge.wrong("report: %v", err)
		}
	}
	out := map[report.Fate][]string{}
	for v := range h.Versions() {
		out[v.Fate] = append(out[v.Fate], v.Key+" "+v.VersionID)
	}
	for _, vs := range out {
		slices.Sort(vs)
	}
	return out
}

func TestADryRunOfARandomBucketSelectsExactlyWhatADeleteRunDeletesAndNamesTheRest(t *testing.T) {
	t.Parallel()
	selected := 0
	for range rounds / 4 {
		rapid.Check(t, func(rt *rapid.T) {
			pl := stillPlans().Draw(rt, "plan")
			pl.Holds = slices.DeleteFunc(pl.Holds, func(h holding) bool { return h.Kind == "stop" })
			var dry, wet map[report.Fate][]string
			says := pl.tell(t, nil, func(p *play, run inbox.Run) {
				if dry = p.fatesIn(); run.State != inbox.StateDone || p.judge.removed > 0 {
					p.judge.wrong("the dry run is %s, and %d versions are gone", run.State, p.judge.removed)
				}
				if n := len(dry[report.FateDryRun]); run.Counters.Selected != int64(n) {
					p.judge.wrong("%d versions are counted as selected, and the report has %d", run.Counters.Selected, n)
				}
			})
			says = append(says, pl.tell(t, []string{"*"}, func(p *play, run inbox.Run) {
				if wet = p.fatesIn(); run.State != inbox.StateDone || p.judge.removed != len(wet[report.FateDeleted]) {
					p.judge.wrong("the run is %s, and %d versions are gone", run.State, p.judge.removed)
				}
			})...)
			says = append(says, cmp.Diff(dry[report.FateDryRun], wet[report.FateDeleted]), cmp.Diff(dry[""], wet[""]))
			if said := strings.Join(says, ""); said != "" {
				rt.Fatalf("%s%s", said, pl)
			}
			selected += len(wet[report.FateDeleted])
		})
	}
	t.Logf("%d versions were selected", selected)
}
