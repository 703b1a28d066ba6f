package operator_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/operator"
)

func named(typ, key, delivery string) inbox.Run {
	run := runIn(inbox.StatePending)
	run.Type, run.Key, run.DeliveryID = typ, key, delivery
	return run
}

func TestFind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.has(t, named("cleanup.run", "r-1", "d-1"), named("cleanup.run", "both", "d-2"), named("listing.expire", "both", "d-3"),
		named("cleanup.run", "crossed", "d-4"), named("cleanup.run", "r-5", "crossed"), named("cleanup.run", "same", "same"),
		named("newer.type", "r-6", "d-6"))
	alias := inbox.Delivery{ID: "d-1-again", CommandType: "cleanup.run", RunKey: "r-1", Outcome: inbox.OutcomeAlreadyProcessed, ReceivedAt: now}
	orphan := inbox.Delivery{ID: "d-old", CommandType: "cleanup.run", RunKey: "r-old", Outcome: inbox.OutcomeAccepted, ReceivedAt: now}
	for _, d := range []inbox.Delivery{alias, orphan} {
		if there, err := w.store.Alias(t.Context(), d); there != nil || err != nil {
			t.Fatal(there, err)
		}
	}
	for sentence, test := range map[string]struct {
		name    string
		run     string
		by      string // the delivery it was found by
		problem string
	}{
		"a run key that one type has":                {name: "r-1", run: "cleanup.run/r-1"},
		"a command type and a run key":               {name: "listing.expire/both", run: "listing.expire/both"},
		"a type that this version does not know":     {name: "newer.type/r-6", run: "newer.type/r-6"},
		"a delivery id":                              {name: "d-6", run: "newer.type/r-6", by: "d-6"},
		"a second delivery of a run":                 {name: "d-1-again", run: "cleanup.run/r-1", by: "d-1-again"},
		"a name of a run and of its own delivery":    {name: "same", run: "cleanup.run/same"},
		"a run key that two types have":              {name: "both", problem: "both stands for several runs; name one of cleanup.run/both, listing.expire/both"},
		"a run key and a delivery of another run":    {name: "crossed", problem: "crossed stands for several runs; name one of cleanup.run/crossed, cleanup.run/r-5"},
		"a name that nothing has":                    {name: "r-9", problem: `no run or delivery "r-9": looked up item run#cleanup.run#r-9, item run#listing.expire#r-9, item delivery#r-9`},
		"a full name that nothing has":               {name: "cleanup.run/r-9", problem: "no run cleanup.run/r-9: looked up item run#cleanup.run#r-9"},
		"a delivery whose run is gone":               {name: "d-old", problem: `no run or delivery "d-old": looked up item run#cleanup.run#d-old, item run#listing.expire#d-old, item delivery#d-old, item run#cleanup.run#r-old, which that delivery names`},
		"nothing":                                    {name: "", problem: "RUN is empty, it must be a run key such as r-1"},
		"a name with a separator of item keys":       {name: "cleanup.run#r-1", problem: `RUN is "cleanup.run#r-1", it must be`},
		"a name with two slashes":                    {name: "cleanup.run/r/1", problem: `RUN is "cleanup.run/r/1", it must be`},
		"a name without a type in front of a slash":  {name: "/r-1", problem: `RUN is "/r-1"`},
		"a name without a key behind a slash":        {name: "cleanup.run/", problem: `RUN is "cleanup.run/"`},
		"a name that is too long for any item's key": {name: strings.Repeat("r", 1025), problem: "RUN is"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			found, err := w.Find(t.Context(), test.name)
			if (test.problem == "") != (err == nil) || !strings.HasPrefix(text(err), test.problem) {
				t.Fatalf("error %v, want %q", err, test.problem)
			}
			if err != nil {
				return
			}
			by := ""
			if found.Delivery != nil {
				by = found.Delivery.ID
			}
			if diff := cmp.Diff([]string{test.run, test.by}, []string{found.Run.RunKey().String(), by}); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindTellsWhatIsMissingFromWhatIsUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Find(t.Context(), "r-9")
	if _, missing := errors.AsType[*operator.NotFoundError](err); !missing {
		t.Errorf("error %v, want one that says that it is not there", err)
	}
	for _, name := range []string{"r-9", "cleanup.run/r-9"} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = w.Find(ctx, name)
		if _, missing := errors.AsType[*operator.NotFoundError](err); missing || !errors.Is(err, inbox.ErrUnavailable) {
			t.Errorf("%s: error %v, want a store that did not answer", name, err)
		}
	}
}
