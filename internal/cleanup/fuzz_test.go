package cleanup_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/cleanup"
	"custody/internal/inbox"
)

// refusesAll is an inbox that refuses every move and remembers what was asked.
type refusesAll struct{ asked []askedMove }

type askedMove struct {
	key    inbox.RunKey
	move   string
	change inbox.Change
}

func (r *refusesAll) Move(_ context.Context, key inbox.RunKey, m inbox.Move, c inbox.Change) (inbox.Run, error) {
	r.asked = append(r.asked, askedMove{key, m.Name, c})
	return inbox.Run{}, &inbox.Refused{Move: m.Name}
}

// image reads a text attribute of a record; "" for whatever is none.
func image(m map[string]events.DynamoDBAttributeValue, name string) string {
	if v, there := m[name]; there && v.DataType() == events.DataTypeString {
		return v.String()
	}
	return ""
}

// FuzzEvent feeds whole stream events, as Lambda's runtime decodes them. Whatever comes, there is no panic and one outcome for
// each record; a record starts an acquire of the run that it names, for its own wake, or it is dropped; and nothing is read of
// holds or objects, which this worker has not, before the run is its own.
func FuzzEvent(f *testing.F) {
	const scope, enabled = "warehouse:wh-17", "listing:4821"
	for _, s := range []string{scope, enabled} {
		for _, pk := range []string{"run#cleanup.run#r-1", "run#listing.expire#listing-4821:expiry-3", "delivery#d-1"} {
			f.Add([]byte(`{"Records":[{"eventID":"e-1","eventName":"INSERT","eventSource":"aws:dynamodb","dynamodb":{"SequenceNumber":"1","Keys":{"pk":{"S":"` +
				pk + `"}},"NewImage":{"pk":{"S":"` + pk + `"},"scope":{"S":"` + s + `"},"wake":{"S":"w-1"}}}}]}`))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var event events.DynamoDBEvent
		if json.Unmarshal(text, &event) != nil {
			return
		}
		table, tokens := &refusesAll{}, 0
		worker := cleanup.New(table, nil, nil, cleanup.Settings{DeleteScopes: []string{enabled}, LeaseDuration: time.Minute, AttemptCeiling: 12},
			time.Now, func() string { tokens++; return "T" })
		out, done := worker.Handle(t.Context(), event)
		if len(done) != len(event.Records) || len(out.BatchItemFailures) > 0 {
			t.Fatalf("%d records, %d outcomes, %v come again", len(event.Records), len(done), out.BatchItemFailures)
		}
		for i, record := range event.Records {
			pk, wake := image(record.Change.Keys, "pk"), image(record.Change.NewImage, "wake")
			key, isRun := inbox.ParseItemKey(pk)
			ran := record.EventID != "" && isRun && strings.Count(pk, "#") == 2 && wake != "" && image(record.Change.NewImage, "scope") != ""
			want := inbox.SliceDropped
			if ran {
				want = inbox.SliceNotAcquired
			}
			if done[i].Outcome != want || ran && done[i].Run != key {
				t.Fatalf("record %d of %q with wake %q: %+v, want %s", i, pk, wake, done[i], want)
			}
			if !ran {
				continue
			}
			first := table.asked[0]
			table.asked = table.asked[1:]
			mode := inbox.ModeDryRun
			if image(record.Change.NewImage, "scope") == enabled {
				mode = inbox.ModeDelete
			}
			if first.key != key || key.ItemKey() != pk || first.move != inbox.MoveAcquire || first.change.Wake != wake ||
				first.change.Record != record.EventID || first.change.Mode != mode {
				t.Fatalf("record %d of %q with wake %q: asked for %+v", i, pk, wake, first)
			}
		}
		if len(table.asked) > 0 {
			t.Fatalf("beyond the records: %+v", table.asked)
		}
	})
}
