package operator_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custody/internal/operator"
	"custody/internal/retention"
)

func stopRow(scope, reason string) retention.Row {
	return retention.Row{
		Hold: retention.Hold{Scope: scope, ID: "custody-stop", Reason: retention.ReasonStop}, Note: reason, By: "alice", CreatedAt: now,
	}
}

func TestStopIsOneRowThatTheFunctionsReadAndResumeFinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, already, err := w.Stop(t.Context(), "warehouse:wh-17", "alice", "wrong cutoff")
	if err != nil || already {
		t.Fatalf("already %v, error %v", already, err)
	}
	if diff := cmp.Diff(stopRow("warehouse:wh-17", "wrong cutoff"), first); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	second, already, err := w.Stop(t.Context(), "warehouse:wh-17", "bob", "me too")
	if diff := cmp.Diff(first, second); diff != "" || !already || err != nil {
		t.Errorf("a second stop: already %v, error %v (-first +second):\n%s", already, err, diff)
	}
	covering, err := w.Holds.(interface {
		Covering(context.Context, string) ([]retention.Hold, error)
	}).Covering(t.Context(), "warehouse:wh-17")
	if err != nil || !retention.Stopped(covering, now) {
		t.Errorf("the functions read %+v, error %v", covering, err)
	}
	resumed, err := w.Resume(t.Context(), "warehouse:wh-17")
	if diff := cmp.Diff(operator.Resumed{Row: first}, resumed); diff != "" || err != nil {
		t.Errorf("resumed, error %v (-want +got):\n%s", err, diff)
	}
	if rows, err := w.Holds.AllRows(t.Context()); len(rows) != 0 || err != nil {
		t.Errorf("left: %+v, error %v", rows, err)
	}
}

func TestResumeSaysWhatElseIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, scope := range []string{"*", "warehouse:wh-17", "warehouse:wh-18"} {
		if _, _, err := w.Stop(t.Context(), scope, "alice", "why"); err != nil {
			t.Fatal(err)
		}
	}
	w.putRow(t, map[string]string{"scope": "warehouse:wh-17", "hold_id": "incident", "reason": "stop"})
	w.putRow(t, map[string]string{"scope": "warehouse:wh-17", "hold_id": "case-4", "reason": "legal_hold", "key": "k"}) // no brake
	over := stopRow("warehouse:wh-17", "over")
	over.ID, over.ExpiresAt = "over", now
	if there, err := w.Holds.Put(t.Context(), over, now); there != nil || err != nil {
		t.Fatal(there, err)
	}
	for _, step := range []struct {
		scope string
		still []string
	}{
		{"warehouse:wh-17", []string{"* custody-stop", "warehouse:wh-17 incident"}},
		{"*", []string{"warehouse:wh-17 incident", "warehouse:wh-18 custody-stop"}},
		{"warehouse:wh-18", nil},
	} {
		resumed, err := w.Resume(t.Context(), step.scope)
		if diff := cmp.Diff(step.still, sorted(names(resumed.Still))); diff != "" || err != nil {
			t.Errorf("%s, error %v (-want +got):\n%s", step.scope, err, diff)
		}
	}
}

func TestResumeOfWhatIsNotStoppedSaysWhatIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Resume(t.Context(), "*")
	if want := "no brake to lift for *: looked up row custody-stop of scope *"; text(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, _, err := w.Stop(t.Context(), "warehouse:wh-17", "alice", "why"); err != nil {
		t.Fatal(err)
	}
	_, err = w.Resume(t.Context(), "*")
	want := "no brake to lift for *: looked up row custody-stop of scope *, but found the brake custody-stop of scope warehouse:wh-17 on, by alice"
	if _, missing := errors.AsType[*operator.NotFoundError](err); !missing || text(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestTheBrakeNeverTouchesAHoldOfItsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.putRow(t, map[string]string{"scope": "*", "hold_id": "custody-stop", "reason": "legal_hold", "prefix": "pod/"})
	want := `hold custody-stop of * exists already (prefix "pod/", legal_hold); remove it first, or choose another id`
	_, _, stopped := w.Stop(t.Context(), "*", "alice", "why")
	_, resumed := w.Resume(t.Context(), "*")
	for _, err := range []error{stopped, resumed} {
		if _, ok := errors.AsType[*operator.ExistsError](err); !ok || text(err) != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if rows, err := w.Holds.AllRows(t.Context()); len(rows) != 1 || err != nil || rows[0].Reason != retention.ReasonLegalHold {
		t.Errorf("left: %+v, error %v", rows, err)
	}
	if row := w.removes(t, "*", "custody-stop"); row.Prefix != "pod/" {
		t.Errorf("removed %+v", row)
	}
}

func TestStopIsCheckedBeforeItIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, test := range []struct{ scope, by, reason, want string }{
		{"wh-17", "alice", "why", `scope is "wh-17", it must be * for all, or warehouse: or listing: and an id, such as warehouse:wh-17`},
		{"*", "", "why", "by is empty: who stopped is kept in the brake"},
		{"*", "alice", " ", "reason is empty: whoever finds everything stopped wants to know why"},
		{"*", "alice", "a\nb", `reason is "a\nb", it must be one line of printable UTF-8`},
		{"*", "a\nb", "why", `by is "a\nb", it must be one line of printable UTF-8`},
	} {
		_, _, err := w.Stop(t.Context(), test.scope, test.by, test.reason)
		if _, ok := errors.AsType[*operator.InvalidError](err); !ok || text(err) != test.want {
			t.Errorf("error %v, want %s", err, test.want)
		}
	}
	if _, err := w.Resume(t.Context(), "wh-17"); text(err) == "" {
		t.Error("resume took a scope that no run has")
	}
	if rows, err := w.Holds.AllRows(t.Context()); len(rows) != 0 || err != nil {
		t.Errorf("written: %+v, error %v", rows, err)
	}
}

// deaf lifts the brake and then cannot read what else is on.
type deaf struct {
	operator.Holds
	err error
}

func (d deaf) AllRows(context.Context) ([]retention.Row, error) { return nil, d.err }

func TestResumeThatCannotReadTheRestSaysThatItLiftedTheBrake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, _, err := w.Stop(t.Context(), "*", "alice", "why"); err != nil {
		t.Fatal(err)
	}
	lost := errors.New("no answer")
	w.Operator.Holds = deaf{w.Holds, lost}
	resumed, err := w.Resume(t.Context(), "*")
	if !errors.Is(err, lost) || text(err) != "* goes on, but which other brakes are on is not known: no answer" || resumed.Row.Note != "why" {
		t.Errorf("resumed %+v, error %v", resumed, err)
	}
}

func sorted(all []string) []string {
	slices.Sort(all)
	return all
}
