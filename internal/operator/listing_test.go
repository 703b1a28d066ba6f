package operator_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/operator"
)

func keysOf(l operator.Listing) []string {
	var keys []string
	for _, row := range l.Rows {
		keys = append(keys, row.Key)
	}
	return keys
}

// every puts a run of each state into the table, the earlier states younger, and a row that is no run.
func (w *world) every(t *testing.T) {
	t.Helper()
	for i, state := range inbox.States() {
		run := runIn(state)
		run.Key, run.DeliveryID = string(state), "d-"+string(state)
		if run.Open != "" {
			run.OpenSince = now.Add(-time.Duration(i) * time.Hour) // so the partitions are mixed by age
		}
		if state == inbox.StateFailed {
			run.LastError = &inbox.LastError{Category: inbox.CategoryAccessDenied, Message: "no", At: now}
		}
		w.has(t, run)
	}
	w.puts(t, map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "odd"}, "open": &types.AttributeValueMemberS{Value: "failed"},
		"open_since": &types.AttributeValueMemberN{Value: "1"},
	})
}

func (w *world) puts(t *testing.T, item map[string]types.AttributeValue) {
	t.Helper()
	if _, err := w.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(inboxTable), Item: item}); err != nil {
		t.Fatal(err)
	}
}

func TestRunsAreThoseThatHaveNotEndedByAge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.every(t)
	l, err := w.Runs(t.Context(), operator.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"failed", "running", "pending", "recorded"}, keysOf(l)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	counts := []int{l.Count("open"), l.Count("failed"), l.Count("recorded")}
	if diff := cmp.Diff([]int{2, 1, 1}, counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if len(l.Bad) != 1 || l.Bad[0].ItemKey != "odd" {
		t.Errorf("bad rows %v, want the odd one", l.Bad)
	}
	for _, row := range l.Rows {
		if row.Whole != (row.State != inbox.StateRecorded) {
			t.Errorf("of %s the item was read: %v", row.Key, row.Whole)
		}
	}
	if e := l.Rows[0].LastError; e == nil || e.Category != inbox.CategoryAccessDenied {
		t.Errorf("the failed run's error is %+v", e)
	}
}

