package inbox_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

// The table of section 4 of the specification, once more and by hand: a move that changes there must change here too.
var legal = map[string]struct {
	from []inbox.State
	to   inbox.State
	by   inbox.Actor
}{
	inbox.MoveClaim:      {nil, inbox.StatePending, inbox.ActorWebhook},
	inbox.MoveRecord:     {nil, inbox.StateRecorded, inbox.ActorWebhook},
	inbox.MoveAcquire:    {[]inbox.State{inbox.StatePending, inbox.StateRunning}, inbox.StateRunning, inbox.ActorCleanup},
	inbox.MoveCheckpoint: {[]inbox.State{inbox.StateRunning}, inbox.StateRunning, inbox.ActorCleanup},
	inbox.MoveYield:      {[]inbox.State{inbox.StateRunning}, inbox.StatePending, inbox.ActorCleanup},
	inbox.MovePark:       {[]inbox.State{inbox.StateRunning}, inbox.StatePending, inbox.ActorCleanup},
	inbox.MoveComplete:   {[]inbox.State{inbox.StateRunning}, inbox.StateDone, inbox.ActorCleanup},
	inbox.MoveFail:       {[]inbox.State{inbox.StateRunning}, inbox.StateFailed, inbox.ActorCleanup},
	inbox.MoveGiveUp:     {[]inbox.State{inbox.StatePending, inbox.StateRunning}, inbox.StateFailed, inbox.ActorSweeper},
	inbox.MoveWake:       {[]inbox.State{inbox.StatePending, inbox.StateRunning}, "", inbox.ActorSweeper},
	inbox.MoveRetry:      {[]inbox.State{inbox.StateFailed}, inbox.StatePending, inbox.ActorOperator},
	inbox.MoveRelease:    {[]inbox.State{inbox.StateRecorded, inbox.StateDone}, inbox.StatePending, inbox.ActorOperator},
	inbox.MoveDismiss: {
		[]inbox.State{inbox.StateRecorded, inbox.StatePending, inbox.StateRunning, inbox.StateFailed},
		inbox.StateDismissed, inbox.ActorOperator},
}

func TestTheMovesAreThoseOfTheSpecification(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range inbox.Moves() {
		want, known := legal[m.Name]
		if !known || seen[m.Name] {
			t.Errorf("move %q is unknown or stands twice", m.Name)
			continue
		}
		seen[m.Name] = true
		if m.By != want.by || m.To != want.to || !slices.Equal(m.From, want.from) {
			t.Errorf("%s: %v -> %q by %s, want %v -> %q by %s", m.Name, m.From, m.To, m.By, want.from, want.to, want.by)
		}
		for _, s := range inbox.States() {
			if got := m.Leaves(s); got != slices.Contains(want.from, s) {
				t.Errorf("%s leaves %s: %v", m.Name, s, got)
			}
		}
	}
	if len(seen) != len(legal) {
		t.Errorf("%d moves, want %d", len(seen), len(legal))
	}
}

func TestEveryMoveOfALeaseHolderAsksForItsToken(t *testing.T) {
	t.Parallel()
	want := inbox.Condition{Op: inbox.OpEqual, Attr: inbox.AttrLeaseToken, With: inbox.ParamToken}
	for _, m := range []inbox.Move{inbox.Checkpoint(), inbox.Yield(), inbox.Park(), inbox.Complete(), inbox.Fail()} {
		if diff := cmp.Diff(want, m.If); diff != "" {
			t.Errorf("condition of %s (-want +got):\n%s", m.Name, diff)
		}
	}
}

func TestAMoveNamesAnAttributeOnceAndOnlySuchAsRunsHave(t *testing.T) {
	t.Parallel()
	tags := map[string]bool{}
	for f := range reflect.TypeFor[inbox.Run]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		tags[name] = true
	}
	for _, m := range inbox.Moves() {
		written := map[inbox.Attribute]bool{inbox.AttrState: true}
		for _, e := range m.Then {
			if written[e.Attr] {
				t.Errorf("%s writes %s twice, which DynamoDB refuses", m.Name, e.Attr)
			}
			written[e.Attr] = true
			if !tags[string(e.Attr)] {
				t.Errorf("%s writes %s, which no run has", m.Name, e.Attr)
			}
		}
		for a := range attributesOf(m.If) {
			if !tags[string(a)] {
				t.Errorf("%s asks for %s, which no run has", m.Name, a)
			}
		}
	}
}

func attributesOf(c inbox.Condition) map[inbox.Attribute]bool {
	out := map[inbox.Attribute]bool{}
	if c.Attr != "" {
		out[c.Attr] = true
	}
	for _, of := range c.Of {
		for a := range attributesOf(of) {
			out[a] = true
		}
	}
	return out
}

func TestWhatEndsARunTakesItOutOfTheOpenRows(t *testing.T) {
	t.Parallel()
	for _, m := range inbox.Moves() {
		if m.To == "" || len(m.From) == 0 || m.To.OpenIndex() == "open" {
			continue
		}
		want := inbox.Effect{Kind: inbox.EffectClear, Attr: inbox.AttrOpen}
		if m.To == inbox.StateFailed {
			want = inbox.Effect{Kind: inbox.EffectPut, Attr: inbox.AttrOpen, Value: inbox.ParamOpenFailed}
		}
		if !slices.Contains(m.Then, want) {
			t.Errorf("%s ends in %s and leaves the run in the index as it was", m.Name, m.To)
		}
		for _, a := range []inbox.Attribute{inbox.AttrLeaseToken, inbox.AttrLeaseExpiresAt, inbox.AttrLeaseRecord, inbox.AttrWake} {
			if !slices.Contains(m.Then, inbox.Effect{Kind: inbox.EffectClear, Attr: a}) {
				t.Errorf("%s ends in %s and leaves %s behind", m.Name, m.To, a)
			}
		}
	}
}
