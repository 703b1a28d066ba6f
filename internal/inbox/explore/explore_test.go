package explore_test

import (
	"strings"
	"testing"

	"custody/internal/inbox"
)

// whole are the bounds of the search: one retry of a record stands for five, a ceiling of two attempts for twelve, one of two
// scans for ten. A second of each is needed to see what the first leaves behind; a third is as the second.
func whole() bounds {
	return bounds{faults: faultsOfOneHistory, retries: 1, delayed: 1, attemptCeiling: 2, scanCeiling: 2}
}

func (b bounds) withFaults(n int) bounds { b.faults = n; return b }
func (b bounds) inStages() bounds        { b.staged = true; return b }

// noLimit is more states than there are, a guard against a model that is no longer finite.
const noLimit = 3_000_000

func TestNoInterleavingBreaksAnInvariant(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]bounds{
		"a run that deletes":                         whole(),
		"a dry run, and a run that is recorded only": whole().inStages(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := explore(newExplorer(t.Context(), b, nil), noLimit)
			t.Logf("at most %d faults: %s", b.faults, f)
			switch {
			case f.violation != "":
				t.Error(f.story())
			case !f.complete:
				t.Errorf("the model is not finite: %s", f)
			}
		})
	}
}

// The bugs of which an earlier design had each. The search must find them, or it proves nothing.
func TestTheSearchFindsPlantedBugs(t *testing.T) {
	t.Parallel()
	for name, planted := range map[string]struct {
		bug  edit
		want string // how the violation begins
	}{
		"acquire does not compare the wake": {want: "records multiply", bug: func(m inbox.Move, c inbox.Change) (inbox.Move, inbox.Change) {
			if m.Name == inbox.MoveAcquire {
				m.If = without(m.If, inbox.AttrWake)
			}
			return m, c
		}},
		"the place has no scan number and forgets what the scan saw": {want: "I5", bug: func(m inbox.Move, c inbox.Change) (inbox.Move, inbox.Change) {
			if m.By == inbox.ActorCleanup && c.Place.Scan > 0 {
				c.Place = inbox.Place{Scan: 1, Prefix: c.Place.Prefix, Key: c.Place.Key}
			}
			return m, c
		}},
		"retry keeps the place": {want: "a run fails for refused versions", bug: func(m inbox.Move, c inbox.Change) (inbox.Move, inbox.Change) {
			if m.Name == inbox.MoveRetry {
				m.Then = withoutEffect(m.Then, inbox.AttrPlace)
			}
			return m, c
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newExplorer(t.Context(), whole(), planted.bug)
			x.blind = true // by what becomes of the run, not by what the item looks like
			f := explore(x, noLimit)
			if !strings.HasPrefix(f.violation, planted.want) {
				t.Fatalf("found %q in %s, want %q", f.violation, f, planted.want)
			}
			t.Logf("found after %d states: %s", f.states, f.story())
		})
	}
}

// Known survivors are mutants that no history of the model can tell from the real table. Each has its own test beside.
var survivors = map[string]string{
	"acquire without lease_expires_at absent": "a checkpoint takes back a wake, so there is none under a live lease; dynamostore: acquire, under a live lease",
	"acquire without lease_expires_at <=":     "the same",
	"retry leaves ttl":                        "a failed run has none; dynamostore: what retry writes",
	"release leaves next_attempt_at":          "recorded and done runs have none; dynamostore: what release writes",
	"release leaves cause":                    "the same",
}

func TestTheSearchMissesNoGuardAndNoEffect(t *testing.T) {
	t.Parallel()
	caught, missed := 0, map[string]bool{}
	for _, m := range mutants() {
		if mutantIsCaught(t, m) {
			caught++
		} else {
			missed[m.name] = true
		}
	}
	t.Logf("%d mutants of the table, %d caught within %d states each", caught+len(missed), caught, statesOfAMutant)
	if leastMutantsCaught > 0 {
		if caught < leastMutantsCaught {
			t.Errorf("only %d mutants caught, want %d", caught, leastMutantsCaught)
		}
		return
	}
	for name := range missed {
		if survivors[name] == "" {
			t.Errorf("nothing notices when %s", name)
		}
	}
	for name := range survivors {
		if !missed[name] {
			t.Errorf("%s is caught now: it is no survivor", name)
		}
	}
}

// mutantIsCaught uses one fault, which is enough for every mutant that more are enough for.
func mutantIsCaught(t *testing.T, m mutant) bool {
	t.Helper()
	for _, b := range []bounds{whole().withFaults(1), whole().withFaults(0).inStages()} {
		if f := explore(newExplorer(t.Context(), b, m.edit), statesOfAMutant); f.violation != "" {
			t.Logf("%s: %s", m.name, f.violation)
			return true
		}
	}
	return false
}