func TestAQueryNarrows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.every(t)
	other := runIn(inbox.StateFailed)
	other.Key, other.DeliveryID, other.Scope, other.OpenSince = "other", "d-other", "warehouse:wh-18", now.Add(-time.Minute)
	w.has(t, other)
	for sentence, test := range map[string]struct {
		query operator.Query
		want  []string
	}{
		"one state":             {operator.Query{States: []inbox.State{inbox.StatePending}}, []string{"pending"}},
		"two states":            {operator.Query{States: []inbox.State{inbox.StateRecorded, inbox.StateRunning}}, []string{"running", "recorded"}},
		"a scope":               {operator.Query{Scope: "warehouse:wh-18"}, []string{"other"}},
		"an age, to the second": {operator.Query{OlderThan: 2 * time.Hour}, []string{"failed", "running"}},
		"a category":            {operator.Query{Categories: []inbox.Category{inbox.CategoryAccessDenied, inbox.CategoryInternal}}, []string{"failed"}},
		"everything at once":    {operator.Query{States: []inbox.State{inbox.StateFailed}, Scope: "warehouse:wh-18", OlderThan: time.Hour}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			l, err := w.Runs(t.Context(), test.query)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, keysOf(l)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAQueryThatCannotBeMeantNamesWhatIsAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for want, query := range map[string]operator.Query{
		`state is "done", it must be one of recorded, pending, running, failed: a run that has ended leaves the index, so no list and no filter has it. ` +
			"Name it, by its key or by a delivery id, as in `custody show r-1`; ": {States: []inbox.State{inbox.StateDone}},
		`state is "dnoe", it must be one of recorded, pending, running, failed`:    {States: []inbox.State{"dnoe"}},
		`scope is "wh-17", it must be * for all, or`:                               {Scope: "wh-17"},
		`scope is *, which no run has`:                                             {Scope: "*"},
		`older than is -1s, it must not be negative`:                               {OlderThan: -time.Second},
		`category is "tired", it must be one of throttled, unavailable, listing_b`: {Categories: []inbox.Category{"tired"}},
	} {
		_, err := w.Runs(t.Context(), query)
		if _, is := errors.AsType[*operator.InvalidError](err); !is || !strings.HasPrefix(text(err), want) || strings.Contains(want, "dnoe") && text(err) != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// late is an index that has not heard of the last write yet, and items of which some cannot be read.
type late struct {
	operator.Inbox
	items map[string]inbox.Run
	bad   string
}

func (l late) Run(ctx context.Context, key inbox.RunKey) (*inbox.Run, error) {
	if key.Key == l.bad {
		return nil, errors.New("no such luck")
	}
	if run, ok := l.items[key.Key]; ok {
		return &run, nil
	}
	return l.Inbox.Run(ctx, key)
}

func TestTheItemIsListedWhereTheIndexIsLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.every(t)
	retried, done := runIn(inbox.StatePending), runIn(inbox.StateDone)
	retried.Key, retried.OpenSince = "failed", now.Add(time.Second)
	done.Key = "running"
	w.Inbox = late{w.Inbox, map[string]inbox.Run{"failed": retried, "running": done}, "pending"}
	l, err := w.Runs(t.Context(), operator.Query{})
	if err != nil {
		t.Fatal(err)
	}
	// What has ended is not there any more, what was retried stands as it is, and what cannot be read stands as the index has it.
	if diff := cmp.Diff([]string{"pending", "recorded", "failed"}, keysOf(l)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if l.Rows[0].Whole || len(l.Unread) != 1 || l.Unread[0].Error() != "no such luck" {
		t.Errorf("unread %v", l.Unread)
	}
	failed, err := w.Runs(t.Context(), operator.Query{States: []inbox.State{inbox.StateFailed}})
	if err != nil || len(failed.Rows) != 0 {
		t.Errorf("a run that was retried is listed as failed: %v, error %v", keysOf(failed), err)
	}
	unknown, err := w.Runs(t.Context(), operator.Query{States: []inbox.State{inbox.StatePending}, Categories: inbox.Categories()})
	if err != nil || len(unknown.Rows) != 0 || len(unknown.Unread) != 1 {
		t.Errorf("of an item that cannot be read the category is taken for known: %v, error %v", keysOf(unknown), err)
	}
}

// many is an index of many rows whose items are all alike.
type many struct {
	operator.Inbox
	rows int
}

func (m many) Rows(_ context.Context, partition string) iter.Seq2[inbox.Run, error] {
	return func(yield func(inbox.Run, error) bool) {
		for i := range m.rows {
			if run := numbered(i); run.Open == partition && !yield(run, nil) {
				return
			}
		}
	}
}

func (m many) Run(_ context.Context, key inbox.RunKey) (*inbox.Run, error) {
	run := runIn(inbox.StateFailed)
	run.Key = key.Key
	run.LastError = &inbox.LastError{Category: inbox.CategoryInternal}
	return &run, nil
}

func numbered(i int) inbox.Run {
	run := runIn(inbox.StateFailed)
	run.Key = fmt.Sprint(i)
	return run
}

func TestAListingReadsItemsUpToABoundUnlessACategoryIsAskedFor(t *testing.T) {
	t.Parallel()
	o := operator.Operator{Inbox: many{rows: operator.MostItems + 3}, Now: func() time.Time { return now }}
	l, err := o.Runs(t.Context(), operator.Query{})
	if err != nil || len(l.Rows) != operator.MostItems+3 || l.Skipped != 3 {
		t.Fatalf("%d rows, %d skipped, error %v", len(l.Rows), l.Skipped, err)
	}
	if l.Rows[0].Whole == false || l.Rows[len(l.Rows)-1].Whole {
		t.Errorf("not the oldest ones were read")
	}
	l, err = o.Runs(t.Context(), operator.Query{Categories: []inbox.Category{inbox.CategoryInternal}})
	if err != nil || len(l.Rows) != operator.MostItems+3 || l.Skipped != 0 {
		t.Errorf("by category: %d rows, %d skipped, error %v", len(l.Rows), l.Skipped, err)
	}
}

func TestRunsNeverTakesAStoreThatDoesNotAnswerForAQuietOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Runs(ctx, operator.Query{}); !errors.Is(err, inbox.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}
